/** What redbeat keeps in a real Redis, as the source lists it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type CelerySettings,
  type CelerySources,
  type CelerySourcesOptions,
  celerySources,
} from '../../src/celery.ts';
import type { Schedule } from '../../src/model.ts';
import { componentOf, context, eventMessage } from '../helpers/celery-events.ts';
import { readLines } from '../helpers/celery-recordings.ts';
import { createClient } from '../helpers/redis-client.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

interface RecordedKey {
  readonly label: string;
  readonly key: string;
  readonly type: string;
  readonly ttl_ms: number;
  readonly value: unknown;
}

const recorded = readLines<RecordedKey>('redbeat-A.jsonl');
const EVERY = { __type__: 'interval', every: 30, relative: false };
const MOMENT = { __type__: 'datetime', year: 2026, month: 7, day: 1, hour: 12, minute: 0, second: 0 };

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the schedule of redbeat'), () => {
  let redis: RedisServer;
  let writer: ReturnType<typeof createClient>;
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    writer = createClient({ url: redis.url() });
    writer.on('error', () => {});
    await writer.connect();
  });
  beforeEach(() => writer.flushAll());
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  afterAll(async () => {
    writer?.destroy();
    await redis?.close();
  });

  function open(settings: CelerySettings = {}, options: CelerySourcesOptions = {}): CelerySources {
    const sources = celerySources({ broker: redis.url(), control: false, settings, ...options });
    ends.push(() => sources.close());
    return sources;
  }

  /** What a source shows that was opened just now. */
  const list = async (sources = open()) => await sources.schedules.listSchedules(context);
  const beat = (sources = open()) => componentOf(sources, 'beat');

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

  /** Stores an entry: its definition as text, or what to write in it. */
  function store(name: string, definition: object | string, score = 1_800_000_000, meta?: object | string) {
    const textOf = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value));
    const whole =
      typeof definition === 'string' ? definition : { name, task: 'report', enabled: true, ...definition };
    const hash = { definition: textOf(whole), ...(meta === undefined ? {} : { meta: textOf(meta) }) };
    return Promise.all([
      writer.hSet(`redbeat:${name}`, hash),
      writer.zAdd('redbeat::schedule', { value: `redbeat:${name}`, score }),
    ]);
  }

  /** Stores so many entries, each under its number. */
  async function storeMany(count: number, scoreOf: (at: number) => number): Promise<void> {
    const definition = JSON.stringify({ task: 'old', enabled: true, schedule: EVERY });
    const numbers = Array.from({ length: count }, (_, at) => at);
    await Promise.all(numbers.map((at) => writer.hSet(`redbeat:${at}`, { definition })));
    await writer.zAdd(
      'redbeat::schedule',
      numbers.map((at) => ({ value: `redbeat:${at}`, score: scoreOf(at) })),
    );
  }

  const nextOf = (rows: readonly Schedule[] | null) =>
    Object.fromEntries((rows ?? []).map(({ name, nextRunAt }) => [name, nextRunAt?.toISOString() ?? null]));

  it('is listed as recorded: intervals, crontabs, rules, disabled and finished ones', async () => {
    await play('redbeat-running');
    // As a restart of beat leaves it: redbeat notes only roughly when an entry runs next.
    await writer.zAdd('redbeat::schedule', { value: 'redbeat:nightly-mon-fri', score: 1_795_229_400 });
    const sources = open();
    const rows = await list(sources);
    expect(
      rows?.map(({ name, schedule, enabled, args, kwargs }) => [name, schedule, enabled, args, kwargs]),
    ).toEqual([
      ['cron-minute', '* * * * * (m/h/dM/MY/d)', true, expect.any(String), '{}'],
      ['dyn-disabled', 'every 1 s', false, "('off',)", '{}'],
      ['dyn-relative', 'every 10 min (relative)', true, expect.any(String), '{}'],
      ['dyn-rrule', 'every 5 s, byhour 1,2,3 (rrule)', true, expect.any(String), '{}'],
      ['dyn-rrule-finished', 'every 1 d, count 3 (rrule)', true, expect.any(String), '{}'],
      ['every-2s', 'every 2 s', true, "('interval',)", '{}'],
      ['nightly-mon-fri', '30 2 * * mon-fri (m/h/dM/MY/d)', true, '()', "{'kind': 'nightly'}"],
    ]);
    expect(rows?.find(({ name }) => name === 'dyn-disabled')).toMatchObject({
      ...{
        id: 'redbeat:dyn-disabled',
        app: null,
        task: 'lab.tick',
        queue: null,
        lastRunAt: null,
        totalRunCount: 0,
      },
    });
    expect(rows?.find(({ name }) => name === 'every-2s')).toMatchObject({
      ...{ lastRunAt: new Date('2026-11-21T02:50:40.475Z'), totalRunCount: 7 },
    });
    expect(nextOf(rows)).toEqual({
      'every-2s': '2026-11-21T02:50:42.475Z',
      'cron-minute': '2026-11-21T02:51:00.000Z',
      'nightly-mon-fri': '2026-11-23T02:30:00.000Z',
      'dyn-relative': '2026-11-21T03:00:00.000Z',
      'dyn-rrule': '2026-11-21T02:50:43.000Z',
      'dyn-rrule-finished': null,
      'dyn-disabled': null,
    });
    expect((await beat(sources)).config).toMatchObject({ scheduler: 'redbeat', entries: 7, unreadable: 0 });
  });

  it('is read in the zone that redbeat writes in, rather than one that is only the default', async () => {
    await store('daily', { schedule: { minute: 0, hour: 7 } }, 1, {
      last_run_at: { ...MOMENT, timezone: 'Europe/Prague' },
    });
    await store('own', { schedule: { minute: 0, timezone: 'Asia/Tokyo' } });
    expect(await list()).toMatchObject([
      { name: 'daily', timezone: 'Europe/Prague' },
      { name: 'own', timezone: 'Asia/Tokyo' },
    ]);
    await store('daily', { schedule: { minute: 0, hour: 7 } }, 1, {
      last_run_at: { ...MOMENT, timezone: 3600 },
    });
    // Without a zone, what redbeat has noted is all that is known.
    expect(await list()).toMatchObject([
      { name: 'daily', timezone: null, nextRunAt: new Date(1_000) },
      { name: 'own', timezone: 'Asia/Tokyo' },
    ]);
  });

  it('shows when entries ran, in the zone that each names, or at an offset in seconds', async () => {
    const rows: [zone: unknown, ran: string | null][] = [
      ['Europe/Prague', '2026-07-01T10:00:00.000Z'],
      [19_800, '2026-07-01T06:30:00.000Z'],
      [-18_000, '2026-07-01T17:00:00.000Z'],
      [0, '2026-07-01T12:00:00.000Z'],
      ['Mars/Base', null],
      [1e300, null],
    ];
    for (const [at, [timezone]] of rows.entries()) {
      const last_run_at = { ...MOMENT, microsecond: 5, timezone };
      await store(`z${at}`, { schedule: EVERY }, 1, { last_run_at, total_run_count: 3 });
    }
    const shown = (await list())?.map(({ lastRunAt }) => lastRunAt?.toISOString() ?? null);
    expect(shown).toEqual(rows.map(([, ran]) => ran));
  });

  it('has entries that never ran, and others that are due at no moment', async () => {
    const never = ['{}', { last_run_at: null }, { last_run_at: { year: 2026, month: 1, day: 1 } }];
    for (const [at, meta] of never.entries()) await store(`a${at}`, { schedule: EVERY }, 1, meta);
    for (const score of ['-1', 'inf', '-inf']) {
      await store(`b${score}`, { schedule: EVERY });
      await writer.sendCommand(['ZADD', 'redbeat::schedule', score, `redbeat:b${score}`]);
    }
    const rows = (await list()) ?? [];
    expect(rows.slice(0, 3)).toMatchObject(never.map(() => ({ lastRunAt: null, totalRunCount: 0 })));
    expect(rows.slice(3).map(({ nextRunAt }) => nextRunAt)).toEqual([null, null, null]);
  });

  it('leaves out and counts what cannot be read', async () => {
    const good =
      '{"name": "good", "task": "t", "schedule": {"__type__": "interval", "every": 5}, "args": [NaN]}';
    const proto = '{"name": "hostile", "__proto__": {"task": "x"}, "schedule": {"minute": {"toString": 1}}}';
    await store('good', good);
    await store('hostile', proto);
    await store('broken', '{"name": "broken", ');
    await store('list', '[1, 2]');
    await store('huge', `{"name": "${'x'.repeat(200_000)}"}`);
    for (const meta of ['{oops', '[]', '5', '{"last_run_at": NaN}'])
      await store(`meta ${meta}`, good, 1, meta);
    await writer.set('redbeat:other-type', 'text');
    for (const value of ['redbeat:other-type', 'redbeat:gone']) {
      await writer.zAdd('redbeat::schedule', { value, score: 6 });
    }
    const sources = open();
    expect((await list(sources))?.map(({ name, args, task }) => [name, args, task])).toEqual([
      ['good', '(nan,)', 't'],
      ['hostile', '()', null],
    ]);
    expect((await beat(sources)).config).toMatchObject({ entries: 11, unreadable: 9 });
  });

  it('is read up to a bound, what is due next first, with no slow command, and once for all who ask', async () => {
    await storeMany(5500, (at) => (at % 20 === 0 ? -1 : at));
    await writer.configSet('slowlog-log-slower-than', '100000');
    for (const command of [
      ['SLOWLOG', 'RESET'],
      ['CONFIG', 'RESETSTAT'],
    ])
      await writer.sendCommand(command);
    const sources = open();
    const [rows] = await Promise.all(Array.from({ length: 20 }, () => list(sources)));
    expect(rows).toHaveLength(5000);
    expect(rows?.every(({ nextRunAt }) => nextRunAt !== null)).toBe(true);
    expect((await beat(sources)).config).toMatchObject({ entries: 5500, unreadable: 0 });
    expect(await writer.sendCommand(['SLOWLOG', 'LEN'])).toBe(0);
    const stats = String(await writer.sendCommand(['INFO', 'commandstats']));
    expect(Number(/cmdstat_zcard:calls=(\d+)/.exec(stats)?.[1])).toBeLessThan(50);
  });

  it('is read again where it has changed, and by and by where nothing says so', async () => {
    await storeMany(1200, (at) => at + 1);
    const sources = open();
    expect(await list(sources)).toHaveLength(1200);
    const definition = JSON.stringify({ task: 'new', schedule: EVERY });
    const written = Array.from({ length: 1200 }, (_, at) => writer.hSet(`redbeat:${at}`, { definition }));
    await Promise.all(written);
    await writer.zRem('redbeat::schedule', 'redbeat:1101');
    await until(async () => {
      const rows = await list(sources);
      return rows?.length === 1199 && rows.every(({ task }) => task === 'new');
    });
  });

  it('is under the prefix and the lock that the settings name', async () => {
    const definition = JSON.stringify({ name: 'ours', task: 't', schedule: EVERY });
    await writer.hSet('shop-ours', { definition });
    await writer.zAdd('shop-:schedule', { value: 'shop-ours', score: 1_800_000_000 });
    await writer.set('shop-lock', 'x', { PX: 1_450_000 });
    const sources = open({ redbeat_key_prefix: 'shop-', redbeat_lock_key: 'lock' });
    expect((await list(sources))?.map(({ name }) => name)).toEqual(['ours']);
    expect(await beat(sources)).toMatchObject({ status: 'up' });
  });

  it('has beside it what it does not hold, and says how old the lock is', async () => {
    await store('daily', { schedule: EVERY });
    await writer.set('redbeat::lock', 'x', { PX: 1_450_000 });
    const beat_schedule = {
      daily: { task: 'report', schedule: 60 },
      sun: { task: 'dusk', schedule: '0 7 * * *' },
    };
    const sources = open({ beat_schedule, timezone: 'Asia/Tokyo', redbeat_redis_url: redis.url() });
    expect(await list(sources)).toMatchObject([
      { id: 'redbeat:daily', schedule: 'every 30 s', enabled: true, timezone: 'Asia/Tokyo' },
      { id: 'sun', enabled: null, nextRunAt: null },
    ]);
    const component = await beat(sources);
    expect(component).toMatchObject({
      status: 'up',
      config: { scheduler: 'redbeat', entries: 1, unreadable: 0, timezone: 'Asia/Tokyo', hints: [] },
    });
    const age = Number(component.config.lock_age_seconds);
    expect(age >= 49 && age < 600).toBe(true);
  });

  it('says that redbeat has stopped: no lock, or one that is not renewed', async () => {
    await play('redbeat-stopped');
    expect(await beat(open({ redbeat_lock_timeout: 1500 }))).toMatchObject({
      config: { lock_age_seconds: null },
    });
    await writer.flushAll();
    await store('daily', { schedule: EVERY });
    const timeout = { redbeat_lock_timeout: 1500 };
    expect(await beat(open(timeout))).toMatchObject({ status: 'down', config: { lock_age_seconds: null } });
    await writer.set('redbeat::lock', 'x', { PX: 1_000_000 });
    expect(await beat(open(timeout))).toMatchObject({ status: 'down' });
    // The lock holds five times as long as beat pauses at most.
    expect(await beat(open({ redbeat_redis_url: redis.url() }))).toMatchObject({ status: 'down' });
    expect(await beat(open({ beat_max_loop_interval: 200 }))).toMatchObject({ status: 'up' });
    // Nobody says how long the lock holds.
    expect(await beat()).toMatchObject({
      status: 'up',
      config: { lock_age_seconds: null, hints: [expect.stringContaining('redbeat_lock_timeout')] },
    });
    await store('late', { schedule: EVERY }, Date.now() / 1000 - 1000);
    expect(await beat()).toMatchObject({ status: 'unknown' });
    expect(await beat(open({ redbeat_lock_key: null }))).toMatchObject({ status: 'unknown' });
  });

  it('has runs: the tasks that only one entry has', async () => {
    await store('often', { schedule: EVERY, args: [1, 'x'], options: { queue: 'slow' } });
    await store('off', { task: 'old', schedule: EVERY, enabled: false });
    await store('shown', { task: 'hidden', schedule: EVERY, args: ['raw'], options: { argsrepr: '(...)' } });
    const sources = open({ timezone: 'UTC' });
    await until(() => sources.tasks.status?.().ok === true);
    await list(sources);
    const start = Date.now() - 600_000;
    async function send(uuid: string, name: string, after: number, args = '()'): Promise<void> {
      const event = { type: 'task-sent', uuid, name, args, kwargs: '{}', queue: 'slow', retries: 0 };
      const timestamp = (start + after * 1000) / 1000;
      await writer.publish(
        '/0.celeryev/task.sent',
        eventMessage({ ...event, timestamp, hostname: 'gen1@vm', pid: 9 }),
      );
    }
    for (const at of [0, 1, 2]) await send(`often ${at}`, 'report', 30 * at, "(1, 'x')");
    await send('a client', 'report', 75, "(1, 'x')");
    await send('other arguments', 'report', 90, "(2, 'x')");
    for (const at of [0, 1]) {
      await send(`off ${at}`, 'old', 30 * at);
      await send(`shown ${at}`, 'hidden', 30 * at, '(...)');
    }
    const runsOf = async () =>
      Object.fromEntries(
        ((await list(sources)) ?? []).map(({ name, lastRuns }) => [
          name,
          lastRuns?.map(({ taskId }) => taskId) ?? null,
        ]),
      );
    await until(async () => (await runsOf()).shown?.length === 2);
    expect(await runsOf()).toEqual({
      often: ['a client', 'often 2', 'often 1', 'often 0'],
      shown: ['shown 1', 'shown 0'],
      off: null,
    });
  });

  it('is not there where redbeat is not used', async () => {
    const sources = open();
    expect(await list(sources)).toBe(null);
    expect(await beat(sources)).toMatchObject({ status: 'disabled' });
    expect(sources.schedules.status?.()).toMatchObject({ ok: true });
  });

  it('does not hide the static one where the Redis user may not read it', async () => {
    const allowed = ['+ping', '+client', '+select', '+info', '+psubscribe', '+subscribe'];
    await writer.sendCommand(['ACL', 'SETUSER', 'mon', 'reset', 'on', '>pw', 'allchannels', ...allowed]);
    const broker = `redis://mon:pw@127.0.0.1:${redis.port}/0`;
    const plain = open({}, { broker });
    expect(await list(plain)).toBe(null);
    expect(plain.schedules.status?.()).toMatchObject({ ok: true });
    const named = open({ redbeat_lock_timeout: 60 }, { broker });
    await expect(list(named)).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(await beat(named)).toMatchObject({ status: 'unknown' });
    const fixed = open({ beat_schedule: { daily: { task: 'report', schedule: 30 } } }, { broker });
    expect(await list(fixed)).toMatchObject([{ id: 'daily', lastRunAt: null }]);
  });

  it('stays as it was while Redis is away, and says so', async () => {
    await store('daily', { schedule: EVERY });
    const sources = open();
    expect(await list(sources)).toHaveLength(1);
    await redis.kill();
    try {
      await until(async () => {
        expect(await list(sources)).toHaveLength(1);
        return sources.schedules.status?.().ok === false;
      });
      const status = { error: 'source_unavailable', asOf: expect.any(Date) };
      expect(sources.schedules.status?.()).toMatchObject(status);
      expect(await beat(sources)).toMatchObject({ status: 'unknown' });
      await expect(list(open())).rejects.toMatchObject({ code: 'source_unavailable' });
    } finally {
      await redis.start();
    }
    await until(async () => {
      await beat(sources);
      return sources.schedules.status?.().ok === true;
    });
    expect(await list(sources)).toBe(null);
  });

  describe('is found', () => {
    /** Fills one database with the schedule of a redbeat that runs. */
    async function fill(database: number): Promise<void> {
      const client = createClient({ url: redis.url(database) });
      await client.connect();
      const definition = JSON.stringify({ name: 'daily', task: 'report', schedule: EVERY });
      await client.hSet('redbeat:daily', 'definition', definition);
      await client.zAdd('redbeat::schedule', { value: 'redbeat:daily', score: 1_800_000_000 });
      await client.set('redbeat::lock', 'x', { PX: 1_450_000 });
      client.destroy();
    }
    const idsOf = async (sources: CelerySources) => (await list(sources))?.map(({ id }) => id) ?? null;

    it('in redbeat_redis_url when the broker is not Redis, and nowhere where nothing names it', async () => {
      await fill(5);
      const options = { broker: 'amqp://shop', backend: redis.url(1) };
      const sources = open({ redbeat_redis_url: redis.url(5) }, options);
      expect(await idsOf(sources)).toEqual(['redbeat:daily']);
      expect(await beat(sources)).toMatchObject({ status: 'up', config: { entries: 1 } });
      const none = open({}, options);
      expect(await idsOf(none)).toBe(null);
      expect(await beat(none)).toMatchObject({ status: 'disabled', config: { hints: [] } });
    });

    it('behind Sentinels', async () => {
      await fill(4);
      const sentinel = await startSentinel(redis.port);
      ends.push(() => sentinel.close());
      const sentinels = [['127.0.0.1', sentinel.port], 'nonsense', ['127.0.0.1', 1]];
      const sources = open({
        redbeat_redis_url: 'redis-sentinel://sentinel:26379/0',
        redbeat_redis_options: { sentinels, service_name: 'shop', db: 4 },
      });
      expect(await idsOf(sources)).toEqual(['redbeat:daily']);
      expect(await beat(sources)).toMatchObject({ status: 'up' });
    });

    it('never in that of the broker when redbeat_redis_url cannot be read, and a hint says so', async () => {
      await fill(0);
      for (const [url, hint] of [
        [
          'redis-cluster://:pw@beat:30001/0',
          /^redbeat_redis_url begins with redis-cluster:, which this source cannot/,
        ],
        ['redis-sentinel://beat:26379/0', /Write settings: \{ redbeat_redis_options: \{ sentinels: /],
      ] as const) {
        const sources = open({ redbeat_redis_url: url });
        expect(await idsOf(sources)).toEqual([]);
        expect(await beat(sources)).toMatchObject({
          status: 'unknown',
          config: { entries: null, hints: [expect.stringMatching(hint)] },
        });
      }
    });
  });
});
