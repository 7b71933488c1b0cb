/** Statistics over tasks. */
import { createStatsAccumulator } from '../../select.ts';
import type { ReadContext, TaskStats, TaskStatsQuery } from '../../source.ts';
import { createSlices } from '../slices.ts';
import type { Records } from '../table/records.ts';
import type { Rows } from './rows.ts';
import type { TaskList } from './task-list.ts';

/** Length of a slice, in milliseconds: shorter than others, for many clients ask for statistics at once. */
const SLICE_MS = 2;
const MINUTE_MS = 60_000;

/** Sums up the tasks that last changed within the window, in slices, until the reader has left. */
export async function summarize(
  query: TaskStatsQuery,
  context: ReadContext,
  tasks: TaskList,
  records: Records,
  rows: Rows,
): Promise<TaskStats> {
  const { now, minutes, filter } = query;
  const start = now.getTime() - minutes * MINUTE_MS;
  const since = filter.since !== null && filter.since.getTime() > start ? filter.since : new Date(start);
  const statistics = createStatsAccumulator(query);
  const slices = createSlices(SLICE_MS);
  for (const slot of tasks.slots({ ...filter, since, after: null, sort: 'timestamp', order: 'desc' })) {
    // The task may have been evicted in an earlier slice.
    const isPresent = records.indexed[slot] === 1;
    if (isPresent && (filter.q === null || filter.search(rows.brief(slot)))) {
      statistics.add(rows.figures(slot));
    }
    if (!slices.isOver()) continue;
    await slices.next();
    if (context.signal.aborted) break;
  }
  return statistics.result();
}
