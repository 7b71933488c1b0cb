import { describe, expect, it } from 'vitest';
import { OUTCOMES } from '../../src/history/aggregate/cells.ts';
import { createMinuteAggregate } from '../../src/history/aggregate/minute-aggregate.ts';
import { addReading, type QueueGauges } from '../../src/history/aggregate/queue-gauges.ts';
import {
  absorbTaskCell,
  cellsOf,
  changedMinutes,
  createTaskCells,
  freeOldMinutes,
  needsBase,
  OTHERS,
  type TaskCells,
  taskCellFor,
  UNKNOWN,
} from '../../src/history/aggregate/task-cells.ts';
import { createMemoryState } from '../../src/history/memory/memory-state.ts';
import { createMemoryWriter } from '../../src/history/memory/memory-writer.ts';
import { createRecorder } from '../../src/history/memory/task-recorder.ts';
import { T0, told } from './telling.ts';

const MIB = 1024 * 1024;
const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;
const minuteOf = (minute: number): number => Math.floor(at(minute) / MINUTE);

/** How many succeeded, by name, queue and worker. */
function succeeded(state: TaskCells, minute: number): Map<string, number> {
  return new Map(
    [...cellsOf(state, (one) => one === minuteOf(minute))].map(({ name, queue, worker, columns }) => [
      `${name} ${queue} ${worker}`,
      columns[OUTCOMES.succeeded] as number,
    ]),
  );
}

describe('counts that a store keeps', () => {
  it('are apart by name, queue and worker, and the same by name', () => {
    const aggregate = createMinuteAggregate(MIB, true);
    const count = (name: string | null, queue: string | null, worker: string | null): void =>
      aggregate.count('succeeded', name, at(0), 5, at(0), { queue, worker });
    count('a', 'q', 'v');
    count('a', 'q', 'v');
    count('a', 'q', 'w');
    count('a', null, 'w');
    count(null, 'q', null);
    const kept = aggregate.kept?.tasks as TaskCells;
    expect(succeeded(kept, 0)).toEqual(
      new Map([
        ['a q v', 2],
        ['a q w', 1],
        [`a ${UNKNOWN} w`, 1],
        [`${UNKNOWN} q ${UNKNOWN}`, 1],
      ]),
    );
    expect(aggregate.counts('a', at(0), at(1)).succeeded).toBe(4);
    expect(aggregate.quantile('run', 'a', at(0), at(1), 0.5)).toBeGreaterThan(3);
  });

  it('are not there without a store', () => {
    const aggregate = createMinuteAggregate(MIB);
    aggregate.count('succeeded', 'a', at(0), 5, at(0), { queue: 'q', worker: 'w' });
    expect(aggregate.kept).toBeNull();
  });

  it('count what is beyond the bound together, in bounded memory', () => {
    const aggregate = createMinuteAggregate(MIB, true);
    for (let minute = 0; minute < 20; minute++) {
      for (let worker = 0; worker < 3_000; worker++) {
        const origin = { queue: 'q', worker: `w${worker}` };
        aggregate.count('succeeded', 'a', at(minute), Number.NaN, at(minute), origin);
      }
    }
    const kept = aggregate.kept?.tasks as TaskCells;
    const last = succeeded(kept, 19);
    expect(last.get(`${OTHERS} ${OTHERS} ${OTHERS}`)).toBeGreaterThan(1_000);
    expect([...last.values()].reduce((sum, count) => sum + count, 0)).toBe(3_000);
    expect(aggregate.bytes()).toBeLessThan(2 * MIB + 300_000);
  });

  it('name the minutes that have changed in a round', () => {
    const state = createTaskCells(MIB);
    const count = (minute: number): number =>
      taskCellFor(state, 'a', { queue: 'q', worker: 'w' }, at(minute), at(9));
    count(1);
    count(2);
    state.round = 2;
    count(1);
    expect(changedMinutes(state, 1)).toEqual([minuteOf(1), minuteOf(2)]);
    expect(changedMinutes(state, 2)).toEqual([minuteOf(1)]);
  });

  it('are freed when they are old, and have to be completed when they are counted again', () => {
    const state = createTaskCells(MIB);
    const count = (minute: number, now: number): number =>
      taskCellFor(state, 'a', { queue: 'q', worker: 'w' }, at(minute), at(now));
    count(1, 1);
    count(2, 2);
    count(30, 30);
    freeOldMinutes(state, (minute) => minute === minuteOf(2));
    expect(changedMinutes(state, 1)).toEqual([minuteOf(2), minuteOf(30)]);
    count(1, 30);
    expect([1, 25].map((minute) => needsBase(state, minuteOf(minute)))).toEqual([true, false]);
  });

  it('take in what is stored: added to what came later, or as the larger of two', () => {
    const aggregate = createMinuteAggregate(MIB, true);
    const { tasks } = aggregate.kept as { tasks: TaskCells };
    for (let event = 0; event < 3; event++) {
      aggregate.count('succeeded', 'a', at(0), 100, at(0), { queue: 'q', worker: 'w' });
    }
    const [own] = [...cellsOf(tasks, () => true)];
    const stored = { ...{ name: 'a', queue: 'q', worker: 'w' }, minute: minuteOf(0) };
    const columns = Uint32Array.from(own?.columns ?? []);
    absorbTaskCell(tasks, { ...stored, columns }, 'most', at(0));
    expect([...succeeded(tasks, 0).values()]).toEqual([3]);
    absorbTaskCell(tasks, { ...stored, columns }, 'add', at(0));
    expect([...succeeded(tasks, 0).values()]).toEqual([6]);
    aggregate.absorb('a', minuteOf(0), columns, at(0));
    expect(aggregate.counts('a', at(0), at(1)).succeeded).toBe(3);
    aggregate.absorb(OTHERS, minuteOf(0), columns, at(0));
    expect(aggregate.counts(aggregate.others, at(0), at(1)).succeeded).toBe(3);
  });
});

