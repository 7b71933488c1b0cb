/**
 * The host of the host benchmark, in a process of its own: the monitor beside a canary route and a bare route. `node
 * host-server.ts KIND [REDIS]`; reports the delays of its event loop through IPC.
 */

import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import express from 'express';
import { createClient } from 'redis';
import { celerySources } from '../src/celery.ts';
import { createMemoryHistory } from '../src/history/memory-history.ts';
import { historySources } from '../src/history/store-parts.ts';
import { createMonitorRouter, type MonitorSources } from '../src/index.ts';
import { memorySources } from '../src/memory.ts';
import { deliverMessage } from '../src/sources/celery/brokers/redis/events.ts';
import { WORKFLOW_TASKS, workflowId } from './host-attacks.ts';
import { meteredSource } from './metered.ts';
import { batches, events, intakeOf } from './traffic.ts';

/** The requests of the benchmark to a host, and the answers. */
export type HostCommand = 'start' | 'stop';
export interface HostReport {
  /** Longest delay of the event loop since `start`, in milliseconds. */
  readonly loop: number;
  /** CPU time since `start`, in milliseconds. */
  readonly cpu: number;
}

const TASKS = 100_000;
const RESOLUTION_MS = 2;

function heldTasks(): MonitorSources {
  const history = createMemoryHistory({ maxTasks: TASKS });
  const intake = intakeOf(history);
  for (const message of batches(events(TASKS, Date.now() - TASKS), 100)) {
    deliverMessage(message, intake.events);
  }
  return historySources('bench', history.reader);
}

function heldWorkflow(): MonitorSources {
  const queue = memorySources();
  for (let index = 0; index < WORKFLOW_TASKS; index += 1) {
    const parent = { parentId: workflowId(Math.floor((index - 1) / 3)), rootId: workflowId(0) };
    queue.record({
      id: workflowId(index),
      state: 'STARTED',
      name: `shop.step_${index % 7}`,
      args: [index, 'blue'],
      ...(index === 0 ? {} : parent),
    });
  }
  return queue;
}

async function createSources(kind: string, broker: string): Promise<MonitorSources | null> {
  if (kind === 'tasks') return heldTasks();
  if (kind === 'workflow') return heldWorkflow();
  if (kind === 'metrics') {
    const sources = historySources('bench', metered.reader);
    return { ...sources, experimental: { ...sources.experimental, openMeter: metered.openMeter } };
  }
  if (kind === 'celery') return celerySources({ broker });
  // The control of a flood: a bare subscriber.
  const client = createClient({ url: broker });
  client.on('error', () => {});
  await client.connect();
  await client.pSubscribe('/0.celeryev/*', () => {});
  return null;
}

const metered = meteredSource();
const [kind = '', broker = ''] = process.argv.slice(2);
const sources = await createSources(kind, broker);
const app = express();
app.disable('x-powered-by');
app.get('/canary', (_request, response) => void response.end('sings'));
app.use('/bare/:status/:bytes', (request, response) => {
  response.statusCode = Number(request.params.status);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(Buffer.alloc(Number(request.params.bytes), ' '));
});
if (sources !== null) {
  app.use('/monitor', createMonitorRouter({ sources, authorize: false, metrics: true }));
  metered.fill();
  app.use('/refused', createMonitorRouter({ authorize: () => false }));
}
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
// The benchmark keeps connections open longer than Node's five seconds.
server.keepAliveTimeout = 120_000;

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let cpu = process.cpuUsage();
process.on('message', (command: HostCommand) => {
  if (command === 'start') {
    delays.enable();
    delays.reset();
    cpu = process.cpuUsage();
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  delays.disable();
  const loop = Math.max(0, delays.max / 1e6 - RESOLUTION_MS);
  process.send?.({ loop, cpu: (user + system) / 1_000 } satisfies HostReport);
});
process.on('disconnect', () => process.exit());
