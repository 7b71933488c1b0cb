/**
 * How long one message, as large as its channel carries and made to be slow to decode, holds the event loop: with the
 * monitor, and with the client alone. `npm run bench -- messages`; `--only amqp` or `--megabytes 1,15` runs less of it.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { amqpPublisher } from '../test/helpers/amqp-events.ts';
import { rabbitMissing, startRabbit } from '../test/helpers/rabbitmq.ts';
import { redisMissing, startRedis } from '../test/helpers/redis-server.ts';
import { type Channel, JOB, last, MESSAGES, QUEUE } from './messages-made.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    megabytes: { type: 'string' },
    runs: { type: 'string', default: '3' },
  },
});
/** In bytes. Redis disconnects a subscriber that is 32 MB behind. */
const SIZES: Readonly<Record<Channel, readonly number[]>> = {
  amqp: [1, 15, 100],
  redis: [1, 15, 24],
  queue: [1, 4, 15],
  bullmq: [1, 4, 15],
};

/** Publishes a message, or stores it, and what shows that it has arrived. */
type Send = (address: string, message: string) => Promise<void>;

async function inRedis(address: string, act: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(address);
  await act(client);
  client.disconnect();
}

const SEND: Readonly<Record<Channel, Send>> = {
  async amqp(address, message) {
    const publisher = await amqpPublisher(address);
    publisher.publish(message);
    publisher.publish(last.amqp);
    await publisher.confirmed();
    await publisher.close();
  },
  redis: (address, message) =>
    inRedis(address, async (client) => {
      for (const text of [message, last.redis]) await client.publish('/0.celeryev/task.multi', text);
    }),
  queue: (address, message) => inRedis(address, (client) => client.lpush('celery', message, last.queue)),
  bullmq: (address, message) =>
    inRedis(address, (client) =>
      client
        .multi()
        .hset(`bull:${QUEUE}:${JOB}`, {
          name: 'send',
          data: '{}',
          opts: '{}',
          timestamp: Date.now() - 2,
          processedOn: Date.now() - 1,
          finishedOn: Date.now(),
          attemptsMade: 1,
          failedReason: 'no',
          stacktrace: message,
        })
        .zadd(`bull:${QUEUE}:failed`, Date.now(), JOB)
        .exec(),
    ),
};

/** @returns the longest turn, in milliseconds */
async function measure(
  role: 'bare' | 'monitor',
  channel: Channel,
  address: string,
  message: string,
): Promise<number> {
  const file = fileURLToPath(new URL('./messages-server.ts', import.meta.url));
  const host = fork(file, [role, channel, address], { execArgv: ['--import', 'tsx'] });
  try {
    await once(host, 'message');
    // A list is read from its first moment on.
    host.send('start');
    await SEND[channel](address, message);
    const [longest] = (await once(host, 'message')) as [number];
    return longest;
  } finally {
    host.kill('SIGKILL');
  }
}

const rabbit = rabbitMissing === null && 'amqp'.includes(values.only) ? await startRabbit() : null;

/** A server, or part of one, in which there is nothing. */
async function start(channel: Channel): Promise<{ address: string; close(): Promise<unknown> }> {
  if (channel === 'amqp' && rabbit !== null) {
    const name = await rabbit.createVirtualHost();
    return { address: rabbit.url(name), close: () => rabbit.manage('DELETE', `vhosts/${name}`) };
  }
  const redis = await startRedis();
  await inRedis(redis.url(), (client) => client.hset(`bull:${QUEUE}:meta`, 'opts.maxLenEvents', 10_000));
  return { address: redis.url(), close: () => redis.close() };
}

const table: string[][] = [];
for (const [title, [channel, make]] of Object.entries(MESSAGES)) {
  if (!channel.includes(values.only)) continue;
  if ((channel === 'amqp' ? rabbitMissing : redisMissing) !== null) continue;
  const sizes = values.megabytes?.split(',').map(Number) ?? SIZES[channel];
  for (const megabytes of sizes) {
    const message = make(megabytes * 1_000_000);
    const longest = { bare: Number.POSITIVE_INFINITY, monitor: Number.POSITIVE_INFINITY };
    // The shortest of several runs: the machine interrupts a turn, too.
    for (let run = 0; run < Number(values.runs); run += 1) {
      for (const role of ['bare', 'monitor'] as const) {
        const server = await start(channel);
        longest[role] = Math.min(longest[role], await measure(role, channel, server.address, message));
        await server.close();
      }
    }
    const row = [title, String(megabytes), longest.bare.toFixed(0), longest.monitor.toFixed(0)];
    console.error(row.join(' | '));
    table.push(row);
  }
}
printTable(
  'One message: the longest turn of the event loop, in ms',
  ['', 'MB', 'client alone', 'monitor'],
  table,
);
await rabbit?.close();