describe('depths of queues', () => {
  it('are kept by minute: the most, the last and how often they were read', () => {
    const gauges: QueueGauges = new Map();
    addReading(gauges, 'q', 5, { ageMs: 2_000, isAtLeast: false }, at(0));
    addReading(gauges, 'q', 9, { ageMs: null, isAtLeast: false }, at(0) + 1);
    addReading(gauges, 'q', 7, { ageMs: 1_000, isAtLeast: false }, at(0) + 2);
    addReading(gauges, 'q', 1, { ageMs: null, isAtLeast: false }, at(1));
    expect(gauges.get(minuteOf(0))?.get('q')).toEqual({
      ...{
        samples: 3,
        mostWaiting: 9,
        lastWaiting: 7,
        agedSamples: 2,
        mostAge: 2,
        lastAge: 1,
        atLeastSamples: 0,
      },
    });
    expect(gauges.get(minuteOf(1))?.get('q')).toMatchObject({ samples: 1, agedSamples: 0 });
  });

  it('are bounded', () => {
    const gauges: QueueGauges = new Map();
    for (let queue = 0; queue < 2_000; queue++)
      addReading(gauges, `q${queue}`, 1, { ageMs: null, isAtLeast: false }, at(0));
    expect(gauges.get(minuteOf(0))?.size).toBe(1_000);
    for (let minute = 1; minute < 100; minute++)
      addReading(gauges, 'q', 1, { ageMs: null, isAtLeast: false }, at(minute));
    expect(gauges.size).toBe(60);
    expect(gauges.has(minuteOf(0))).toBe(false);
  });
});

describe('a history whose counts are kept', () => {
  function historyOf(keepsCounts = true) {
    const state = createMemoryState({ now: () => at(10), keepsCounts });
    const writer = createMemoryWriter(state, createRecorder({ ...state, packOldest: () => {} }));
    return { state, writer };
  }

  it('counts by the queue and the worker of the event', () => {
    const { state, writer } = historyOf();
    writer.recordTask(told({ type: 'sent', name: 'pay', queue: 'q', time: at(1) }));
    writer.recordTask(told({ type: 'started', worker: 'w', time: at(1) }));
    writer.recordTask(told({ type: 'succeeded', origin: 'result', worker: null, time: at(1) }));
    const kept = state.aggregate.kept?.tasks as TaskCells;
    const cells = [...cellsOf(kept, () => true)];
    expect(cells.map(({ queue, worker }) => [queue, worker])).toEqual([
      ['q', UNKNOWN],
      ['q', 'w'],
    ]);
    expect([...succeeded(kept, 1).values()]).toEqual([0, 1]);
  });

  it('leaves out stored ends in minutes that an earlier process has counted', () => {
    const { state, writer } = historyOf();
    state.aggregate.kept?.counted.add(minuteOf(2));
    const stored = { stored: true, origin: 'result', type: 'succeeded', name: 'pay' } as const;
    writer.recordTask(told({ id: '1', time: at(2), ...stored }));
    writer.recordTask(told({ id: '2', time: at(3), ...stored }));
    expect(state.aggregate.counts('pay', at(0), at(9)).succeeded).toBe(1);
  });

  it('records the depths of queues, and not without a store', () => {
    const { state, writer } = historyOf();
    writer.recordQueue('q', 4, at(9));
    expect(state.aggregate.kept?.queues.get(minuteOf(10))?.get('q')).toMatchObject({
      ...{ lastWaiting: 4, lastAge: 60 },
    });
    const without = historyOf(false);
    without.writer.recordQueue('q', 4, null);
    expect(without.state.aggregate.kept).toBeNull();
  });
});
