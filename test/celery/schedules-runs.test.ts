/** Which tasks are the runs of entries of beat's schedule, and what follows from them. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Schedule } from '../../src/model.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { context, eventMessage, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import {
  type ArrayDeployment,
  type ArrayDeploymentOptions,
  holdTime,
  LONG,
  openArrayDeployment,
  pass,
  waitingMessage,
} from './array-deployment.ts';

const SEVEN = Date.parse('2026-11-23T07:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 1440 * MINUTE;

/** What a task's client publishes. */
function sent(uuid: string, time: number | null, more: object = {}): object {
  const call = { name: 'report', args: '()', kwargs: '{}', queue: 'celery', retries: 0 };
  const timestamp = time === null ? null : time / 1000;
  return { type: 'task-sent', uuid, hostname: 'gen1@vm', pid: 9, timestamp, ...call, ...more };
}

/** The same of a run of each half minute. */
const everyHalfMinute = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => sent(`run ${from + at}`, SEVEN + (from + at) * 30 * SECOND));

/** A deployment that watches this schedule. */
async function watching(
  beat_schedule: Readonly<Record<string, object>>,
  timezone = 'UTC',
  more: ArrayDeploymentOptions = {},
): Promise<ArrayDeployment> {
  holdTime(SEVEN);
  const settings = { beat_schedule, timezone };
  const deployment = openArrayDeployment({ control: false, retention: LONG, settings, ...more });
  await deployment.schedules();
  return deployment;
}

async function entryOf({ schedules }: ArrayDeployment, name: string): Promise<Schedule | undefined> {
  return (await schedules())?.find((schedule) => schedule.name === name);
}
const lastOf = async (deployment: ArrayDeployment, name: string): Promise<number | null> =>
  (await entryOf(deployment, name))?.lastRunAt?.getTime() ?? null;
const idsOf = async (deployment: ArrayDeployment, name: string): Promise<string[] | null> =>
  (await entryOf(deployment, name))?.lastRuns?.map(({ taskId }) => taskId) ?? null;

