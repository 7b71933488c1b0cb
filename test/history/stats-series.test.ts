import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, query, T0, told } from './telling.ts';

const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;

/** A history that starts at T0, ten minutes later. */
function tenMinutes(options: MemoryHistoryOptions = {}) {
  let now = T0;
  const history = createMemoryHistory({ now: () => now, ...options });
  now = at(10);
  return {
    record: (...changes: readonly TaskChange[]) => {
      for (const change of changes) history.writer.recordTask(change);
    },
    moveTo(minute: number) {
      now = at(minute);
    },
    writer: history.writer,
    /** The series by minute of its steps, over so many minutes. */
    async series(minutes = 20): Promise<Map<number, TaskStats['series'][number]>> {
      const filter = query({});
      const stats = await history.reader.getTaskStats({ minutes, now: new Date(at(10)), filter }, CONTEXT);
      return new Map(stats.series.map((step) => [(step.t.getTime() - T0) / MINUTE, step]));
    },
  };
}

describe('the series of stats', () => {
  const retriedTwice: readonly TaskChange[] = [
    told({ type: 'received', name: 'pay', worker: 'w', time: at(1) }),
    told({ type: 'started', worker: 'w', time: at(1) + 1 }),
    told({ type: 'retried', worker: 'w', time: at(1) + 2 }),
    told({ type: 'received', name: 'pay', worker: 'w', retries: 1, time: at(3) }),
    told({ type: 'started', worker: 'w', retries: 1, time: at(3) + 1 }),
    told({ type: 'retried', worker: 'w', retries: 1, time: at(3) + 2 }),
    told({ type: 'received', name: 'pay', worker: 'w', retries: 2, time: at(5) }),
    told({ type: 'started', worker: 'w', retries: 2, time: at(5) + 1 }),
    told({ type: 'succeeded', worker: 'w', time: at(6) }),
  ];

  it('counts retries when they happen, also of a task that has ended since', async () => {
    const { record, series } = tenMinutes();
    record(...retriedTwice);
    const steps = await series(8);
    expect([...steps].flatMap(([minute, { retried }]) => (retried ? [[minute, retried]] : []))).toEqual([
      [3, 1],
    ]);
    const whole = await series();
    const retries = [...whole]
      .filter(([minute]) => minute >= 0)
      .map(([, { retried }]) => retried ?? Number.NaN);
    expect(retries.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it('counts a retry that the backend reports as well once', async () => {
    const { record, series } = tenMinutes();
    record(
      ...retriedTwice.slice(0, 3),
      told({ type: 'retried', origin: 'result', time: null, heardAt: at(1) + 9 }),
    );
    expect((await series()).get(1)?.retried).toBe(1);
  });

  it('does not know what happened before the history began, but for stored results', async () => {
    const { record, series } = tenMinutes();
    record(told({ id: 'old', type: 'succeeded', origin: 'result', stored: true, time: at(-5) }));
    record(...retriedTwice);
    const steps = await series();
    expect(steps.get(-5)).toMatchObject({ received: null, succeeded: 1, failed: null, retried: null });
    expect(steps.get(-6)).toMatchObject({ received: null, succeeded: null, failed: null, retried: null });
    expect(steps.get(2)).toMatchObject({ received: 0, succeeded: 0, failed: 0, retried: 0 });
  });

  it('does not know what happened while nothing could be heard', async () => {
    const { moveTo, writer, series } = tenMinutes();
    moveTo(4);
    writer.freezeAt(new Date(at(4)));
    moveTo(6);
    writer.freezeAt(null);
    moveTo(10);
    const steps = await series();
    expect([3, 4, 5, 6, 7].map((minute) => steps.get(minute)?.received)).toEqual([0, null, null, null, 0]);
    writer.freezeAt(new Date(at(9)));
    expect((await series()).get(9)?.received).toBeNull();
  });

  it('does not know what nobody reports, but for results', async () => {
    const { record, series } = tenMinutes({ eventless: true });
    record(told({ type: 'succeeded', origin: 'result', time: at(2) }));
    const steps = await series();
    expect(steps.get(2)).toMatchObject({ received: null, succeeded: 1, failed: null, retried: null });
  });

  it('knows what a host reports later', async () => {
    const { record, series } = tenMinutes({ backdated: true });
    record(told({ type: 'received', name: 'pay', worker: 'w', time: at(-5) }));
    const steps = await series();
    expect([-6, -5, -4].map((minute) => steps.get(minute)?.received)).toEqual([null, 1, 0]);
  });
});
