/**
 * The same as `drain`, on real load: BullMQ's workers drain queues for some minutes, and what `/api/components/` forecasts
 * is compared with when the queues were empty. `npm run bench -- drain-real [--minutes 12]`.
 */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import * as bullmq from 'bullmq';
import express from 'express';
import { bullmqSources } from '../src/bullmq.ts';
import { createMonitorClient } from '../src/client.ts';
import { createMonitorRouter } from '../src/index.ts';
import { startBullMQ } from '../test/helpers/bullmq-app.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '12' } } });
const SECONDS = 60 * Number(values.minutes);
const EVERY_SECONDS = 2;
const GOAL = 0.8;
const RUN_MS = 1_000;
const SLOTS = 4;

/** How many jobs arrive in a second of the run. */
const LOADS: Readonly<Record<string, (second: number) => number>> = {
  burst: (second) => (second % 150 === 20 ? 300 : 1),
  'growing, then drained': (second) => (second % 180 < 60 ? 8 : 1),
  uneven: (second) => (second % 40 === 10 ? 100 + (second % 3) * 20 : 0),
};

interface Reading {
  readonly second: number;
  readonly waiting: number;
  readonly low: number | null;
  readonly high: number | null;
}

const app = await startBullMQ(bullmq);
const queues = Object.keys(LOADS).map((name) => app.queue(name));
for (const { name } of queues) {
  const run = () => pause(-Math.log(1 - Math.random()) * RUN_MS);
  app.worker(name, run, { concurrency: SLOTS });
}
const host = express();
const router = createMonitorRouter({ sources: bullmqSources({ queues }), authorize: false });
host.use('/monitor', router);
const server = host.listen(0, '127.0.0.1');
await once(server, 'listening');
const client = createMonitorClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor`);

const readings = new Map<string, Reading[]>(Object.keys(LOADS).map((name) => [name, []]));
const begin = performance.now();
for (let second = 0; second < SECONDS; second += 1) {
  for (const queue of queues) {
    const count = LOADS[queue.name]?.(second) ?? 0;
    await queue.addBulk(Array.from({ length: count }, () => ({ name: 'job', data: {} })));
  }
  if (second % EVERY_SECONDS === 0) {
    const { queues: component } = await client.components();
    for (const { name, waiting, drain } of component?.queues ?? []) {
      const { low = null, high = null } = drain ?? {};
      readings.get(name)?.push({ second, waiting: waiting ?? 0, low, high });
    }
  }
  await pause(Math.max(0, begin + (second + 1) * 1_000 - performance.now()));
}
await router.close();
server.close();
await app.close();

const results = [...readings].map(([name, all]) => {
  const tested = all.flatMap(({ second, low, high }, at) => {
    const empty = all.slice(at + 1).find(({ waiting }) => waiting === 0);
    if (low === null || high === null || empty === undefined) return [];
    // It was empty at some time since the reading before.
    return empty.second - second >= low && empty.second - EVERY_SECONDS - second <= high;
  });
  return { name, held: tested.filter(Boolean).length, forecasts: tested.length };
});
const all = {
  name: 'all',
  held: results.reduce((sum, { held }) => sum + held, 0),
  forecasts: results.reduce((sum, { forecasts }) => sum + forecasts, 0),
};
printTable(
  `Forecasts of ${values.minutes} minutes of real workers whose band held (goal: ${100 * GOAL} %)`,
  ['queue', 'held, %', 'forecasts'],
  [...results, all].map(({ name, held, forecasts }) => [
    name,
    ((100 * held) / forecasts).toFixed(1),
    String(forecasts),
  ]),
);
process.exit(all.held / all.forecasts >= GOAL ? 0 : 1);