describe('a run of the static schedule', () => {
  it('is a task that only its entry has, whenever it was sent', async () => {
    const deployment = await watching({ weekly: { task: 'report', schedule: '0 8 * * 1' } }, 'Europe/Prague');
    expect(await lastOf(deployment, 'weekly')).toBe(null);
    deployment.hear(sent('late', SEVEN + 5 * MINUTE), sent('due', SEVEN + 40));
    expect(await idsOf(deployment, 'weekly')).toEqual(['late', 'due']);
    expect(await lastOf(deployment, 'weekly')).toBe(SEVEN + 5 * MINUTE);
  });

  it('of a relative interval may come earlier by what it is rounded down', async () => {
    const deployment = await watching({ hourly: { task: 'report', schedule: 3600, relative: true } });
    deployment.hear(sent('a', SEVEN + 30 * MINUTE), sent('b', SEVEN + 60 * MINUTE));
    expect(await lastOf(deployment, 'hourly')).toBe(SEVEN + 60 * MINUTE);
    expect((await entryOf(deployment, 'hourly'))?.nextRunAt?.getTime()).toBe(SEVEN + 120 * MINUTE);
    vi.setSystemTime(SEVEN + 61 * MINUTE);
    expect((await deployment.component('beat')).status).toBe('up');
  });

  it('is remembered with its task, the latest 20, and none where none was seen', async () => {
    const deployment = await watching({
      often: { task: 'report', schedule: 60 },
      never: { task: 'rare', schedule: 60 },
    });
    const runs = Array.from({ length: 25 }, (_, index) => sent(`run ${index}`, SEVEN + index * MINUTE));
    deployment.hear(...runs);
    // Its worker reports the same task a moment later.
    deployment.hear(sent('run 24', SEVEN + 24 * MINUTE + 50, { type: 'task-received', hostname: 'w1@a' }));
    const latest = Array.from({ length: 20 }, (_, index) => `run ${24 - index}`);
    expect(await idsOf(deployment, 'often')).toEqual(latest);
    expect(await idsOf(deployment, 'never')).toBeNull();
  });

  it('has the task, the arguments and the queue of the entry', async () => {
    const entry = { task: 'report', schedule: '0 7 * * *', args: [1, 'x'], kwargs: { big: true } };
    const shown = { task: 'hidden', schedule: '0 7 * * *', args: ['raw'], options: { argsrepr: '(...)' } };
    const deployment = await watching({
      daily: { ...entry, options: { queue: 'slow' } },
      floats: { task: 'floats', schedule: '0 7 * * *', args: [[1, 2], 'a, (b) ', [], { k: [3] }, 10.05] },
      shown,
    });
    const same = { args: "(1, 'x')", kwargs: "{'big': True}", queue: 'slow' };
    const others = [{ name: 'other' }, { args: "(2, 'x')" }, { kwargs: '{}' }, { queue: 'fast' }];
    const repeated = [{ parent_id: 'p' }, { retries: 1 }];
    for (const [at, more] of [...others, ...repeated].entries()) {
      deployment.hear(sent(`other ${at}`, SEVEN, { ...same, ...more }));
    }
    expect(await lastOf(deployment, 'daily')).toBe(null);
    deployment.hear(
      sent('a', SEVEN + 1, same),
      // JSON keeps no tuples, and no difference of 2.0 and 2.
      sent('b', SEVEN + 2, { name: 'floats', args: "((1, 2.0), 'a, (b) ', [], {'k': (3,)}, 10.05)" }),
      sent('c', SEVEN + 3, { name: 'hidden', args: '(...)' }),
    );
    const last = ['daily', 'floats', 'shown'].map((name) => idsOf(deployment, name));
    expect(await Promise.all(last)).toEqual([['a'], ['b'], ['c']]);
  });

  it('that is told of when it is sent and when it is received is one, at the time of its sending', async () => {
    const deployment = await watching({ often: { task: 'report', schedule: 2 } });
    const received = { type: 'task-received', hostname: 'w1@a' };
    deployment.hear(
      sent('a', SEVEN),
      sent('b', SEVEN + 2000, received),
      sent('b', SEVEN + 1990),
      sent('b', SEVEN + 2000, received),
    );
    expect(await lastOf(deployment, 'often')).toBe(SEVEN + 1990);
  });

  it('is not known of entries that share a task with its arguments and its queue', async () => {
    const alike = { task: 'report', args: [1], schedule: '0 7 * * *' };
    const deployment = await watching({
      morning: alike,
      evening: { ...alike, schedule: '0 19 * * *' },
      other: { ...alike, args: [2] },
      elsewhere: { ...alike, options: { queue: 'slow' } },
      idle: { ...alike, args: [2], enabled: false },
    });
    deployment.hear(
      sent('a', SEVEN, { args: '(1,)' }),
      sent('b', SEVEN, { args: '(2,)' }),
      sent('c', SEVEN, { args: '(1,)', queue: 'slow' }),
      // Its arguments are cut: it may be a run of any.
      sent('d', SEVEN, { args: '(...' }),
    );
    const ids = ['morning', 'evening', 'other', 'elsewhere', 'idle'].map((name) => idsOf(deployment, name));
    expect(await Promise.all(ids)).toEqual([null, null, ['b'], null, null]);
    expect(await lastOf(deployment, 'morning')).toBe(null);
  });

  it('is the same when it is told again, in any order', async () => {
    const runs = everyHalfMinute(6);
    const deployment = await watching({ often: { task: 'report', schedule: 30 } });
    deployment.hear(...runs.slice(3), ...runs.slice(0, 3));
    deployment.hear(...runs.map((event) => ({ ...event, type: 'task-received', hostname: 'w1@a' })));
    expect(await idsOf(deployment, 'often')).toEqual(['run 5', 'run 4', 'run 3', 'run 2', 'run 1', 'run 0']);
  });

  it('is the task whose message names its entry, and of no other entry then', async () => {
    const deployment = await watching({
      a: { task: 'report', schedule: 60, args: [1] },
      b: { task: 'report', schedule: 60, args: [1] },
      c: { task: 'report', schedule: '0 7 * * *', args: [2] },
      sun: { task: 'report', schedule: { event: 'sunset', lat: 1, lon: 2 }, args: [1] },
      other: { task: 'mail', schedule: 60 },
    });
    const at = (id: string, minutes: number, args = '(1,)') =>
      deployment.hear(sent(id, SEVEN + minutes * MINUTE, { args }));
    async function named(id: string, entry: string): Promise<void> {
      const raw = waitingMessage(id, { task: 'report', periodic_task_name: entry });
      deployment.waiting.push({ queue: 'celery', raw });
      await pass(6_000);
    }
    // Its event comes first, then its message: only another entry has its arguments.
    at('one', 0, '(2,)');
    expect(await idsOf(deployment, 'c')).toEqual(['one']);
    await named('one', 'a');
    expect([await idsOf(deployment, 'a'), await idsOf(deployment, 'c')]).toEqual([['one'], null]);
    // Its message comes first.
    await named('two', 'b');
    at('two', 0.5);
    await named('three', 'a');
    at('three', 1);
    await named('evening', 'sun');
    at('evening', 1.2);
    const ids = ['a', 'b', 'sun'].map((name) => idsOf(deployment, name));
    expect(await Promise.all(ids)).toEqual([['three', 'one'], ['two'], ['evening']]);
    // Names that no entry with this task has say nothing.
    for (const entry of ['other', 'unknown']) {
      await named(entry, entry);
      at(entry, 30);
    }
    expect([await idsOf(deployment, 'other'), await idsOf(deployment, 'a')]).toEqual([
      null,
      ['three', 'one'],
    ]);
  });

  it('shows nothing of beat if it came at another time, as tasks that clients send do', async () => {
    const minutes = Array.from({ length: 5 }, (_, at) =>
      sent(`client ${at}`, SEVEN + (at * 20 + 10) * SECOND),
    );
    for (const schedule of ['0 7 * * *', 30]) {
      const deployment = await watching({ only: { task: 'report', schedule } });
      deployment.hear(...minutes);
      expect(await idsOf(deployment, 'only')).toHaveLength(5);
      vi.setSystemTime(SEVEN + 2 * MINUTE);
      expect((await deployment.component('beat')).status).toBe('unknown');
      vi.setSystemTime(SEVEN + 2 * DAY);
      expect((await deployment.component('beat')).status).toBe('unknown');
    }
  });

  it('shows for two of its periods, and at most an hour, that beat is alive', async () => {
    const often = await watching({ often: { task: 'report', schedule: 30 } });
    const status = async ({ component }: ArrayDeployment, after: number) => {
      vi.setSystemTime(SEVEN + after);
      return (await component('beat')).status;
    };
    expect(await status(often, 0)).toBe('unknown');
    often.hear(...everyHalfMinute(2));
    expect([await status(often, 90 * SECOND), await status(often, 120 * SECOND)]).toEqual(['up', 'unknown']);
    const daily = await watching({ daily: { task: 'report', schedule: '0 7 * * *' } });
    daily.hear(sent('a', SEVEN));
    expect([await status(daily, 3599 * SECOND), await status(daily, 3601 * SECOND)]).toEqual([
      'up',
      'unknown',
    ]);
  });
});

