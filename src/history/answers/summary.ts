import { createStatsAccumulator } from '../../select.ts';
import type { ReadContext, TaskStats, TaskStatsQuery } from '../../source.ts';
import type { Records } from '../table/records.ts';
import type { Rows } from './rows.ts';
import type { TaskList } from './task-list.ts';

/** Tasks summed up before the host's event loop gets a turn. */
const SLICE = 1_000;
const MINUTE_MS = 60_000;

/** Sums up the tasks whose last change lies in the window, in slices. */
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
  let left = SLICE;
  for (const slot of tasks.slots({ ...filter, since, after: null, sort: 'timestamp', order: 'desc' })) {
    // The task may have been dropped while others were summed up.
    const isThere = records.indexed[slot] === 1;
    if (isThere && (filter.q === null || filter.search(rows.brief(slot)))) statistics.add(rows.figures(slot));
    if (--left > 0) continue;
    left = SLICE;
    await new Promise((resolve) => setImmediate(resolve));
    if (context.signal.aborted) break;
  }
  return statistics.result();
}
