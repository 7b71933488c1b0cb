/** Loads earlier counts at the start, so that counting continues. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { freeMinutes, MINUTE_MS } from '../../aggregate/cells.ts';
import { absorbTaskCell } from '../../aggregate/task-cells.ts';
import type { StoredRollup } from '../../rollup-store.ts';
import { columnsOf, WATCHED } from './rollup-cells.ts';
import { sampleOf } from './rollup-depths.ts';
import { MOST_CELLS, type RollupWriter } from './rollup-writer.ts';

const HOUR_MINUTES = 60;
const DAY_MINUTES = 1_440;

/** If all instances receive the same messages, their counts are loaded. Rejects with what the store throws. */
export async function loadCounts(writer: RollupWriter): Promise<void> {
  const { store, clock, startMinute, kept, counts, watchedBefore } = writer;
  const thisMinute = Math.floor(clock() / MINUTE_MS);
  const first = startMinute - 1;
  const read = (
    level: 0 | 1 | 2 | 4 | 5,
    span: 60 | 3_600,
    from: number,
    to: number,
  ): Promise<readonly StoredRollup[]> =>
    store.read(
      { level, span, from: from * MINUTE_MS, to: to * MINUTE_MS, names: [], queues: [], workers: [] },
      MOST_CELLS,
    );
  const counted = await read(0, 60, startMinute - DAY_MINUTES, thisMinute + 1);
  // Of hours, only those that are over are stored.
  const hour = Math.floor(startMinute / HOUR_MINUTES - 1) * HOUR_MINUTES;
  const byName = [
    ...(await read(1, 3_600, hour - DAY_MINUTES + HOUR_MINUTES, hour)),
    ...(await read(1, 60, hour, thisMinute + 1)),
  ];
  const tasks = await read(4, 60, first, thisMinute + 1);
  const queues = [
    ...(await read(5, 60, startMinute - DAY_MINUTES, thisMinute + 1)),
    ...(await read(2, 60, startMinute - DAY_MINUTES, thisMinute + 1)),
  ];
  for (const { start, counts: stored } of counted) {
    const minute = start / MINUTE_MS;
    if (minute <= startMinute) kept.counted.add(minute);
    if (minute >= first) watchedBefore.set(minute, stored[WATCHED] ?? 0);
  }
  // Tasks read from storage meanwhile have been counted by the instance that counted these minutes.
  const isKnown = (minute: number): boolean => minute < startMinute && kept.counted.has(minute);
  counts.drop(isKnown);
  freeMinutes(kept.tasks.cells, isKnown);
  await scheduler.run('rollups', absorbCells(writer, byName, tasks, queues));
  kept.tasks.ownFrom = Math.max(kept.tasks.ownFrom, first);
  writer.isLoaded = true;
}

function* absorbCells(
  { counts, kept, clock }: RollupWriter,
  byName: readonly StoredRollup[],
  tasks: readonly StoredRollup[],
  queues: readonly StoredRollup[],
): Steps<void> {
  for (const cell of byName) {
    counts.absorb(cell.name, cell.start / MINUTE_MS, columnsOf(cell), clock());
    yield;
  }
  for (const cell of tasks) {
    const given = { ...cell, minute: cell.start / MINUTE_MS, columns: columnsOf(cell) };
    absorbTaskCell(kept.tasks, given, 'most', clock());
    yield;
  }
  for (const cell of queues) {
    counts.queues.absorb(sampleOf(cell));
    yield;
  }
}
