/**
 * The host of the benchmark `messages`: `node messages-server.ts <bare or monitor> <channel> <address>`. Receives
 * messages with the monitor, or with the client alone; reports through IPC the longest turn of its event loop.
 */
import { existsSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { connect } from 'amqplib';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { bullmqSources } from '../src/bullmq.ts';
import { celerySources } from '../src/celery.ts';
import { type Channel, JOB, MARKER, QUEUE } from './messages-made.ts';

const [role, channel, address = ''] = process.argv.slice(2) as ['bare' | 'monitor', Channel, string];
const context = { signal: new AbortController().signal };

/** CPU time of the main thread in milliseconds, on Linux: the machine does other work, too. */
const schedule = `/proc/self/task/${process.pid}/schedstat`;
const hasSchedule = existsSync(schedule);
function clock(): number {
  return hasSchedule ? Number(readFileSync(schedule, 'latin1').split(' ', 1)[0]) / 1e6 : performance.now();
}

let longest = 0;
let before = clock();
function turn(): void {
  const now = clock();
  longest = Math.max(longest, now - before);
  before = now;
  setImmediate(turn);
}

/** Starts to listen. @returns reads, and tells whether everything has arrived */
const listen: Readonly<Record<'bare' | 'monitor', () => Promise<() => Promise<boolean>>>> = {
  bare: () => (channel === 'amqp' ? listenAmqp() : channel === 'redis' ? listenRedis() : readRedis()),
  async monitor() {
    if (channel === 'bullmq') {
      const sources = bullmqSources({ connection: address });
      await sources.tasks.getTask(`${QUEUE}:0`, context);
      return async () => (await sources.tasks.getTask(`${QUEUE}:${JOB}`, context)) !== null;
    }
    const sources = celerySources({ broker: address, control: false });
    await until(async () => sources.events.status?.().ok === true);
    return async () => (await sources.tasks.getTask(MARKER, context)) !== null;
  },
};

async function listenAmqp(): Promise<() => Promise<boolean>> {
  const connection = await connect(address);
  const raw = await connection.createChannel();
  const { queue } = await raw.assertQueue('', { exclusive: true });
  await raw.assertExchange('celeryev', 'topic', { durable: true });
  await raw.bindQueue(queue, 'celeryev', '#');
  let isOver = false;
  await raw.consume(queue, (message) => {
    isOver ||= message !== null && message.content.length < 1_000 && message.content.includes(MARKER);
    if (message !== null) raw.ack(message);
  });
  return async () => isOver;
}

async function listenRedis(): Promise<() => Promise<boolean>> {
  const client = createClient({ url: address });
  client.on('error', () => {});
  await client.connect();
  let isOver = false;
  await client.pSubscribe(['/0.celeryev*'], (message) => {
    isOver ||= message.length < 1_000;
  });
  return async () => isOver;
}

async function readRedis(): Promise<() => Promise<boolean>> {
  const client = new Redis(address);
  await client.ping();
  return async () =>
    channel === 'queue'
      ? (await client.lrange('celery', -2, -1)).length > 1
      : (await client.hget(`bull:${QUEUE}:${JOB}`, 'stacktrace')) !== null;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

// The monitor alone keeps no process alive.
turn();
const isOver = await listen[role]();
process.on('disconnect', () => process.exit());
process.on('message', () => void measure());
process.send?.('ready');

async function measure(): Promise<void> {
  longest = 0;
  before = clock();
  await until(isOver);
  // What was begun is finished, such as the parts of a long message.
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.send?.(longest);
}
