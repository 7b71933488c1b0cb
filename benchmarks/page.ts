/**
 * The page in Chromium: first paint and a usable list with 10,000 tasks behind it, scripting and bytes while 200
 * events a second flow, memory after an hour's worth of them, and workflows of 100, 1,000 and 10,000 tasks.
 * Looks at the build: `npm run build` first.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { createMonitorRouter } from '../src/index.ts';
import { type MemorySources, memorySources } from '../src/memory.ts';
import { receivedBytes } from '../test/dashboard/network.ts';
import { printTable } from './table.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const HOUR = 720_000;

if (!existsSync(executablePath)) {
  console.log('The page: left out, chromium is not installed (Debian: apt-get install chromium).\n');
  process.exit(0);
}

async function serve(queue: MemorySources): Promise<{ url: string; close(): void }> {
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources: queue, authorize: false }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor/`;
  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Records this many changes of tasks. */
function feeder(queue: MemorySources): (count: number) => void {
  let number = 0;
  return (count) => {
    for (let index = 0; index < count; index += 1) {
      number += 1;
      const state = number % 3 === 0 ? 'SUCCESS' : 'STARTED';
      queue.record({
        id: `task-${number % 90_000}`,
        state,
        name: `shop.step_${number % 9}`,
        worker: 'w1@shop',
      });
    }
  };
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
  await page.getByText('shop.step_').first().waitFor();
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
    const drawings = [...document.querySelectorAll('canvas, svg')];
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
  const queue = memorySources();
  for (let index = 0; index < size; index += 1) {
    const parent = index === 0 ? {} : { parentId: `t${Math.floor((index - 1) / 3)}`, rootId: 't0' };
    queue.record({
      id: `t${index}`,
      state: index % 5 === 0 ? 'STARTED' : 'SUCCESS',
      name: `shop.step_${index % 7}`,
      ...parent,
    });
  }
  const { url, close } = await serve(queue);
  const page = await browser.newPage();
  const start = performance.now();
  await page.goto(`${url}#/workflow/t0`);
  await page
    .getByText(`${size.toLocaleString('en')} tasks`)
    .first()
    .waitFor();
  await page.locator('canvas, svg').first().waitFor();
  const drawn = performance.now() - start;
  const frames = await framesPerSecond(page);
  await page.close();
  close();
  const label = `workflow of ${size.toLocaleString('en')}: drawn, frames/s while zooming`;
  return [label, `${drawn.toFixed(0)} ms, ${frames.toFixed(0)}`];
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const rows = await measureList(browser);
for (const size of [100, 1_000, 10_000]) rows.push(await measureGraph(browser, size));
await browser.close();
printTable('The page', ['', ''], rows);
process.exit(0);
