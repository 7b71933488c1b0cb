/**
 * Starts with a million stored results and 100,000 waiting messages. Measures the time to the first answer and
 * to the end of reading, and the cost for Redis and for the reading process. `tsx benchmarks/results.ts 100000`
 * reads fewer.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createClient } from 'redis';
import { celerySources } from '../src/celery.ts';
import { queryOf } from '../test/helpers/task-query.ts';
import { printTable } from './table.ts';

const RESULTS = Number(process.argv[2] ?? 1_000_000);
const MESSAGES = 100_000;
const LIFE_S = 86_400;
const TRACEBACK = `Traceback (most recent call last):\n${'  File "/srv/app/tasks.py", line 42, in run\n    work()\n'.repeat(6)}`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

const idOf = (number: number): string =>
  `${number.toString(16).padStart(8, '0')}-4e2b-4c6d-8f10-${(number * 7919).toString(16).padStart(12, '0')}`;

/**
 * A result as Celery writes it with `result_extended`. Of each hundred, ten failed, one is running, and five
 * form a group.
 */
function metaOf(number: number, done: number): string {
  const kind = number % 100;
  const date = new Date(done).toISOString().replace('Z', '123+00:00');
  const rest = `"name": "shop.tasks.task_${number % 40}", "args": [${number}, "customer-${number % 977}"], "kwargs": {"retry": true}, "worker": "celery@worker-${number % 8}", "retries": 0, "queue": "celery", "task_id": "${idOf(number)}"}`;
  if (kind === 0) {
    return `{"status": "STARTED", "result": {"pid": 7, "hostname": "celery@worker-1"}, "traceback": null, "children": [], "date_done": null, ${rest}`;
  }
  if (kind <= 10) {
    const trace = JSON.stringify(TRACEBACK);
    return `{"status": "FAILURE", "result": {"exc_type": "ValueError", "exc_message": ["no such item: ${number}"], "exc_module": "builtins"}, "traceback": ${trace}, "children": [], "date_done": "${date}", ${rest}`;
  }
  const group =
    kind > 95 ? `"group_id": "${idOf(number - kind)}", "parent_id": "${idOf(number - kind + 11)}", ` : '';
  const child = kind === 11 ? `[[["${idOf(number + 1)}", null], null]]` : '[]';
  return `{"status": "SUCCESS", "result": {"total": ${number}, "items": ["a", "b", "c"]}, "traceback": null, "children": ${child}, "date_done": "${date}", ${group}${rest}`;
}

/** Stores all results over one socket, as fast as Redis accepts them. */
async function fill(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let replies = 0;
  const filled = new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) replies += 1;
      if (replies >= RESULTS) resolve();
    });
  });
  const now = Date.now();
  for (let at = 0; at < RESULTS; ) {
    let text = '';
    for (const end = Math.min(at + 500, RESULTS); at < end; at += 1) {
      const age = Math.floor((at / RESULTS) * (LIFE_S - 600));
      const key = `celery-task-meta-${idOf(at)}`;
      const meta = metaOf(at, now - age * 1000);
      const life = String(LIFE_S - age);
      text += `*4\r\n$5\r\nSETEX\r\n$${key.length}\r\n${key}\r\n$${life.length}\r\n${life}\r\n$${meta.length}\r\n${meta}\r\n`;
    }
    if (!socket.write(text)) await once(socket, 'drain');
  }
  await filled;
  socket.destroy();
}

/** Adds as many messages to a queue as wait there on a busy day. */
async function wait(port: number): Promise<void> {
  const queue = await createClient({ url: `redis://127.0.0.1:${port}/0` }).connect();
  for (let at = 0; at < MESSAGES; at += 1_000) {
    const messages = Array.from({ length: 1_000 }, (_, offset) => messageOf(at + offset));
    await queue.lPush('celery', messages);
  }
  queue.destroy();
}

