/** Loads the counts of others into memory by minute, if this instance does not receive everything. */
import { type Steps, scheduler } from '../../../scheduler.ts';
import { shareCalls } from '../../../single-flight.ts';
import { MINUTE_MS, WIDTH } from '../../aggregate/cells.ts';
import type { StoredRollup } from '../../rollup-store.ts';
import { columnsOf } from '../rollups/rollup-cells.ts';
import type { ReaderContext } from './reader-context.ts';

/** The number of minutes whose counts are judged. */
const MINUTES = 24 * 60;
/** Minutes of one read. */
const MINUTES_AT_ONCE = 120;
/** Minutes that may still change. */
const OPEN_MINUTES = 5;
/** Most cells of one read. */
const MOST_CELLS = 20_000;
/** Between two reads, in milliseconds: counts are written every 10 s. */
const READ_MS = 5_000;

/**
 * @returns loads what was counted since the last time, once for concurrent calls; rejects with what the store throws
 */
export function createStoredCounts(reader: Pick<ReaderContext, 'reads' | 'memory'>): () => Promise<void> {
  /** All minutes before this one have been loaded. */
  let from = Number.NEGATIVE_INFINITY;
  return shareCalls(async () => {
    const to = Math.floor(Date.now() / MINUTE_MS) + 1;
    const first = Math.max(from, to - MINUTES);
    for (let start = first; start < to; start += MINUTES_AT_ONCE) {
      const cells = await read(reader, start, Math.min(to, start + MINUTES_AT_ONCE));
      await scheduler.run('activity', absorb(reader, cells));
    }
    from = to - OPEN_MINUTES;
  }, READ_MS);
}

function read(
  { reads }: Pick<ReaderContext, 'reads'>,
  from: number,
  to: number,
): Promise<readonly StoredRollup[]> {
  const all = { names: [], queues: [], workers: [] };
  const query = { level: 1, span: 60, from: from * MINUTE_MS, to: to * MINUTE_MS, ...all } as const;
  // No caller's signal ends it: others may wait for it, too.
  return reads.read((session) => session.rollups.read(query, MOST_CELLS), {
    signal: new AbortController().signal,
  });
}

/** Counts of several instances for one name and minute are added. They are adjacent. */
function* absorb({ memory }: Pick<ReaderContext, 'memory'>, cells: readonly StoredRollup[]): Steps<void> {
  const sums = new Map<string, { readonly cell: StoredRollup; readonly columns: Float64Array }>();
  for (const cell of cells) {
    const key = `${cell.start} ${cell.name}`;
    const columns = columnsOf(cell);
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { cell, columns });
    else {
      for (let column = 0; column < WIDTH; column++) {
        known.columns[column] = (known.columns[column] as number) + (columns[column] as number);
      }
    }
    yield;
  }
  for (const { cell, columns } of sums.values()) {
    memory.counts.absorb(cell.name, cell.start / MINUTE_MS, columns, Date.now());
    yield;
  }
}
