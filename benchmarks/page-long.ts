/** Long tasks of the page's main thread on a processor that is four times slower. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { memorySources } from '../src/memory.ts';
import { feeder, type MainTasks, serve, slowDown, traceTasks, workflowOf } from './page-kit.ts';

const RATE = 4;
const QUIET_MS = 2_000;
const LIVE_MS = 20_000;
/** A view, and the selector that exists once it shows its data. */
const LIVE: readonly (readonly [view: string, selector: string])[] = [
  ['#/', '.chart, svg'],
  ['#/failures', 'main a[href*="failures/"]'],
  ['#/tasks', 'main a[href*="#/tasks/"]'],
  ['#/queues', 'main >> text=q1'],
  ['#/workers', 'main >> text=w1@shop'],
];
const WORKFLOWS: readonly (readonly [size: number, kind: 'deep' | 'flat', query: string])[] = [
  [10_000, 'deep', ''],
  [10_000, 'flat', ''],
  [10_000, 'deep', '?view=graph'],
  [10_000, 'flat', '?view=graph'],
  [250, 'deep', '?view=graph'],
];

const ms = (time: number): string => `${time.toFixed(0)} ms`;

interface Opened {
  readonly page: Page;
  readonly tasks: MainTasks;
  /** Milliseconds until the selector was found. */
  readonly shown: number;
}

/** Opens an address on a processor that is this many times slower. */
async function open(browser: Browser, address: string, selector: string, rate: number): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(120_000);
  // The process that shows pages of this host starts here.
  await page.goto(new URL('healthcheck', address).href);
  await slowDown(page, rate);
  const end = await traceTasks(page);
  const start = performance.now();
  await page.goto(address);
  await page.locator(selector).first().waitFor();
  const shown = performance.now() - start;
  await sleep(QUIET_MS);
  return { page, shown, tasks: await end() };
}

/**
 * The longest task of the processor, multiplied. The browser slows a processor down by the clock, so that other programs
 * would count several times.
 */
async function longestOfProcessor(browser: Browser, address: string, selector: string): Promise<string> {
  const { page, tasks } = await open(browser, address, selector, 1);
  await page.close();
  return ms(tasks.longestOfProcessor * RATE);
}

/** Views while they open, and while 200 events a second flow. */
export async function measureViews(browser: Browser): Promise<string[][]> {
  const queue = memorySources();
  const feed = feeder(queue);
  feed(10_000);
  const { url, close } = await serve(queue);
  const rows: string[][] = [];
  const feeding = setInterval(() => feed(20), 100);
  for (const [view, selector] of LIVE) {
    const address = `${url}${view}`;
    const { page, shown, tasks } = await open(browser, address, selector, RATE);
    const end = await traceTasks(page);
    await sleep(LIVE_MS);
    const live = await end();
    await page.close();
    const ofProcessor = await longestOfProcessor(browser, address, selector);
    rows.push([view, ms(shown), ms(tasks.longest), ofProcessor, ms(live.longest), String(live.long)]);
  }
  clearInterval(feeding);
  close();
  return rows;
}

/** Workflows while they open. */
export async function measureWorkflows(browser: Browser): Promise<string[][]> {
  const rows: string[][] = [];
  for (const [size, kind, query] of WORKFLOWS) {
    const { url, close } = await serve(workflowOf(size, kind));
    const [address, selector] = [`${url}#/workflow/t0${query}`, '.wf-row, .graph-stage .node'];
    const { page, shown, tasks } = await open(browser, address, selector, RATE);
    await page.close();
    const ofProcessor = await longestOfProcessor(browser, address, selector);
    const what = `${query === '' ? 'waterfall' : 'graph'} of ${size.toLocaleString('en')}, ${kind}`;
    rows.push([what, ms(shown), ms(tasks.longest), ofProcessor, String(tasks.long)]);
    close();
  }
  return rows;
}
