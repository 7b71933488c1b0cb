/** Messages larger, or slower to read, than any that Celery sends: `npm run bench -- messages` shows what they cost. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { amqpPublisher } from '../helpers/amqp-events.ts';
import { componentOf, context, eventMessage, stateOf } from '../helpers/celery-events.ts';
import { rabbitMissing, sharedRabbit } from '../helpers/rabbitmq.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';
import { messageOf, openLab, queryOf, waiting } from './queues-lab.ts';

const KEYS = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, at]));

function failed(uuid: string, more: object = {}): object {
  const timestamp = Date.now() / 1000;
  const end = { exception: "ValueError('no')", traceback: 'Traceback' };
  return { type: 'task-failed', uuid, hostname: 'w1@alpha', timestamp, ...end, ...more };
}

/** Events that are dropped: each would hold the event loop. */
const DROPPED: Readonly<Record<string, object>> = {
  'of 5 MB': { traceback: 'x'.repeat(5_000_000) },
  'of 60,000 members': KEYS(60_000),
  'of a million figures': { x: Array.from({ length: 1_000_000 }, () => 1) },
  'of half a million quotes': { traceback: '"'.repeat(500_000) },
};

/** Whether the next event of a task is known, and how many were dropped by then. */
async function droppedBefore(
  sources: CelerySources,
  send: (event: object) => unknown,
): Promise<number | null> {
  await send(failed('next'));
  await until(async () => (await stateOf(sources, 'next')) === 'FAILURE');
  return (await sources.history.getHistoryStats(context)).dropped ?? null;
}

async function openSources(broker: string, backend?: string): Promise<CelerySources> {
  const sources = celerySources({ broker, ...(backend === undefined ? {} : { backend }), control: false });
  onTestFinished(() => sources.close());
  await until(() => sources.events.status?.().ok === true);
  return sources;
}

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'in Redis'), () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(() => redis?.close());

  async function publisher(): Promise<(channel: string, text: string) => Promise<unknown>> {
    const client = createClient({ url: redis.url() });
    await client.connect();
    onTestFinished(() => client.destroy());
    return (channel, text) => client.publish(channel, text);
  }

  async function open(): Promise<{ sources: CelerySources; send: (event: object) => Promise<unknown> }> {
    const publish = await publisher();
    const sources = await openSources(redis.url(), redis.url());
    return { sources, send: (event) => publish('/0.celeryev/task.multi', eventMessage(event)) };
  }

  it.each(Object.entries(DROPPED))('an event %s is dropped and counted', async (_, more) => {
    const { sources, send } = await open();
    await send([failed('large', more)]);
    expect(await droppedBefore(sources, send)).toBe(1);
    expect(await stateOf(sources, 'large')).toBeNull();
  });

  it('a message of 20 MB does not reach the client, whose connection stays', async () => {
    const publish = await publisher();
    const { sources, send } = await open();
    await publish('/0.celeryev/task.multi', eventMessage([failed('large')]).padEnd(20_000_000));
    expect(await droppedBefore(sources, send)).toBe(1);
    expect((await componentOf(sources, 'broker')).config.reconnects ?? 0).toBe(0);
  });

  it('of a long event, what is shown is read', async () => {
    const { sources, send } = await open();
    const more = { ...KEYS(5_000), name: 'shop.pay', traceback: 'line "1"\n'.repeat(30_000) };
    const own = { type: 'task-own', uuid: 'own', hostname: 'w1@alpha', ...more };
    await send([failed('short'), failed('long', more), own]);
    expect(await droppedBefore(sources, send)).toBe(0);
    const long = await sources.tasks.getTask('long', context);
    expect(long).toMatchObject({ state: 'FAILURE', name: 'shop.pay', exception: "ValueError('no')" });
    expect(long?.traceback).toMatch(/^line "1"\nline "1"/);
    const custom = await sources.tasks.getTask('own', context);
    expect(custom?.timeline?.at(-1)?.detail).toMatch(/^\{'key-0': 0, 'key-1': 1/);
  });

  it('of a published result that takes too long to read, the state is read', async () => {
    const publish = await publisher();
    const { sources, send } = await open();
    await send({ ...failed('known'), type: 'task-received' });
    const figures = Array.from({ length: 1_000_000 }, () => 1);
    const meta = { status: 'SUCCESS', result: figures, task_id: 'known' };
    const text = JSON.stringify(meta).replaceAll('":', '": ').replaceAll(',"', ', "');
    await publish('celery-task-meta-known', text);
    await until(async () => (await stateOf(sources, 'known')) === 'SUCCESS');
    const task = await sources.tasks.getTask('known', context);
    expect(task).toMatchObject({ result: null, truncated: ['result'] });
  });

  it('a message of a queue with 60,000 headers counts as unreadable', async () => {
    const client = createClient({ url: redis.url() });
    await client.connect();
    onTestFinished(() => client.destroy());
    const long = waiting('long', { ...KEYS(5_000), argsrepr: `(${'1, '.repeat(50_000)})` });
    await client.lPush('celery', [waiting('no', KEYS(60_000)), long, messageOf('plain')]);
    const lab = await openLab(redis.url());
    await until(async () => (await lab.unreadable()) === 1);
    const { tasks } = await lab.tasks.listTasks(queryOf({ states: ['PENDING'] }), context);
    expect(tasks.map(({ id }) => id).toSorted()).toEqual(['long', 'plain']);
  });
});

/** What no Redis replies. */
const REPLIES: Readonly<Record<string, string>> = {
  'a text of a terabyte': '$1099511627776\r\n',
  'a list of a billion items': '*1000000000\r\n',
  'lists in lists': '*1\r\n'.repeat(100),
  'a line without end': `+${'x'.repeat(100_000)}`,
};

describe('a peer that replies what no Redis does', () => {
  it.each(Object.entries(REPLIES))('%s: the connection ends', async (_, reply) => {
    const peer = await scriptedRedis((command) => (command === 'PING' ? reply : '+OK\r\n'));
    onTestFinished(() => peer.close());
    const sources = celerySources({ broker: peer.url, control: false });
    onTestFinished(() => sources.close());
    await until(async () =>
      /larger than any that this monitor reads/.test(
        String((await componentOf(sources, 'broker')).config.error),
      ),
    );
  });
});

describe.skipIf(rabbitMissing !== null)(titleUnless(rabbitMissing, 'in RabbitMQ'), () => {
  // RabbitMQ 4 takes messages of up to 16 MiB.
  it.each([...Object.entries(DROPPED), ['of 16 MB', { traceback: 'x'.repeat(16_000_000) }] as const])(
    'an event %s is dropped and counted',
    async (_, more) => {
      const rabbit = await sharedRabbit();
      const url = rabbit.url(await rabbit.createVirtualHost());
      const publisher = await amqpPublisher(url);
      onTestFinished(() => publisher.close());
      const sources = await openSources(url);
      const send = async (event: object): Promise<void> => {
        publisher.publish(event);
        await publisher.confirmed();
      };
      await send([failed('large', more)]);
      expect(await droppedBefore(sources, send)).toBe(1);
      expect(await stateOf(sources, 'large')).toBeNull();
    },
  );
});
