import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { comparableRepr } from '../../src/sources/celery/schedules/comparable-repr.ts';
import { staticSchedule } from '../../src/sources/celery/schedules/rows.ts';
import { createRunObserver, type RunObserver } from '../../src/sources/celery/schedules/run-observer.ts';
import { type StaticEntry, staticEntries } from '../../src/sources/celery/schedules/static-entry.ts';

const SEVEN = Date.parse('2026-11-23T07:00:00Z');
const SECOND = 1000;
const DAY = 86_400_000;

function entriesOf(schedule: object, timezone: string | null = 'UTC'): Map<string, StaticEntry> {
  return new Map(staticEntries(schedule, timezone).entries.map((entry) => [entry.name, entry]));
}

/** Runs steps to their end. */
function run<Result>(steps: Generator<void, Result, void>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function watching(schedule: object, timezone?: string): RunObserver {
  const observer = createRunObserver();
  run(observer.watch(entriesOf(schedule, timezone)));
  return observer;
}

let count = 0;
function task(time: number, more: Partial<TaskChange> = {}): TaskChange {
  count += 1;
  return {
    id: `t${count}`,
    type: 'sent',
    time,
    origin: 'event',
    name: 'report',
    args: '()',
    kwargs: '{}',
    ...more,
  };
}

describe('a run of the static schedule', () => {
  it('is a task that was sent when its crontab was due', () => {
    const observer = watching({ weekly: { task: 'report', schedule: '0 8 * * 1' } }, 'Europe/Prague');
    observer.observe(task(SEVEN - 10 * SECOND));
    observer.observe(task(SEVEN - DAY));
    observer.observe(task(SEVEN + 30 * SECOND));
    expect(observer.lastRun('weekly')).toBe(null);
    observer.observe(task(SEVEN + 40));
    observer.observe(task(SEVEN + 60 * SECOND));
    expect(observer.lastRun('weekly')).toBe(SEVEN + 40);
  });

  it('is remembered with its task, the latest 20, and none where none was seen', () => {
    const observer = watching({
      often: { task: 'report', schedule: 60 },
      never: { task: 'rare', schedule: 60 },
    });
    const tasks = Array.from({ length: 25 }, (_, index) => task(SEVEN + index * 60 * SECOND));
    for (const one of tasks) observer.observe(one);
    // Its worker reports the same task a moment later.
    observer.observe({ ...(tasks.at(-1) as TaskChange), type: 'received', time: SEVEN + 1_440_050 });
    const latest = tasks.slice(-20).map(({ id, time }) => ({ taskId: id, time }));
    expect(observer.lastRuns('often')).toEqual(latest.toReversed());
    expect(observer.lastRuns('never')).toBeNull();
  });

  it('is looked for in little time among thousands of entries, which are taken in step by step', () => {
    const schedule = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, at) => [
        at,
        { task: 'report', schedule: '0 0 29 2 1', args: [at % 2] },
      ]),
    );
    const observer = createRunObserver();
    const steps = observer.watch(entriesOf(schedule));
    let count = 0;
    while (steps.next().done !== true) count += 1;
    expect(count).toBe(5_000);
    const start = process.cpuUsage().user;
    observer.observe(task(SEVEN, { args: '(1,)' }));
    expect(process.cpuUsage().user - start).toBeLessThan(100_000);
  });

  it('is a task that follows another by the interval', () => {
    const observer = watching({ often: { task: 'report', schedule: 30 } });
    observer.observe(task(SEVEN));
    observer.observe(task(SEVEN + 11 * SECOND));
    expect(observer.lastRun('often')).toBe(null);
    observer.observe(task(SEVEN + 30_020));
    expect(observer.lastRun('often')).toBe(SEVEN + 30_020);
    observer.observe(task(SEVEN + 100 * SECOND));
    expect(observer.lastRun('often')).toBe(SEVEN + 30_020);
  });

  it('of a relative interval may come earlier by what it is rounded down', () => {
    const observer = watching({ hourly: { task: 'report', schedule: 3600, relative: true } });
    observer.observe(task(SEVEN + 1800 * SECOND));
    observer.observe(task(SEVEN + 3600 * SECOND));
    expect(observer.lastRun('hourly')).toBe(SEVEN + 3600 * SECOND);
  });

  it('has the task, the arguments and the queue of the entry', () => {
    const entry = { task: 'report', schedule: '0 7 * * *', args: [1, 'x'], kwargs: { big: true } };
    const observer = watching({ daily: { ...entry, options: { queue: 'slow' } } });
    const same = { args: "(1, 'x')", kwargs: "{'big': True}", queue: 'slow' };
    for (const more of [{ name: 'other' }, { args: "(2, 'x')" }, { kwargs: '{}' }, { queue: 'fast' }]) {
      observer.observe(task(SEVEN, { ...same, ...more }));
    }
    for (const more of [{ parentId: 'p' }, { retries: 1 }, { stored: true }, { time: null }]) {
      observer.observe(task(SEVEN, { ...same, ...more }));
    }
    expect(observer.lastRun('daily')).toBe(null);
    observer.observe(task(SEVEN + 1, same));
    expect(observer.lastRun('daily')).toBe(SEVEN + 1);
  });

  it('that is told of when it is sent and when it is received is one, at the time of its sending', () => {
    const observer = watching({ often: { task: 'report', schedule: 2 } });
    observer.observe(task(SEVEN, { id: 'a' }));
    observer.observe(task(SEVEN + 2000, { id: 'b', type: 'received' }));
    observer.observe(task(SEVEN + 1990, { id: 'b' }));
    observer.observe(task(SEVEN + 2000, { id: 'b', type: 'received' }));
    expect(observer.lastRun('often')).toBe(SEVEN + 1990);
  });

  it('belongs to the entry that its time fits, and to none when it fits several', () => {
    const observer = watching({
      morning: { task: 'report', schedule: '0 7 * * *' },
      evening: { task: 'report', schedule: '0 19 * * *' },
      monday: { task: 'report', schedule: '0 19 * * 1' },
    });
    observer.observe(task(SEVEN));
    observer.observe(task(SEVEN + DAY / 2));
    expect(observer.lastRun('evening')).toBe(null);
    observer.observe(task(SEVEN + DAY + DAY / 2));
    expect(observer.lastRun('morning')).toBe(SEVEN);
    expect(observer.lastRun('evening')).toBe(SEVEN + DAY + DAY / 2);
    expect(observer.lastRun('monday')).toBe(null);
  });

  it('is kept while its entry stays as it is', () => {
    const entries = entriesOf({ daily: { task: 'report', schedule: '0 7 * * *' } });
    const observer = createRunObserver();
    run(observer.watch(entries));
    observer.observe(task(SEVEN));
    run(observer.watch(new Map(entries)));
    expect(observer.lastRun('daily')).toBe(SEVEN);
    run(observer.watch(entriesOf({ daily: { task: 'report', schedule: '0 8 * * *' } })));
    expect(observer.lastRun('daily')).toBe(null);
  });

  it('is the task whose message names its entry, whatever its time, and of no other entry then', () => {
    const observer = watching({
      a: { task: 'report', schedule: 60 },
      b: { task: 'report', schedule: 60 },
      c: { task: 'report', schedule: '0 7 * * *' },
      sun: { task: 'report', schedule: { event: 'sunset', lat: 1, lon: 2 } },
      other: { task: 'mail', schedule: 60 },
    });
    const ids = (entry: string) => observer.lastRuns(entry)?.map(({ taskId }) => taskId) ?? null;
    const at = (id: string, minutes: number) => observer.observe(task(SEVEN + minutes * 60_000, { id }));
    // Its event comes first, then its message: it fitted another entry.
    at('one', 0);
    expect(ids('c')).toEqual(['one']);
    observer.named({ taskId: 'one', entry: 'a' });
    expect([ids('a'), ids('c')]).toEqual([['one'], null]);
    // Its message comes first.
    observer.named({ taskId: 'two', entry: 'b' });
    at('two', 0.5);
    observer.named({ taskId: 'three', entry: 'a' });
    at('three', 1);
    observer.named({ taskId: 'evening', entry: 'sun' });
    at('evening', 1.2);
    expect([ids('a'), ids('b'), ids('sun')]).toEqual([['three', 'one'], ['two'], ['evening']]);
    // Sent by hand, it does not show when the entry is due next.
    expect(observer.lastRun('a')).toBe(SEVEN + 60_000);
    expect(observer.lastRun('b')).toBeNull();
    // Names that no entry with this task has say nothing.
    for (const entry of ['other', 'unknown']) {
      observer.named({ taskId: entry, entry });
      at(entry, 30);
    }
    expect([ids('other'), ids('a')]).toEqual([null, ['three', 'one']]);
  });

  it('is the same when it is observed again, in any order', () => {
    const tasks = Array.from({ length: 6 }, (_, n) => task(SEVEN + n * 30_000));
    const observer = watching({ often: { task: 'report', schedule: 30 } });
    for (const one of [...tasks.slice(3), ...tasks.slice(0, 3)]) observer.observe(one);
    for (const one of tasks) observer.observe({ ...one, type: 'received' });
    const later = tasks.slice(1).toReversed();
    expect(observer.lastRuns('often')).toEqual(later.map(({ id, time }) => ({ taskId: id, time })));
  });

  it('shows for two of its periods, and at most an hour, that beat is alive', () => {
    const observer = watching({ often: { task: 'report', schedule: 30 } });
    expect(run(observer.isAlive(SEVEN))).toBe(false);
    observer.observe(task(SEVEN));
    observer.observe(task(SEVEN + 30 * SECOND));
    expect(run(observer.isAlive(SEVEN + 90 * SECOND))).toBe(true);
    expect(run(observer.isAlive(SEVEN + 120 * SECOND))).toBe(false);
    const daily = watching({ daily: { task: 'report', schedule: '0 7 * * *' } });
    daily.observe(task(SEVEN));
    expect(run(daily.isAlive(SEVEN + 3599 * SECOND))).toBe(true);
    expect(run(daily.isAlive(SEVEN + 3601 * SECOND))).toBe(false);
  });
});

