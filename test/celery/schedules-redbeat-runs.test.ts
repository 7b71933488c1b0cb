import { describe, expect, it } from 'vitest';
import type { ScheduleRun } from '../../src/model.ts';
import type { RedbeatReader } from '../../src/sources/celery/schedules/redbeat.ts';
import { redbeatEntry } from '../../src/sources/celery/schedules/redbeat-entry.ts';
import { createSchedules } from '../../src/sources/celery/schedules/schedules.ts';
import { context } from '../helpers/celery-events.ts';

const SEVEN = Date.parse('2026-11-23T07:00:00Z');
const HALF_MINUTE = 30_000;
const EVERY = { __type__: 'interval', every: 30, relative: false };

/** Reads these entries, as redbeat stores them. */
function readerOf(definitions: Readonly<Record<string, object>>): RedbeatReader {
  return {
    async read() {
      const entries = Object.entries(definitions).flatMap(([name, definition]) => {
        const text = JSON.stringify({ name, enabled: true, ...definition });
        return redbeatEntry(`redbeat:${name}`, 'redbeat:', '1800000000', text, null) ?? [];
      });
      return { entries, total: entries.length, unreadable: 0, lockMs: 1_450_000 };
    },
  };
}

describe("runs of redbeat's entries", () => {
  const schedules = createSchedules({
    name: 'celery',
    settings: { timezone: 'UTC' },
    redbeat: {
      reader: readerOf({
        often: { task: 'report', schedule: EVERY, args: [1, 'x'], options: { queue: 'slow' } },
        daily: { task: 'clean', schedule: { __type__: 'crontab', minute: '0', hour: '7' } },
        off: { task: 'old', schedule: EVERY, enabled: false },
        shown: { task: 'hidden', schedule: EVERY, args: ['raw'], options: { argsrepr: '(...)' } },
      }),
      unreadable: null,
    },
    django: null,
    conf: async () => null,
  });

  function send(id: string, name: string, time: number, args = '()'): void {
    schedules.observe({ id, name, time, args, kwargs: '{}', queue: 'slow', type: 'sent', origin: 'event' });
  }

  async function runsOf(name: string): Promise<readonly ScheduleRun[] | null> {
    const listed = await schedules.source.listSchedules(context);
    return listed?.find((schedule) => schedule.name === name)?.lastRuns ?? null;
  }

  it('are the tasks that came when an entry was due, from the first reading on', async () => {
    await schedules.refresh();
    for (const n of [0, 1, 2]) send(`often ${n}`, 'report', SEVEN + n * HALF_MINUTE, "(1, 'x')");
    send('a client', 'report', SEVEN + 2.5 * HALF_MINUTE, "(1, 'x')");
    send('other arguments', 'report', SEVEN + 3 * HALF_MINUTE, "(2, 'x')");
    send('at six', 'clean', SEVEN - 3_600_000);
    send('at seven', 'clean', SEVEN + 40);
    for (const n of [0, 1]) {
      send(`off ${n}`, 'old', SEVEN + n * HALF_MINUTE);
      send(`shown ${n}`, 'hidden', SEVEN + n * HALF_MINUTE, '(...)');
    }
    expect((await runsOf('often'))?.map(({ taskId }) => taskId)).toEqual(['often 2', 'often 1']);
    expect(await runsOf('daily')).toEqual([
      { taskId: 'at seven', state: null, at: new Date(SEVEN + 40), runtime: null },
    ]);
    expect((await runsOf('shown'))?.map(({ taskId }) => taskId)).toEqual(['shown 1']);
    expect(await runsOf('off')).toBeNull();
  });
});
