/** How many messages waited in queues over time, from rollups. */

import { scheduler } from '../../../scheduler.ts';
import { depthsOf, MOST_DEPTHS, type QueueSample } from '../../../select/queue-depths.ts';
import type { StatsWindow } from '../../../select/stats-steps.ts';
import type { QueueDepths, ReadContext } from '../../../source.ts';
import { OUTCOMES } from '../../aggregate/cells.ts';
import { UNKNOWN } from '../../aggregate/task-cells.ts';
import type { RollupStore, StoredRollup } from '../../rollup-store.ts';
import { GAUGE } from './rollup-cells.ts';
import type { Piece } from './rollup-pieces.ts';

/** Most cells that one answer reads of one level and span. */
const MOST_CELLS = 50_000;
/** Movements of messages of a queue. */
const MOVES = ['sent', 'received', 'started'] as const;

/**
 * The queues with the most waiting messages. Rejects with what the store throws. @param queues only these; empty: all
 */
export async function readDepths(
  store: RollupStore,
  pieces: readonly Piece[],
  window: StatsWindow,
  queues: readonly string[],
  context: ReadContext,
): Promise<readonly QueueDepths[]> {
  const all = { names: [], workers: [] };
  const steps = { first: window.first, ms: window.stepSeconds * 1_000 };
  const whole = { first: window.first, ms: steps.ms * window.count };
  const [peaks, moves] = await Promise.all([
    Promise.all(pieces.map((piece) => store.peaks({ ...piece, ...all, queues, level: 5 }, steps))),
    Promise.all(pieces.map((piece) => store.peaks({ ...piece, ...all, queues, level: 2 }, whole))),
  ]);
  const most = new Map<string, number>();
  // Queues that were not read, and from which messages were taken.
  for (const { queue, counts } of moves.flat()) {
    if (queue !== UNKNOWN && MOVES.some((move) => (counts[OUTCOMES[move]] ?? 0) > 0)) most.set(queue, 0);
  }
  for (const { queue, counts } of peaks.flat()) {
    most.set(queue, Math.max(most.get(queue) ?? 0, counts[GAUGE.mostWaiting] ?? 0));
  }
  if (most.size === 0) return [];
  const busiest = [...most].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const listed = busiest.slice(0, MOST_DEPTHS).map(([queue]) => queue);
  const read = pieces.flatMap((piece) => [
    store.read({ ...piece, ...all, queues: listed, level: 5 }, MOST_CELLS),
    store.read({ ...piece, ...all, queues: [...listed, UNKNOWN], level: 2 }, MOST_CELLS),
  ]);
  const samples = (await Promise.all(read)).flat().map(sampleOf);
  return await scheduler.run('stats', depthsOf(samples, window), context);
}

/** The counts of a queue in a cell of level 2 or 5. */
export function sampleOf({ level, queue, start, counts }: StoredRollup): QueueSample {
  const at = (column: number): number => counts[column] ?? 0;
  const name = queue === UNKNOWN ? null : queue;
  if (level !== 5) {
    return {
      ...{ queue: name, at: start, mostWaiting: null, lastWaiting: null, age: null, isAtLeast: false },
      ...{ sent: at(OUTCOMES.sent), received: at(OUTCOMES.received), started: at(OUTCOMES.started) },
    };
  }
  return {
    ...{ queue: name, at: start, mostWaiting: at(GAUGE.mostWaiting), lastWaiting: at(GAUGE.lastWaiting) },
    ...{ age: at(GAUGE.agedSamples) > 0 ? at(GAUGE.mostAge) : null, isAtLeast: at(GAUGE.atLeastSamples) > 0 },
    ...{ sent: 0, received: 0, started: 0 },
  };
}
