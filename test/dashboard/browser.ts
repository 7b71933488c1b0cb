/** A real browser that looks at a page of ours, and tells everything that went wrong in it. */
import { readdirSync, statSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { browserMissing, executablePath } from '../helpers/chromium.ts';
import { EXPRESS, type Listening, listen } from '../helpers/hosts.ts';
import { atProcessEnd } from '../helpers/process-end.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { type Host, type HostOptions, serve, until } from '../router/host-kit.ts';

export { browserMissing, executablePath };

export const browserTitle = (title: string): string => titleUnless(browserMissing, title);

export const DESKTOP = { viewport: { width: 1_440, height: 900 } };
export const PHONE = { viewport: { width: 390, height: 844 } };

const ROOT = new URL('../..', import.meta.url).pathname;

let isFresh = false;

/** What is looked at is the build; tests on an old one would tell nothing. */
function requireFreshBuild(): void {
  if (isFresh) return;
  const built = statSync(join(ROOT, 'dist/page.js'), { throwIfNoEntry: false });
  const newest = Math.max(
    ...readdirSync(join(ROOT, 'src/dashboard'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );
  if (!built || built.mtimeMs < newest) throw new Error('dist/page.js is missing or old: npm run build');
  isFresh = true;
}

let starting: Promise<Browser> | null = null;

/** Starts the browser that all files of this process share; `look` does so by itself. */
export function startBrowser(): Promise<Browser> {
  starting ??= launch();
  return starting;
}

function launch(): Promise<Browser> {
  // Playwright kills the browser when the process exits; this makes a signal such an exit.
  atProcessEnd(() => {});
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
    handleSIGTERM: false,
  });
}

/** A page that is looked at. */
export interface Look {
  readonly page: Page;
  /** Goes to a view: `#/tasks`. */
  go(hash: string): Promise<void>;
  /** Resolves when the view shows what it has asked for. */
  settled(): Promise<void>;
  /** Every text of the page, for comparisons. */
  text(): Promise<string>;
  /** How many pixels the page is wider than its window: 0. */
  sideways(): Promise<unknown>;
  /** Lets this much time pass at once for the page. It needs the option `clock`. */
  later(ms: number): Promise<void>;
  /** Messages of the console, errors, dialogs, violations of the policy and requests to elsewhere. */
  readonly faults: string[];
}

export interface LookOptions extends Omit<BrowserContextOptions, 'viewport'> {
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Faults that the test means to cause. */
  readonly expected?: RegExp;
  /** What is there once the page is open. Default: the title of a view. */
  readonly title?: string;
  /** Whether the page gets a clock that `later` moves. Default false. */
  readonly clock?: boolean;
  /** Is waited for before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Windows that a test has left, by the options of their contexts: a new one costs a process and loads all anew. */
const left = new Map<string, Page[]>();

async function openWindow(options: BrowserContextOptions): Promise<Page> {
  const reusable = left.get(JSON.stringify(options))?.pop();
  if (reusable !== undefined) return reusable;
  const page = await (await (await startBrowser()).newContext(options)).newPage();
  page.setDefaultTimeout(40_000);
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`,
  );
  return page;
}

/** Leaves a window as `openWindow` gave it, for the next test. */
async function leaveWindow(page: Page, options: BrowserContextOptions): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.goto('about:blank');
  await page.mouse.move(0, 0);
  await context.clearCookies();
  await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
  page.removeAllListeners();
  const key = JSON.stringify(options);
  left.set(key, [...(left.get(key) ?? []), page]);
}

/** Opens `<base>/<hash>` in a window of its own. The test fails when anything in it goes wrong. */
export async function look(base: string, hash = '', options: LookOptions = {}): Promise<Look> {
  requireFreshBuild();
  const { expected, title = '#view-title', clock = false, prepare, viewport, ...contextOptions } = options;
  const page = await openWindow(contextOptions);
  await page.setViewportSize(viewport ?? { width: 1280, height: 800 });
  if (clock) await page.clock.install();
  await prepare?.(page);
  const faults: string[] = [];
  const { origin } = new URL(base);
  const fault = (text: string): void => {
    if (expected?.test(text) !== true) faults.push(text);
  };
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    fault(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => fault(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    fault(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const underWay = new Set<Request>();
  page.on('requestfinished', (request) => underWay.delete(request));
  page.on('requestfailed', (request) => underWay.delete(request));
  page.on('request', (request) => {
    // A stream stays open for as long as its view does.
    if (request.headers().accept !== 'text/event-stream') underWay.add(request);
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:')) fault(`request: ${url}`);
  });
  onTestFinished(async ({ task }) => {
    const isChanged = clock || prepare !== undefined || task.result?.state !== 'pass';
    await (isChanged ? page.context().close() : leaveWindow(page, contextOptions));
    expect(faults).toEqual([]);
  });
  await page.goto(`${base}/${hash}`);
  await page.locator(title).waitFor();
  return {
    page,
    faults,
    async go(next) {
      await page.evaluate(`location.hash = ${JSON.stringify(next)}`);
      await page.locator('#view-title').waitFor();
    },
    async settled() {
      for (let quiet = 0; quiet < 3; quiet += 1) {
        await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)))');
        if (underWay.size > 0 || (await page.getByText('Loading …').count()) > 0) quiet = -1;
      }
    },
    async text() {
      return (await page.locator('#app').textContent()) ?? '';
    },
    sideways: () =>
      page.evaluate(
        `(({ scrollWidth, clientWidth }) => document.documentElement.scrollWidth - innerWidth + scrollWidth - clientWidth)(document.querySelector('main'))`,
      ),
    later: (ms) => page.clock.fastForward(ms),
  };
}

let address: Promise<Listening> | null = null;
let present: RequestListener | null = null;

/** Serves one monitor after the other at the same address: its scripts stay in the windows, and compiled. */
async function listenAgain(app: RequestListener): Promise<Listening> {
  if (present !== null) return listen(app);
  present = app;
  address ??= listen((request, response) => {
    if (present === null) response.destroy();
    else present(request, response);
  });
  return {
    ...(await address),
    async close() {
      present = null;
    },
  };
}

/** Serves a monitor, and opens a view of its page. */
export async function visit(
  options: MonitorOptions,
  hash = '',
  { host, ...more }: LookOptions & { readonly host?: HostOptions } = {},
): Promise<Host & Look> {
  const served = await serve(EXPRESS, options, { listenWith: listenAgain, ...host });
  return { ...served, ...(await look(served.base, hash, more)) };
}

/** @returns the search once it has what the address asks for: it comes with the search language, shortly after the field */
export async function loadedSearch(page: Page): Promise<Locator> {
  const field = page.getByLabel('Search', { exact: true });
  await until(async () => (await field.inputValue()) !== '');
  return field;
}