describe('the next run of the static schedule', () => {
  async function next(
    entry: object,
    after: number,
    ran = false,
    settings: object = {},
  ): Promise<number | null> {
    const beat_schedule = { only: { task: 'report', ...entry } };
    const deployment = await watching(beat_schedule, 'UTC', { settings: { beat_schedule, ...settings } });
    if (ran) deployment.hear(sent('before', SEVEN - 30 * SECOND), sent('last', SEVEN));
    vi.setSystemTime(SEVEN + after);
    const time = (await entryOf(deployment, 'only'))?.nextRunAt?.getTime();
    return time === undefined ? null : time - SEVEN;
  }

  it('is that of its crontab in its zone, and not known without a zone', async () => {
    const daily = { schedule: '0 7 * * *' };
    expect(await next(daily, 0)).toBe(DAY);
    expect(await next(daily, -1)).toBe(0);
    expect(await next(daily, 0, false, { timezone: 'Europe/Prague' })).toBe(DAY - 60 * MINUTE);
    expect(await next(daily, 0, false, { enable_utc: false })).toBe(null);
  });

  it('is that of its interval after a run that was seen', async () => {
    expect(await next({ schedule: 30 }, 0)).toBe(null);
    expect(await next({ schedule: 30 }, 10 * SECOND, true)).toBe(30 * SECOND);
    expect(await next({ schedule: 30 }, 40 * SECOND, true)).toBe(30 * SECOND);
  });

  it.each([
    ['an interval', { schedule: 30 }, 30 * SECOND],
    ['a crontab', { schedule: '* * * * *' }, MINUTE],
  ])(
    'of %s stays past when beat reports its runs and has sent none, until it goes on',
    async (_, entry, due) => {
      const beat = await watching({ only: { task: 'report', ...entry } });
      const found = async () => (await entryOf(beat, 'only'))?.nextRunAt?.getTime();
      beat.hear(sent('before', SEVEN - due), sent('last', SEVEN));
      vi.setSystemTime(SEVEN + due + 59 * SECOND);
      expect(await found()).toBe(SEVEN + due);
      vi.setSystemTime(SEVEN + 10 * MINUTE);
      expect(await found()).toBe(SEVEN + due);
      expect((await beat.component('beat')).status).toBe('down');
      beat.hear(sent('late', SEVEN + 10 * MINUTE - SECOND));
      expect(await found()).toBeGreaterThan(SEVEN + 10 * MINUTE - SECOND);
    },
  );

  it('is unknown, or the next one, when beat reports nothing, or its report may have been missed', async () => {
    const beat_schedule = {
      often: { task: 'report', schedule: 30 },
      minutely: { task: 'mail', schedule: '* * * * *' },
    };
    for (const isHeard of [false, true]) {
      const beat = await watching(beat_schedule);
      const runs = [sent('1', SEVEN - 30 * SECOND), sent('2', SEVEN), sent('3', SEVEN, { name: 'mail' })];
      beat.hear(...runs.map((run) => (isHeard ? run : { ...run, type: 'task-received', hostname: 'w1@vm' })));
      await pass(75_000);
      if (isHeard) beat.broker.reconnect();
      await pass(45_000);
      expect((await entryOf(beat, 'often'))?.nextRunAt).toBeNull();
      expect((await entryOf(beat, 'minutely'))?.nextRunAt?.getTime()).toBeGreaterThanOrEqual(Date.now());
    }
  });

  it('is none for an entry that is disabled, solar or unreadable', async () => {
    const sunset = { event: 'sunset', lat: 1, lon: 2 };
    expect(await next({ schedule: '0 7 * * *', enabled: false }, 0)).toBe(null);
    expect(await next({ schedule: sunset }, 0, true)).toBe(null);
    expect(await next({ schedule: '99 7 * * *' }, 0)).toBe(null);
  });
});

