/**
 * The page in Chromium: first paint and a usable list with 10,000 tasks behind it, scripting and bytes while 200
 * events a second flow, memory after an hour's worth of them, workflows of 100, 1,000 and 10,000 tasks, and long tasks
 * of the main thread on a slow processor; with `--long` only these.
 * Looks at the build: `npm run build` first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { memorySources } from '../src/memory.ts';
import { receivedBytes } from '../test/dashboard/network.ts';
import { browserMissing, executablePath } from '../test/helpers/chromium.ts';
import { feeder, serve, workflowOf } from './page-kit.ts';
import { measureViews, measureWorkflows } from './page-long.ts';
import { printTable } from './table.ts';

const HOUR = 720_000;

if (executablePath === undefined) {
  console.log(`The page: left out: ${browserMissing}.\n`);
  process.exit(0);
}

async function heapOf(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize / 1e6;
}

async function scriptSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
}

async function measureList(browser: Browser): Promise<string[][]> {
  const queue = memorySources();
  const feed = feeder(queue);
  feed(10_000);
  const { url, close } = await serve(queue);
  const page = await browser.newPage();
  const start = performance.now();
  await page.goto(`${url}#/tasks`);
  await page.locator('main a[href*="#/tasks/"]').first().waitFor();
  const usable = performance.now() - start;
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
  );
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const received = await receivedBytes(page);
  const before = await scriptSeconds(session);
  for (let tick = 0; tick < 300; tick += 1) {
    feed(20);
    await sleep(100);
  }
  const busy = ((await scriptSeconds(session)) - before) / 30;
  const bytes = received() / 30;
  const heap = await heapOf(session);
  for (let sent = 0; sent < HOUR; sent += 1_000) {
    feed(1_000);
    await sleep(20);
  }
  await sleep(1_500);
  const after = await heapOf(session);
  await page.close();
  close();
  return [
    ['first contentful paint', `${paint.toFixed(0)} ms`],
    ['a usable list, 10,000 tasks behind it', `${usable.toFixed(0)} ms`],
    ['work of the main thread per second, 200 events/s', `${(busy * 1_000).toFixed(0)} ms`],
    ['transfer per second, 200 events/s', `${(bytes / 1_000).toFixed(1)} kB`],
    [
      `heap before and after ${HOUR.toLocaleString('en')} events`,
      `${heap.toFixed(1)} MB, ${after.toFixed(1)} MB`,
    ],
  ];
}

/** Frames a second while the drawing is zoomed in and out. */
function framesPerSecond(page: Page): Promise<number> {
  return page.evaluate(`(async () => {
    const drawings = [...document.querySelectorAll('svg')];
    const drawing = drawings.sort((a, b) => b.clientWidth - a.clientWidth)[0];
    const { x, y } = drawing.getBoundingClientRect();
    const end = performance.now() + 3000;
    let frames = 0;
    while (performance.now() < end) {
      const deltaY = frames % 2 === 0 ? -60 : 60;
      drawing.dispatchEvent(new WheelEvent('wheel', { deltaY, clientX: x + 200, clientY: y + 200, bubbles: true, cancelable: true }));
      await new Promise(requestAnimationFrame);
      frames += 1;
    }
    return frames / 3;
  })()`);
}

async function measureGraph(browser: Browser, size: number): Promise<string[]> {
  const { url, close } = await serve(workflowOf(size, 'deep'));
  const page = await browser.newPage();
  const start = performance.now();
  await page.goto(`${url}#/workflow/t0?view=graph`);
  await page.locator('.graph-stage .node').first().waitFor();
  const drawn = performance.now() - start;
  const frames = await framesPerSecond(page);
  await page.close();
  close();
  const label = `workflow of ${size.toLocaleString('en')}: drawn, frames/s while zooming`;
  return [label, `${drawn.toFixed(0)} ms, ${frames.toFixed(0)}`];
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const rows: string[][] = [];
if (!process.argv.includes('--long')) {
  rows.push(...(await measureList(browser)));
  for (const size of [100, 1_000, 10_000]) rows.push(await measureGraph(browser, size));
}
const views = await measureViews(browser);
const workflows = await measureWorkflows(browser);
await browser.close();
if (rows.length > 0) printTable('The page', ['', ''], rows);
const slow = 'a processor four times slower';
printTable(
  `The page on ${slow}, 200 events/s`,
  [
    'view',
    'shown after',
    'longest task while it opens',
    'of the processor',
    'within 20 s',
    'of 50 ms or more',
  ],
  views,
);
printTable(
  `Workflows of the page on ${slow}`,
  ['workflow', 'shown after', 'longest task', 'of the processor', 'of 50 ms or more'],
  workflows,
);
process.exit(0);
