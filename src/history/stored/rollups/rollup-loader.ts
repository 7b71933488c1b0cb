/** Loads earlier counts at the start, so that counting continues. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { freeMinutes, MINUTE_MS } from '../../aggregate/cells.ts';
import type { StoredRollup } from '../../rollup-store.ts';
import { columnsOf } from './rollup-cells.ts';
import { sampleOf } from './rollup-depths.ts';
import type { RollupWriter } from './rollup-writer.ts';

const HOUR_MINUTES = 60;
const DAY_MINUTES = 1_440;
/** Most cells that are read at once. */
const MOST_CELLS = 100_000;

/** Loads the counts of a day into memory. Rejects with what the store throws. */
export async function loadCounts(writer: RollupWriter): Promise<void> {
  const { store, clock, startMinute, kept, counts } = writer;
  const end = Math.floor(clock() / MINUTE_MS) + 1;
  const read = (
    level: 0 | 1 | 2 | 5,
    from: number,
    to: number,
    span: 60 | 3_600 = 60,
  ): Promise<readonly StoredRollup[]> =>
    store.read(
      { level, span, from: from * MINUTE_MS, to: to * MINUTE_MS, names: [], queues: [], workers: [] },
      MOST_CELLS,
    );
  const day = startMinute - DAY_MINUTES;
  const counted = await read(0, day, end);
  // Of hours, only those that are over are stored.
  const hour = Math.floor(startMinute / HOUR_MINUTES - 1) * HOUR_MINUTES;
  const byName = [
    ...(await read(1, hour - DAY_MINUTES + HOUR_MINUTES, hour, 3_600)),
    ...(await read(1, hour, end)),
  ];
  const queues = [...(await read(5, day, end)), ...(await read(2, day, end))];
  for (const { start } of counted) if (start / MINUTE_MS <= startMinute) kept.counted.add(start / MINUTE_MS);
  // Tasks read from storage meanwhile have been counted by the instance that counted these minutes.
  const isKnown = (minute: number): boolean => minute < startMinute && kept.counted.has(minute);
  counts.drop(isKnown);
  freeMinutes(kept.tasks.cells, isKnown);
  await scheduler.run('rollups', absorbCells(writer, byName, queues));
  writer.isLoaded = true;
}

function* absorbCells(
  { counts, clock }: RollupWriter,
  byName: readonly StoredRollup[],
  queues: readonly StoredRollup[],
): Steps<void> {
  for (const cell of byName) {
    counts.absorb(cell.name, cell.start / MINUTE_MS, columnsOf(cell), clock());
    yield;
  }
  for (const cell of queues) {
    counts.queues.absorb(sampleOf(cell));
    yield;
  }
}
