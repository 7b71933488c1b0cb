/**
 * Streams of the feed: 10, 100 and 1,000 clients in another process, 200 events a second. Measures the events
 * that arrived, CPU time and memory of the monitor, and the latency of other routes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { createMonitorRouter } from '../src/index.ts';
import { memorySources } from '../src/memory.ts';
import { printTable } from './table.ts';

const CLIENTS = [10, 100, 1_000];
const RATE = 200;
const SECONDS = { few: 20, most: 60 };

/** The final report of the process of clients. */
interface Report {
  /** Events that arrived, summed over all clients. */
  readonly events: number;
  /** Clients that received every event exactly once. */
  readonly complete: number;
  readonly drops: number;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function timeOf(url: string): Promise<number> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      response.resume();
      response.on('end', () => resolve(performance.now() - start));
    }).on('error', reject);
  });
}

async function measure(clients: number, seconds: number): Promise<string[]> {
  const queue = memorySources();
  const app = express();
  app.use('/monitor', createMonitorRouter({ sources: queue, authorize: false }));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/monitor`;
  const events = RATE * seconds;
  const file = fileURLToPath(new URL('./streams-clients.ts', import.meta.url));
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', file, base, String(clients), String(events)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const lines: string[] = [];
  child.stdout?.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
  while (!lines.join('').includes('ready')) await sleep(50);
  globalThis.gc?.();
  const memory = process.memoryUsage().rss;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const waits: number[] = [];
  let sent = 0;
  let peak = 0;
  const asking = setInterval(() => {
    void timeOf(`${base}/api/tasks/?limit=50`).then((ms) => waits.push(ms));
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 100);
  while (sent < events) {
    const due = Math.min(events, Math.floor(((performance.now() - start) / 1_000) * RATE));
    for (; sent < due; sent += 1) {
      queue.record({
        id: `task-${sent}`,
        state: 'STARTED',
        name: `shop.step_${sent % 9}`,
        worker: 'w1@shop',
      });
    }
    await sleep(5);
  }
  const { user, system } = process.cpuUsage(cpu);
  clearInterval(asking);
  await Promise.race([once(child, 'exit'), sleep(30_000)]);
  child.kill('SIGKILL');
  const report = JSON.parse(lines.join('').replace('ready', '')) as Report;
  server.closeAllConnections();
  server.close();
  waits.sort((a, b) => a - b);
  return [
    `${clients.toLocaleString('en')} clients, ${seconds} s`,
    Math.round(report.events / seconds).toLocaleString('en'),
    `${report.complete} of ${clients}, ${report.drops}`,
    `${((user + system) / report.events).toFixed(2)} µs`,
    `${(((user + system) / 1e6 / seconds) * 100).toFixed(0)} %`,
    `${Math.round((peak - memory) / 1024 ** 2)} MiB`,
    `${(waits[Math.floor(waits.length * 0.99)] ?? 0).toFixed(0)} ms`,
  ];
}

const rows: string[][] = [];
for (const clients of CLIENTS)
  rows.push(await measure(clients, clients >= 1_000 ? SECONDS.most : SECONDS.few));
printTable(
  `Streams of the feed, ${RATE} events/s`,
  [
    '',
    'events delivered/s',
    'got all, dropped',
    'CPU per event',
    'CPU of a core',
    'memory',
    'other routes, p99',
  ],
  rows,
);
process.exit(0);