describe('the next run of the static schedule', () => {
  function next(entry: object, last: number | null, now: number, timezone: string | null = 'UTC') {
    const [only] = entriesOf({ only: { task: 'report', ...entry } }, timezone).values();
    if (only === undefined) throw new Error('The entry cannot be read.');
    return staticSchedule('only', only, { last, now }).nextRunAt?.getTime() ?? null;
  }

  it('is that of its crontab in its zone, and not known without a zone', () => {
    const daily = { schedule: '0 7 * * *' };
    expect(next(daily, null, SEVEN)).toBe(SEVEN + DAY);
    expect(next(daily, SEVEN - DAY, SEVEN - 1)).toBe(SEVEN);
    expect(next(daily, null, SEVEN, 'Europe/Prague')).toBe(SEVEN + DAY - 3_600_000);
    expect(next(daily, null, SEVEN, null)).toBe(null);
  });

  it('is that of its interval after a run that was seen, unless it is long past', () => {
    expect(next({ schedule: 30 }, null, SEVEN)).toBe(null);
    expect(next({ schedule: 30 }, SEVEN, SEVEN + 10 * SECOND)).toBe(SEVEN + 30 * SECOND);
    expect(next({ schedule: 30 }, SEVEN, SEVEN + 40 * SECOND)).toBe(SEVEN + 30 * SECOND);
    expect(next({ schedule: 30 }, SEVEN, SEVEN + 100 * SECOND)).toBe(null);
  });

  it('is none for an entry that is disabled, solar or unreadable', () => {
    expect(next({ schedule: '0 7 * * *', enabled: false }, null, SEVEN)).toBe(null);
    expect(next({ schedule: { event: 'sunset', lat: 1, lon: 2 } }, SEVEN, SEVEN)).toBe(null);
    expect(next({ schedule: '99 7 * * *' }, SEVEN, SEVEN)).toBe(null);
  });
});

describe('a Python repr', () => {
  it('is compared without what JSON does not keep', () => {
    expect(comparableRepr("((1, 2.0), 'a, (b) ', [], {'k': (3,)}, 10.05)")).toBe(
      "[[1,2],'a, (b) ',[],{'k':[3]},10.05]",
    );
    expect(comparableRepr(comparableRepr('(1,)'))).toBe('[1]');
  });
});
