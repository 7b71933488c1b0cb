import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import type { EventsBody } from '../../src/wire.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { cursorOf, feed, follow } from '../helpers/bullmq-events.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { monitorRedis } from '../helpers/redis-monitor.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { serve } from '../router/host-kit.ts';
import { useSourceRedis } from './source-redis.ts';

const TIME = 1_790_000_000_000;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the feed'), () => {
  const on = useSourceRedis('q');

  /** How often Redis has run each command that reads a stream or a hash. */
  async function calls(...names: readonly string[]): Promise<number> {
    const stats = await on.redis.info('commandstats');
    return names.reduce(
      (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
      0,
    );
  }

  it('shows entries that hold anything, and takes no harm', async () => {
    const key = 'bull:q:events';
    const entries: readonly (readonly (string | Buffer)[])[] = [
      ['x', 'y'],
      ['event', ''],
      ['event', 'active'],
      ['event', 'active', 'jobId', ''],
      ['event', 'active', 'jobId', 'z'.repeat(100_000)],
      ['event', 'delayed', 'jobId', '1', 'delay', 'never'],
      ['event', 'delayed', 'jobId', '1', 'delay', '1e300'],
      ['event', 'failed', 'jobId', '1', 'failedReason', 'f'.repeat(3_000_000)],
      ['event', 'completed', 'jobId', '2', 'returnvalue', 'r'.repeat(3_000_000)],
      ['event', 'progress', 'jobId', '1', 'data', '{{{'],
      ['event', Buffer.from([0xff, 0xfe, 0]), 'jobId', Buffer.from([0xc3, 0x28])],
      ['event', '__proto__', 'jobId', '__proto__', '__proto__', 'polluted'],
      ['event', 'constructor', 'jobId', 'toString'],
      ['event', 'cleaned', 'count', '7'],
      ['event', 'waiting', 'jobId', '1', 'prev', '\u202e<script>'],
      ['event', 'job went home', 'jobId', '1', 'password', 'canary', 'to', 'ann'],
    ];
    for (const [at, entry] of entries.entries()) await on.redis.xadd(key, `${TIME + at}-0`, ...entry);
    await on.redis.xadd(key, '18446744073709551614-1', 'event', 'active', 'jobId', '9');
    await on.redis.set('bull:q:1', 'no hash');
    const { events, cursor } = await feed(on.sources);
    expect(events.length).toBe(entries.length + 1);
    expect(JSON.stringify(events).length).toBeLessThan(30_000);
    expect(events[0]).toMatchObject({ type: 'task-started', taskId: 'q:9', timestamp: null });
    expect(events[1]).toMatchObject({ type: 'job went home', detail: '{"password":"***","to":"ann"}' });
    const other = bullmqSources({ connection: on.server.url() });
    expect((await follow(other, { time: new Date(0) }, { limit: 2 })).events).toEqual(events.toReversed());
    expect(await feed(other, { since: { cursor } })).toEqual({ events: [], cursor, gap: false });
    other.close();
    expect(Object.prototype).not.toHaveProperty('polluted');
    const { get } = await serve(EXPRESS, { sources: on.sources });
    const { status, text } = await get('/api/events/latest/');
    expect([status, text.includes('canary'), text.includes('ann')]).toEqual([200, false, true]);
  });

  it('is no worse for cursors and streams that are none', async () => {
    await on.redis.xadd('bull:q:events', `${TIME}-0`, 'event', 'active', 'jobId', '1');
    await on.redis.hset('bull:r:meta', 'version', 'x');
    await on.redis.set('bull:r:events', 'no stream');
    const large = '99999999999999999999';
    const cursor = await cursorOf(on.sources);
    const key = /^feed1\[\d+,"(.{9})/.exec(cursor)?.[1];
    expect(key, cursor).toBeDefined();
    const late = `feed1[${large},""]`;
    for (const cursor of [
      '',
      'x',
      large,
      late,
      'feed1[]',
      'feed1[0,""',
      'feed1[1.5,""]',
      `feed1[0,"${key}${large}-0"]`,
      `feed1[0,"${key}0-0"]`,
      `feed1[1,"${'x'.repeat(50)}"]`,
      'feed1[-1,""]',
      `feed1[${large},","]`,
    ]) {
      const { gap } = await feed(on.sources, { since: { cursor } });
      expect([cursor, gap]).toEqual([cursor, cursor !== late]);
    }
    expect((await feed(on.sources)).events.length).toBe(1);
    expect(on.sources.events.status?.().ok).toBe(true);
  });

  it('reads large entries a few at a time, and does not read the last one again and again', async () => {
    for (let at = 0; at < 60; at += 1) {
      const value = 'v'.repeat(at < 30 ? 10 : 500_000);
      await on.redis.xadd(
        'bull:q:events',
        `${TIME + at}-0`,
        'event',
        'completed',
        'jobId',
        '1',
        'returnvalue',
        value,
      );
    }
    const { cursor } = await feed(on.sources, { limit: 60 });
    let looks = 0;
    const end = await monitorRedis(Number(on.redis.options.port), (command) => {
      if (command.startsWith('x')) looks += 1;
    });
    const lookAgain = async (): Promise<void> => {
      const before = looks;
      await until(async () => {
        await feed(on.sources, { since: { cursor } });
        return looks > before;
      });
    };
    await lookAgain();
    const out = async (): Promise<number> =>
      Number(/total_net_output_bytes:(\d+)/.exec(await on.redis.info('stats'))?.[1]);
    const before = await out();
    for (let round = 0; round < 3; round += 1) await lookAgain();
    expect((await out()) - before).toBeLessThan(200_000);
    end();
  });

  it('costs one command a second and queue while nothing happens, however many ask', async () => {
    await on.redis.hset('bull:r:meta', 'version', 'x');
    for (const queue of ['q', 'r']) {
      for (let at = 0; at < 20; at += 1) {
        await on.redis.xadd(`bull:${queue}:events`, `${TIME + at}-0`, 'event', 'active', 'jobId', '1');
      }
    }
    const host = await serve(EXPRESS, { sources: on.sources });
    const { cursor } = (await host.get<EventsBody>('/api/events/latest/')).body;
    const streams = await Promise.all(
      ['', '?state=STARTED', '?limit=7', '?task=none'].map((query) =>
        askStream<EventsBody>(host.base, `/api/events/latest/${query}`),
      ),
    );
    const names = ['xrange', 'xrevrange', 'xinfo|stream', 'hmget', 'exists'];
    const began = performance.now();
    const before = await calls(...names);
    // Three looks at both queues.
    await until(async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => host.get(`/api/events/latest/?since=${cursor}&limit=${n + 1}`)),
      );
      return (await calls(...names)) - before >= 6;
    });
    const seconds = (performance.now() - began) / 1_000;
    expect((await calls(...names)) - before).toBeLessThanOrEqual(2 * Math.ceil(seconds + 1));
    // All of them hear of what happens.
    await on.redis.hset('bull:q:5', 'name', 'none', 'timestamp', '1');
    await on.redis.xadd('bull:q:events', '*', 'event', 'active', 'jobId', '5');
    await until(() => streams.every(({ messages }) => messages.at(-1)?.body.events[0]?.task_id === 'q:5'));
    for (const stream of streams) stream.close();
  });

  it('reaches what a filter asks for behind more than one answer looks at, in a stream, too', async () => {
    await on.redis.xadd('bull:q:events', `${TIME}-0`, 'event', 'active', 'jobId', '1');
    const cursor = await cursorOf(on.sources);
    const line = on.redis.pipeline();
    for (let at = 1; at < 21_000; at += 1) {
      line.xadd('bull:q:events', `${TIME + at}-0`, 'event', 'active', 'jobId', '1');
    }
    line.xadd('bull:q:events', `${TIME + 21_000}-0`, 'event', 'completed', 'jobId', '1');
    await line.exec();
    // What was looked at within the last second is not looked at again.
    let found = await follow(on.sources, { cursor }, { states: ['SUCCESS'] });
    await until(async () => {
      if (found.events.length === 0) found = await follow(on.sources, { cursor }, { states: ['SUCCESS'] });
      return found.events.length > 0;
    });
    expect([found.events.map(({ taskId }) => taskId), found.gaps]).toEqual([['q:1'], 0]);
    const { base, get } = await serve(EXPRESS, { sources: on.sources });
    const { body } = await get<EventsBody>('/api/events/latest/?since=1000&limit=1');
    const stream = await askStream<EventsBody>(
      base,
      `/api/events/latest/?state=SUCCESS&since=${body.cursor}`,
    );
    await until(() =>
      stream.messages.some(
        ({
          body: {
            events: [first],
          },
        }) => first?.task_id === 'q:1',
      ),
    );
    stream.close();
  });

  it('says that it is away, and goes on behind its cursor when it is back', async () => {
    await on.redis.xadd('bull:q:events', `${TIME}-0`, 'event', 'active', 'jobId', '1');
    const cursor = await cursorOf(on.sources);
    await on.server.kill();
    await until(
      async () =>
        (await feed(on.sources).then(
          () => true,
          () => false,
        )) === false,
    );
    expect(on.sources.events.status?.()).toMatchObject({ ok: false, error: 'source_unavailable' });
    await on.server.start();
    await until(() => on.redis.status === 'ready');
    await on.redis.hset('bull:q:meta', 'version', 'x');
    await until(() => on.sources.events.status?.().ok === true);
    await on.redis.xadd('bull:q:events', `${TIME + 5}-0`, 'event', 'active', 'jobId', '2');
    await until(async () => (await feed(on.sources, { since: { cursor } })).events.length === 1);
    expect((await feed(on.sources, { since: { cursor } })).gap).toBe(true);
  });
});