/** A message as Celery sends it (protocol 2). */
function messageOf(number: number): string {
  const id = `waiting-${number}`;
  const body = Buffer.from(
    JSON.stringify([[number], {}, { callbacks: null, errbacks: null, chain: null, chord: null }]),
  );
  const headers = {
    lang: 'py',
    task: 'shop.tasks.pay',
    id,
    root_id: id,
    parent_id: null,
    group: null,
    argsrepr: `(${number},)`,
    kwargsrepr: '{}',
    retries: 0,
    eta: null,
    expires: null,
  };
  const properties = {
    correlation_id: id,
    delivery_info: { exchange: '', routing_key: 'celery' },
    priority: 0,
    body_encoding: 'base64',
    delivery_tag: id,
  };
  return JSON.stringify({
    body: body.toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers,
    properties,
  });
}

/** The first request. */
const PAGE = queryOf();

/** The progress of reading, from the component of the backend. */
interface Progress {
  readonly done: boolean;
  readonly read: number;
  readonly kept: number;
  readonly unreadable: number;
}

const port = await freePort();
const limits = ['--slowlog-log-slower-than', '10000', '--slowlog-max-len', '1000'];
const redis = spawn(
  'redis-server',
  ['--port', String(port), '--save', '', '--bind', '127.0.0.1', ...limits],
  {
    stdio: 'ignore',
  },
);
const missing = await Promise.race([
  once(redis, 'error').then(() => true),
  new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 500)),
]);
if (missing) {
  console.log(
    'Results in Redis: left out, redis-server is not installed (Debian: apt-get install redis-server).\n',
  );
  process.exit(0);
}
const url = `redis://127.0.0.1:${port}/0`;
const client = await createClient({ url, RESP: 2 })
  .on('error', () => {})
  .connect();
try {
  await fill(port);
  await wait(port);
  await client.sendCommand(['CONFIG', 'RESETSTAT']);
  await client.sendCommand(['SLOWLOG', 'RESET']);

  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const cpu = process.cpuUsage();
  const begun = performance.now();
  const sources = celerySources({ broker: url, backend: url });
  const context = { signal: new AbortController().signal };
  while (sources.tasks.status?.().ok !== true) await new Promise((resolve) => setTimeout(resolve, 1));
  await sources.tasks.listTasks(PAGE, context);
  const firstAnswer = performance.now() - begun;
  const progress = async (): Promise<Progress> => {
    const components = await sources.components.listComponents(context);
    return components.find(({ key }) => key === 'backend')?.config?.results as Progress;
  };
  while (!(await progress()).done) await new Promise((resolve) => setTimeout(resolve, 100));
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  clearInterval(sampler);

  const { read, kept, unreadable } = await progress();
  const info = String(await client.sendCommand(['INFO', 'commandstats']));
  const slow = (await client.sendCommand(['SLOWLOG', 'GET', '1000'])) as unknown[];
  const commands = [...info.matchAll(/^cmdstat_(\w+):calls=(\d+),usec=(\d+)/gm)].filter(
    ([, name]) => name !== 'config' && name !== 'info',
  );
  const busy = commands.reduce((sum, [, , , usec]) => sum + Number(usec), 0) / 1e6;
  const { tasks } = await sources.history.getHistoryStats(context);
  const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`;
  const listed = commands.map(([, name, calls]) => `${name} ${Number(calls).toLocaleString('en')}`);
  printTable(
    `Starting with ${RESULTS.toLocaleString('en')} results stored and ${MESSAGES.toLocaleString('en')} messages waiting`,
    ['', ''],
    [
      ['time to the first answer', `${firstAnswer.toFixed(0)} ms`],
      ['results read', read.toLocaleString('en')],
      [
        'told to the history, of those it holds in the end',
        `${kept.toLocaleString('en')}, ${tasks.toLocaleString('en')}`,
      ],
      ['unreadable', String(unreadable)],
      ['time to complete', `${seconds.toFixed(1)} s`],
      ['CPU time of the process', `${((user + system) / 1e6).toFixed(1)} s`],
      ['Redis commands', listed.join(', ')],
      ['time of Redis in them', `${busy.toFixed(2)} s`],
      ['commands over 10 ms', String(slow.length)],
      ['peak memory (RSS), and before', `${mebibytes(peak)}, ${mebibytes(before)}`],
      ['longest stall of the event loop', `${(delay.max / 1e6).toFixed(1)} ms`],
      ['99th percentile', `${(delay.percentile(99) / 1e6).toFixed(1)} ms`],
    ],
  );
  await sources.close();
} finally {
  client.destroy();
  redis.kill();
}
