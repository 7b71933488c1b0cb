import { describe, expect, it } from 'vitest';
import { redbeatEntry } from '../../src/sources/celery/schedules/redbeat-entry.ts';

const DEFINITION = JSON.stringify({ name: 'n', task: 't', schedule: { __type__: 'interval', every: 5 } });

function entryOf(meta: string | null, score = '1') {
  return redbeatEntry('redbeat:n', 'redbeat:', score, DEFINITION, meta);
}

describe('an entry of redbeat', () => {
  it('ran in the zone that it names, or at an offset in seconds', () => {
    const moment = { __type__: 'datetime', year: 2026, month: 7, day: 1, hour: 12, minute: 0, second: 0 };
    const run = (timezone: unknown) =>
      entryOf(JSON.stringify({ last_run_at: { ...moment, microsecond: 5, timezone }, total_run_count: 3 }));
    const seen = ['Europe/Prague', 19_800, -18_000, 0, 'Mars/Base', 1e300].map((zone) => {
      const entry = run(zone);
      return [entry?.schedule.lastRunAt?.toISOString() ?? null, entry?.appTimezone, entry?.isOffUtc];
    });
    expect(seen).toEqual([
      ['2026-07-01T10:00:00.000Z', 'Europe/Prague', false],
      ['2026-07-01T06:30:00.000Z', null, true],
      ['2026-07-01T17:00:00.000Z', null, true],
      ['2026-07-01T12:00:00.000Z', null, false],
      [null, null, false],
      [null, null, true],
    ]);
  });

  it('that was never run has no last run and a count of 0', () => {
    for (const meta of [
      null,
      '{}',
      '{"last_run_at": null}',
      '{"last_run_at": {"year": 2026, "month": 1, "day": 1}}',
    ]) {
      expect(entryOf(meta)?.schedule).toMatchObject({ lastRunAt: null, totalRunCount: 0 });
    }
  });

  it('is due at no moment when its score is none', () => {
    const due = ['-1', 'inf', '-inf', 'nan', 'x'].map((score) => entryOf(null, score)?.schedule.nextRunAt);
    expect(due).toEqual([null, null, null, null, null]);
  });

  it('is not read when its meta is broken', () => {
    for (const meta of ['{', '[]', '5', '{"last_run_at": NaN}']) expect(entryOf(meta)).toBe(null);
  });
});
