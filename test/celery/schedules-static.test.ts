import { describe, expect, it } from 'vitest';
import type { Configuration } from '../../src/sources/celery/schedules/redbeat-settings.ts';
import { createStaticSchedule } from '../../src/sources/celery/schedules/static-schedule.ts';
import { until } from '../helpers/redis-server.ts';

const NOBODY = async () => null;

function said(replies: Record<string, unknown>) {
  return async () => new Map(Object.entries(replies));
}

describe('the static schedule', () => {
  const daily = { task: 'report', schedule: '<crontab: 0 7 * * * (m/h/d/dM/MY)>' };

  it('is one where workers say the same, and two where they do not', async () => {
    const fixed = createStaticSchedule(
      {},
      said({
        'a@1': { timezone: 'Europe/Prague', beat_schedule: { daily } },
        'b@1': { timezone: 'Europe/Prague', beat_schedule: { daily } },
        'c@1': { beat_schedule: { daily, broken: 5 } },
        'd@1': null,
        'e@1': { beat_schedule: [daily], timezone: 5 },
      }),
    );
    await fixed.refresh();
    expect([...fixed.entries()].map(([id, { name, timezone }]) => [id, name, timezone])).toEqual([
      ['daily', 'daily', 'Europe/Prague'],
      ['daily (2)', 'daily', 'UTC'],
    ]);
    expect(fixed.unreadable()).toBe(1);
    expect(fixed.timezone()).toBe(null);
  });

  it('has the zone of the app: UTC by default, none when the machine of beat decides', async () => {
    const zones = [
      {},
      { timezone: 'Asia/Tokyo' },
      { enable_utc: false },
      { enable_utc: false, timezone: 'Asia/Tokyo' },
    ].map((settings) => createStaticSchedule(settings, NOBODY).timezone());
    expect(zones).toEqual(['UTC', 'Asia/Tokyo', null, 'Asia/Tokyo']);
    const told = createStaticSchedule({}, said({ 'a@1': { timezone: 'Asia/Tokyo' } }));
    await told.refresh();
    expect(told.timezone()).toBe('Asia/Tokyo');
  });

  it('asks again after a minute, sooner while nobody answers, and remembers who is silent for ten', async () => {
    let now = 0;
    let asked = 0;
    let replies: Record<string, Configuration> = {};
    const fixed = createStaticSchedule(
      {},
      async () => {
        asked += 1;
        return new Map(Object.entries(replies));
      },
      () => now,
    );
    const steps: [number, Record<string, Configuration>, number, number][] = [
      [0, {}, 1, 0],
      [9_999, {}, 1, 0],
      [10_000, { 'a@1': { beat_schedule: { daily } } }, 2, 1],
      [69_999, {}, 2, 1],
      [70_000, { 'b@1': { beat_schedule: {} } }, 3, 1],
      [700_000, { 'b@1': { beat_schedule: {} } }, 4, 0],
    ];
    for (const [at, answer, times, entries] of steps) {
      now = at;
      replies = answer;
      await fixed.refresh();
      await until(() => asked === times);
      expect([asked, fixed.entries().size]).toEqual([times, entries]);
    }
  });

  it('keeps its entries the same objects while they are the same', async () => {
    let now = 0;
    const fixed = createStaticSchedule({}, said({ 'a@1': { beat_schedule: { daily } } }), () => now);
    await fixed.refresh();
    const before = fixed.entries().get('daily');
    now = 100_000;
    await fixed.refresh();
    await until(() => fixed.configurations().length === 2);
    expect(before).toBeDefined();
    expect(fixed.entries().get('daily')).toBe(before);
  });

  it('takes what a host writes, hostile values included', async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const beat_schedule: Record<string, unknown> = {
      plain: { task: 'report', schedule: 30, args: [1, 2.5, 'x', null, true], kwargs: { deep: [{}] } },
      cyclic: { task: 'report', schedule: 30, kwargs: cycle },
      big: { task: 'report', schedule: 30, args: [10n ** 30n] },
      nothing: null,
      thrower: {
        get schedule() {
          throw new Error('no');
        },
      },
    };
    const fixed = createStaticSchedule({ beat_schedule }, async () => {
      throw new Error('The workers cannot be asked.');
    });
    await fixed.refresh();
    expect([...fixed.entries().values()].map(({ args, kwargs }) => [args, kwargs])).toEqual([
      ["(1, 2.5, 'x', None, True)", "{'deep': [{}]}"],
      ['()', '{"self":"[Circular]"}'],
      [`["${10n ** 30n}"]`, '{}'],
    ]);
    expect(fixed.unreadable()).toBe(2);
  });
});
