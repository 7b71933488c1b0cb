/**
 * The host of the benchmark `turns`: `node turns-server.ts <sqlite, postgres or rows> <where> <fill or serve>`. Fills a
 * store, or serves a monitor with almost none of it in memory, or the monitor of a source that streams its rows;
 * reports through IPC the longest turn of its event loop.
 */

import type { AddressInfo } from 'node:net';
import express from 'express';
import type { StoreEngine } from '../src/history/store.ts';
import { historySources, storeOption } from '../src/history/store-parts.ts';
import { createStoredHistory } from '../src/history/stored/create-stored-history.ts';
import type { StoredHistory } from '../src/history/stored-history.ts';
import { createMonitorRouter } from '../src/index.ts';
import { createRedactor } from '../src/redact.ts';
import { fillTurns, SOURCE } from './turns-fill.ts';
import { streamedSources } from './turns-rows.ts';

/** The requests of the benchmark to a host. */
export type TurnsCommand = 'start' | 'stop';

/** The turns of the event loop since `start`. Times in milliseconds. */
export interface TurnsReport {
  /** Most CPU time that the main thread used between two ticks of a timer: a turn, or two short ones. */
  readonly longest: number;
  /** The same, exceeded by one turn in a thousand. */
  readonly p999: number;
  /** CPU time of the main thread in all. */
  readonly cpu: number;
}

/** Tasks in memory, without those for answers from the store alone. */
const IN_MEMORY = 100;
const TICK_MS = 1;

const [engine, where = '', step] = process.argv.slice(2);
const store = engine === 'rows' ? null : await openStore();
if (store !== null && step === 'fill') {
  const session = await store.open({ source: SOURCE, deployment: null, isReadOnly: false });
  await fillTurns(session);
  await store.close(session);
  process.exit(0);
}

async function openStore(): Promise<StoreEngine> {
  if (engine === 'sqlite') {
    const { createSqliteStore } = await import('../src/stores/sqlite/sqlite-store.ts');
    const thread = new URL('../src/stores/sqlite/sqlite-thread.ts', import.meta.url);
    const settings = { retention: { taskDays: 7, rollupDays: 90 }, isReadOnly: false, deployment: null };
    return createSqliteStore({ ...settings, path: where, thread });
  }
  const { default: pg } = await import('pg');
  const { postgresStore } = await import('../src/postgres.ts');
  const pool = new pg.Pool({ connectionString: where, max: 10 });
  pool.on('error', () => {});
  return storeOption(postgresStore(pool), { caller: 'bench', option: 'store' }) as StoreEngine;
}

/** CPU time of the main thread, in milliseconds; before Node 23.9, of all threads of the process. */
const { threadCpuUsage = process.cpuUsage } = process as {
  threadCpuUsage?: () => NodeJS.CpuUsage;
};
function cpuTime(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}

let turns: number[] = [];
let before = cpuTime();
setInterval(() => {
  const now = cpuTime();
  turns.push(now - before);
  before = now;
}, TICK_MS);

process.on('message', (command: TurnsCommand) => {
  if (command === 'start') {
    turns = [];
    return;
  }
  const sorted = turns.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  const cpu = sorted.reduce((sum, ms) => sum + ms, 0);
  process.send?.({ longest: at(1), p999: at(0.999), cpu } satisfies TurnsReport);
});
process.on('disconnect', () => process.exit());

const history = store === null ? null : openHistory(store);

function openHistory(opened: StoreEngine): StoredHistory {
  return createStoredHistory(
    { maxTasks: IN_MEMORY, redactor: createRedactor() },
    { store: opened, source: SOURCE, deployment: null, hearing: 'all', isReadOnly: false },
  );
}

const app = express();
app.get('/canary', (_request, response) => void response.end('sings'));
app.get('/plain', (_request, response) => void response.json({ text: 'x'.repeat(4_096) }));
const sources = history === null ? streamedSources() : historySources(SOURCE, history.reader);
app.use('/monitor', createMonitorRouter({ sources, authorize: false }));
const server = app.listen(0, '127.0.0.1', () => void reportPort());

async function reportPort(): Promise<void> {
  while (history !== null && history.status().phase !== 'ready')
    await new Promise((resolve) => setTimeout(resolve, 20));
  process.send?.((server.address() as AddressInfo).port);
}