describe('the runs of a schedule', () => {
  it('have the state and the run time of their tasks', async () => {
    const deployment = await watching({ often: { task: 'report', schedule: 30 } }, 'UTC', { retention: {} });
    deployment.hear(...everyHalfMinute(5));
    const worker = { hostname: 'w1@a', pid: 1, timestamp: SEVEN / 1000 + 200 };
    const end = (uuid: string, type: string, more: object = {}) => ({ ...worker, uuid, type, ...more });
    deployment.hear(
      end('run 2', 'task-succeeded', { runtime: 3, result: '1' }),
      end('run 3', 'task-failed', { exception: 'E()' }),
      end('run 4', 'task-started'),
    );
    const runs = async () =>
      (await entryOf(deployment, 'often'))?.lastRuns?.map(({ state, runtime }) => [state, runtime]);
    expect(await runs()).toEqual([
      ['STARTED', null],
      ['FAILURE', null],
      ['SUCCESS', 3],
      ['PENDING', null],
      ['PENDING', null],
    ]);
    deployment.hear(end('run 4', 'task-succeeded', { runtime: 4, result: '1' }));
    expect((await runs())?.[0]).toEqual(['SUCCESS', 4]);
  });

  it('are all looked up in the end, however many they are', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `report ${at}`);
    const entries = names.map((task) => [task, { task, schedule: 30 }]);
    const deployment = await watching(Object.fromEntries(entries));
    for (const name of names) {
      const runs = everyHalfMinute(21).map((event, at) => ({ ...event, name, uuid: `${name} ${at}` }));
      const end = { type: 'task-succeeded', hostname: 'w1@a', result: '1', timestamp: SEVEN / 1000 + 900 };
      deployment.hear(...runs, ...runs.map((event) => ({ ...event, ...end })));
    }
    const known = async (): Promise<number[]> =>
      ((await deployment.schedules()) ?? []).map(
        ({ lastRuns }) => lastRuns?.filter(({ state }) => state !== null).length ?? 0,
      );
    // The latest of every entry first.
    expect(Math.min(...(await known()))).toBeGreaterThan(0);
    for (let more = 0; more < 4; more += 1) await known();
    expect(await known()).toEqual(names.map(() => 20));
  });

  it('are those heard before the entry was known, and go on with the next one', async () => {
    const workers: Record<string, Record<string, unknown>> = {};
    const deployment = await watching({}, 'UTC', { workers, control: true, settings: {} });
    deployment.hear(...everyHalfMinute(3));
    const beat_schedule = { often: { task: 'report', schedule: 30 } };
    workers['w1@a'] = { ping: { ok: 'pong' }, conf: { beat_schedule } };
    await pass(11_000);
    void deployment.schedules();
    await pass(3_000);
    expect(await idsOf(deployment, 'often')).toEqual(['run 2', 'run 1', 'run 0']);
    deployment.hear(...everyHalfMinute(1, 3));
    expect(await idsOf(deployment, 'often')).toEqual(['run 3', 'run 2', 'run 1', 'run 0']);
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the runs of a schedule in a store'), () => {
  it('are there after a restart, with what became of them, although their arguments were redacted', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const publisher = createClient({ url: redis.url() });
    await publisher.connect();
    onTestFinished(() => publisher.destroy());
    const store = createArrayStore();
    const often = { task: 'report', schedule: 30, args: ['redis://:hunter2@host/0'] };
    function open(beat_schedule: object): CelerySources {
      const settings = { beat_schedule: beat_schedule as Record<string, unknown>, timezone: 'UTC' };
      return celerySources({ broker: redis.url(), control: false, settings, store });
    }
    const publish = (event: object) => publisher.publish('/0.celeryev/task.sent', eventMessage(event));

    const first = open({});
    await until(() => first.tasks.status?.().ok === true);
    const start = Date.now() - 600 * SECOND;
    const args = "('redis://:hunter2@host/0',)";
    for (let at = 0; at < 4; at += 1) {
      const [name, time] = [`run ${at}`, start + at * 30 * SECOND];
      await publish(sent(name, time, { args }));
      await publish(sent(`other ${at}`, time + SECOND, { args: '(2,)' }));
      const worker = { hostname: 'w1@a', pid: 1, timestamp: time / 1000 + 2 };
      const end =
        at === 3 ? { type: 'task-failed', exception: 'E()' } : { type: 'task-succeeded', runtime: 2 };
      await publish({ ...worker, ...end, uuid: name });
    }
    await until(async () => (await stateOf(first, 'run 3')) === 'FAILURE');
    await first.close();

    const second = open({ often });
    onTestFinished(() => second.close());
    const runs = async () => (await second.schedules.listSchedules(context))?.[0]?.lastRuns ?? [];
    // Until it collects, it has no schedules to answer with.
    await until(async () => (await runs().catch(() => [])).length === 4);
    expect((await runs()).map(({ taskId, state }) => [taskId, state])).toEqual([
      ['run 3', 'FAILURE'],
      ['run 2', 'SUCCESS'],
      ['run 1', 'SUCCESS'],
      ['run 0', 'SUCCESS'],
    ]);
  });
});
