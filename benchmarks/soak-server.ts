/**
 * The host of the soak, in its own process: the monitor over Celery and BullMQ on Express, a route of the
 * host's own, and a route that reports the memory and handles of the process after garbage collection.
 */
import { existsSync, readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import express from 'express';
import { bullmqSources } from '../src/bullmq.ts';
import { celerySources } from '../src/celery.ts';
import { combineSources, createMonitorRouter } from '../src/index.ts';

const [, , url = '', exporter = ''] = process.argv;
const collect = globalThis.gc;
if (collect === undefined) throw new Error('Run it with --expose-gc.');

const app = express();
app.disable('x-powered-by');
app.get('/canary', (_request, response) => void response.end('sings'));
const monitor = createMonitorRouter({
  sources: combineSources(
    // Small enough to be full, and to evict tasks, long before the end of the warm-up.
    celerySources({ broker: url, backend: url, retention: { maxTasks: 5_000, maxEvents: 2_000 } }),
    bullmqSources({ connection: url }),
  ),
  exporter,
  authorize: false,
  timeoutMs: 2_000,
});
app.use('/monitor', monitor);

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
let escaped = 0;
process.on('unhandledRejection', () => {
  escaped += 1;
});
process.on('uncaughtException', () => {
  escaped += 1;
});

app.get('/held', async (_request, response) => {
  // Twice, with a turn of the event loop between, because memory with finalizers is only freed then.
  collect();
  await new Promise((resolve) => setTimeout(resolve, 50));
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const handles: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1;
  // These resources do not include unreferenced sockets and timers, but sockets are open files.
  if (existsSync('/proc/self/fd')) handles['open files'] = readdirSync('/proc/self/fd').length;
  response.json({
    heap: heapUsed,
    external,
    rss,
    handles,
    escaped,
    cpu: process.cpuUsage().user + process.cpuUsage().system,
    delayP99: delay.percentile(99) / 1e6,
    delayMax: delay.max / 1e6,
  });
  delay.reset();
});

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${port}\n`);
});
