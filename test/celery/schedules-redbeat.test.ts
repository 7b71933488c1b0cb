import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import type { RedisReader } from '../../src/redis/reader.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedbeatReader } from '../../src/sources/celery/brokers/redis/redbeat-reader.ts';
import { redbeatKeys } from '../../src/sources/celery/schedules/redbeat-settings.ts';
import { redbeatSchedule } from '../../src/sources/celery/schedules/rows.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';

interface RecordedKey {
  readonly label: string;
  readonly key: string;
  readonly type: string;
  readonly ttl_ms: number;
  readonly value: unknown;
}

const FILE = new URL('./recordings/redbeat-A.jsonl.gz', import.meta.url);
const recorded = gunzipSync(readFileSync(FILE))
  .toString('utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as RecordedKey);

const KEYS = redbeatKeys({});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what redbeat keeps in Redis'), () => {
  let redis: RedisServer;
  let reader: RedisReader;
  let writer: ReturnType<typeof createClient>;

  beforeAll(async () => {
    redis = await startRedis();
    writer = createClient({ url: redis.url() });
    await writer.connect();
  });
  beforeEach(async () => {
    await writer.flushAll();
    reader = createRedisReader('redbeat', brokerEndpoint(redis.url(), {}));
  });
  afterEach(() => reader.close());
  afterAll(async () => {
    writer?.destroy();
    await redis?.close();
  });

  async function play(label: string): Promise<void> {
    for (const { key, type, value, ttl_ms } of recorded.filter((line) => line.label === label)) {
      if (type === 'string') await writer.set(key, value as string, { PX: ttl_ms });
      else if (type === 'set') await writer.sAdd(key, value as string[]);
      else if (type === 'hash') await writer.hSet(key, value as Record<string, string>);
      else {
        const pairs = value as [string, number][];
        await writer.zAdd(
          key,
          pairs.map(([member, score]) => ({ value: member, score })),
        );
      }
    }
  }

  function write(name: string, definition: string, score: number, meta?: string): Promise<unknown> {
    const hash = meta === undefined ? { definition } : { definition, meta };
    return Promise.all([
      writer.hSet(`redbeat:${name}`, hash),
      writer.zAdd(KEYS.schedule, { value: `redbeat:${name}`, score }),
    ]);
  }

  it('is read as recorded: intervals, crontabs, rules, disabled and finished ones', async () => {
    await play('redbeat-running');
    const snapshot = await createRedbeatReader(reader, KEYS).read();
    expect(snapshot).toMatchObject({ total: 7, unreadable: 0 });
    expect(snapshot.lockMs).toBeGreaterThan(50_000);
    const at = (seconds: number) => new Date(seconds * 1000);
    expect(snapshot.entries.map(({ schedule }) => schedule)).toEqual([
      {
        id: 'redbeat:dyn-disabled',
        app: null,
        name: 'dyn-disabled',
        task: 'lab.tick',
        schedule: 'every 1 s',
        enabled: false,
        args: "('off',)",
        kwargs: '{}',
        queue: null,
        lastRunAt: null,
        nextRunAt: null,
        totalRunCount: 0,
      },
      expect.objectContaining({
        name: 'every-2s',
        schedule: 'every 2 s',
        enabled: true,
        args: "('interval',)",
        lastRunAt: new Date('2026-11-21T02:50:40.475Z'),
        nextRunAt: at(1_795_229_442),
        totalRunCount: 7,
      }),
      expect.objectContaining({
        name: 'dyn-rrule',
        schedule: 'every 5 s, byhour 1,2,3 (rrule)',
        lastRunAt: new Date('2026-11-21T02:50:39.023Z'),
        nextRunAt: at(1_795_229_443),
        totalRunCount: 2,
      }),
      expect.objectContaining({
        name: 'cron-minute',
        schedule: '* * * * * (m/h/dM/MY/d)',
        lastRunAt: null,
        nextRunAt: at(1_795_229_459),
        totalRunCount: 0,
      }),
      expect.objectContaining({
        name: 'dyn-relative',
        schedule: 'every 10 min (relative)',
        nextRunAt: at(1_795_229_999),
      }),
      expect.objectContaining({
        name: 'nightly-mon-fri',
        schedule: '30 2 * * mon-fri (m/h/dM/MY/d)',
        args: '()',
        kwargs: "{'kind': 'nightly'}",
        nextRunAt: at(1_795_400_999),
      }),
      expect.objectContaining({
        name: 'dyn-rrule-finished',
        schedule: 'every 1 d, count 3 (rrule)',
        enabled: true,
        nextRunAt: null,
      }),
    ]);
  });

  it('runs next when its rule says so, which redbeat notes only roughly', async () => {
    await play('redbeat-running');
    // As a restart of beat leaves it.
    await writer.zAdd(KEYS.schedule, { value: 'redbeat:nightly-mon-fri', score: 1_795_229_400 });
    const { entries } = await createRedbeatReader(reader, KEYS).read();
    const next = entries.map((entry) => {
      const { name, nextRunAt } = redbeatSchedule(entry, 'UTC');
      return [name, nextRunAt?.toISOString() ?? null];
    });
    expect(Object.fromEntries(next)).toEqual({
      'every-2s': '2026-11-21T02:50:42.475Z',
      'cron-minute': '2026-11-21T02:51:00.000Z',
      'nightly-mon-fri': '2026-11-23T02:30:00.000Z',
      'dyn-relative': '2026-11-21T03:00:00.000Z',
      'dyn-rrule': '2026-11-21T02:50:43.000Z',
      'dyn-rrule-finished': null,
      'dyn-disabled': null,
    });
    const nightly = entries.find(({ schedule }) => schedule.name === 'nightly-mon-fri');
    if (nightly === undefined) throw new Error('The entry is missing.');
    const shown = [redbeatSchedule(nightly, 'Asia/Tokyo'), redbeatSchedule(nightly, null)];
    expect(shown.map(({ nextRunAt }) => nextRunAt?.toISOString())).toEqual([
      '2026-11-22T17:30:00.000Z',
      // Without a zone, what redbeat has noted is all that is known.
      '2026-11-21T02:50:00.000Z',
    ]);
  });

  it('tells that the beat has stopped, by a lock that is gone', async () => {
    await play('redbeat-stopped');
    expect(await createRedbeatReader(reader, KEYS).read()).toMatchObject({ total: 7, lockMs: null });
  });

  it('is empty where redbeat is not used', async () => {
    expect(await createRedbeatReader(reader, KEYS).read()).toEqual({
      entries: [],
      total: 0,
      unreadable: 0,
      lockMs: null,
    });
  });

  it('leaves out and counts what cannot be read', async () => {
    const good =
      '{"name": "good", "task": "t", "schedule": {"__type__": "interval", "every": 5}, "args": [NaN]}';
    await write('good', good, 1);
    await write('broken', '{"name": "broken", ', 2);
    await write('list', '[1, 2]', 3);
    await write('broken-meta', good, 4, '{oops');
    await write('huge', `{"name": "${'x'.repeat(200_000)}"}`, 5);
    await writer.set('redbeat:other-type', 'text');
    await writer.zAdd(KEYS.schedule, [
      { value: 'redbeat:other-type', score: 6 },
      { value: 'redbeat:gone', score: 7 },
    ]);
    await write(
      'hostile',
      '{"name": "hostile", "__proto__": {"task": "x"}, "schedule": {"minute": {"toString": 1}}}',
      8,
    );
    const snapshot = await createRedbeatReader(reader, KEYS).read();
    expect(snapshot).toMatchObject({ total: 8, unreadable: 6 });
    expect(snapshot.entries.map(({ schedule }) => [schedule.name, schedule.args, schedule.task])).toEqual([
      ['good', '(nan,)', 't'],
      ['hostile', '()', null],
    ]);
  });

  it('is read up to a bound, what is due next first, with no slow command', async () => {
    const definition = JSON.stringify({ task: 't', schedule: { __type__: 'interval', every: 5 } });
    const names = Array.from({ length: 6000 }, (_, index) => index);
    await Promise.all(names.map((index) => write(String(index), definition, index % 10 === 0 ? -1 : index)));
    await writer.configSet('slowlog-log-slower-than', '100000');
    await writer.sendCommand(['SLOWLOG', 'RESET']);
    const snapshot = await createRedbeatReader(reader, KEYS).read();
    expect(snapshot).toMatchObject({ total: 6000, unreadable: 0 });
    expect(snapshot.entries).toHaveLength(5000);
    expect(snapshot.entries[0]?.schedule.name).toBe('1');
    expect(snapshot.entries.every(({ schedule }) => schedule.nextRunAt !== null)).toBe(true);
    expect(await writer.sendCommand(['SLOWLOG', 'LEN'])).toBe(0);
  });

  it('is read again where it has changed, and by and by where nothing says so', async () => {
    const definition = (task: string) =>
      JSON.stringify({ task, schedule: { __type__: 'interval', every: 5 } });
    const names = Array.from({ length: 1200 }, (_, index) => String(index));
    await Promise.all(names.map((name) => write(name, definition('old'), Number(name))));
    const redbeat = createRedbeatReader(reader, KEYS);
    await redbeat.read();
    await Promise.all(names.map((name) => writer.hSet(`redbeat:${name}`, 'definition', definition('new'))));
    await writer.zAdd(KEYS.schedule, { value: 'redbeat:1100', score: 5000 });
    await writer.zRem(KEYS.schedule, 'redbeat:1101');
    const news: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { entries } = await redbeat.read();
      expect(entries).toHaveLength(1199);
      expect(entries.at(-1)?.schedule).toMatchObject({ name: '1100', task: 'new' });
      news.push(entries.filter(({ schedule }) => schedule.task === 'new').length);
    }
    expect(news).toEqual([501, 1001, 1199]);
  });

  it('is under the prefix and the lock that the settings name', async () => {
    const keys = redbeatKeys({ redbeat_key_prefix: 'shop-', redbeat_lock_key: 'lock' });
    expect(keys).toEqual({ prefix: 'shop-', schedule: 'shop-:schedule', locks: ['shop-lock', 'lock'] });
    await writer.set('shop-lock', 'x', { PX: 60_000 });
    expect((await createRedbeatReader(reader, keys).read()).lockMs).toBeGreaterThan(50_000);
    expect(redbeatKeys({ redbeat_lock_key: null }).locks).toEqual([]);
  });
});
