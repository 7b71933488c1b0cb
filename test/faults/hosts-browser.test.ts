import { readFileSync } from 'node:fs';
import helmet from 'helmet';
import { chromium } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { browserMissing, executablePath, look, startBrowser } from '../dashboard/browser.ts';
import { createShop, ids } from '../dashboard/shop.ts';
import { faultCase } from './kit/fault-case.ts';
import { using } from './kit/shop-host.ts';

const options = { missing: browserMissing, timeout: 120_000 };
const VIEWS = [
  ...['#/', '#/tasks', `#/tasks/${ids.failed}`, `#/workflow/${ids.root}`],
  ...['#/workers', '#/schedules', '#/system'],
];

// One for the whole file: a case must leave the process as it found it.
beforeAll(async () => {
  if (browserMissing === null) await startBrowser();
});

const POLICIES: readonly (readonly [title: string, middleware: ReturnType<typeof helmet>])[] = [
  ["helmet's default policy", helmet()],
  [
    'a policy that forbids all but what it needs, and demands trusted types',
    (_request, response, next) => {
      response.setHeader(
        'Content-Security-Policy',
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
      );
      next();
    },
  ],
];

for (const [title, middleware] of POLICIES) {
  faultCase(
    68,
    `the page works under ${title}`,
    async (bench) => {
      const host = await bench.serve(createShop().options, { before: using(middleware) });
      // It fails when the console, the policy or an error has anything to tell.
      const { page, go } = await look(host.base, '', { expected: /404/ });
      await page.getByText('Workers 1/1').waitFor();
      for (const hash of VIEWS) await go(hash);
      await go(`#/workflow/${ids.root}?view=graph`);
      await page.locator('.graph-svg .node').first().waitFor();
    },
    options,
  );
}

faultCase(
  69,
  'on plain http under a name of the network, upgraded requests leave a page that says so',
  async (bench) => {
    const host = await bench.serve(createShop().options, { before: using(helmet()) });
    const browser = await chromium.launch({
      // The case must leave no listener on this process.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      ...(executablePath === undefined ? {} : { executablePath }),
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP monitor.lan 127.0.0.1'],
    });
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(host.base.replace('127.0.0.1', 'monitor.lan').concat('/'));
    await page.getByText('upgrade-insecure-requests').waitFor();
    expect(await page.locator('#view-title').count()).toBe(0);
    const docs = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    expect(docs).toContain('upgrade-insecure-requests');
  },
  options,
);
