/** Long tasks of the page's main thread on a processor that is four times slower. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { memorySources } from '../src/memory.ts';
import { feeder, type MainTasks, serve, slowDown, traceTasks, workflowOf } from './page-kit.ts';

const RATE = 4;
const QUIET_MS = 2_000;
const LIVE_MS = 20_000;
/** A view, and what is there once it shows its data. */
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
  [300, 'deep', '?view=graph'],
];

const ms = (time: number): string => `${time.toFixed(0)} ms`;
const longest = (tasks: MainTasks): string => `${ms(tasks.longest)}, ${ms(tasks.longestOfProcessor)}`;

/** Views while they open, and while 200 events a second flow. */
export async function measureViews(browser: Browser): Promise<string[][]> {
  const queue = memorySources();
  const feed = feeder(queue);
  feed(10_000);
  const { url, close } = await serve(queue);
  const rows: string[][] = [];
  const feeding = setInterval(() => feed(20), 100);
  for (const [view, selector] of LIVE) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await slowDown(page, RATE);
    const endOpening = await traceTasks(page);
    const start = performance.now();
    await page.goto(`${url}${view}`);
    await page.locator(selector).first().waitFor();
    const shown = performance.now() - start;
    await sleep(QUIET_MS);
    const opening = await endOpening();
    const endLive = await traceTasks(page);
    await sleep(LIVE_MS);
    const live = await endLive();
    rows.push([view, ms(shown), longest(opening), longest(live), String(live.long)]);
    await context.close();
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
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await slowDown(page, RATE);
    const end = await traceTasks(page);
    const start = performance.now();
    await page.goto(`${url}#/workflow/t0${query}`);
    await page.locator('.wf-row, .graph-stage .node, canvas').first().waitFor();
    const shown = performance.now() - start;
    await sleep(QUIET_MS);
    const tasks = await end();
    const what = `${query === '' ? 'waterfall' : 'graph'} of ${size.toLocaleString('en')}, ${kind}`;
    rows.push([what, ms(shown), longest(tasks), String(tasks.long)]);
    await context.close();
    close();
  }
  return rows;
}
