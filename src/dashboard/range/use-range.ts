import { useMemo } from 'preact/hooks';
import type { TaskListQuery, TasksBody } from '../../client.ts';
import { client } from '../live/connection.ts';
import { historyStart } from '../live/history-start.ts';
import { useResource } from '../live/use-resource.ts';
import { currentRoute, type Route } from '../route.ts';
import { useStore } from '../store.ts';
import { DAY_MINUTES, type Range, rangeOf, type StatsWindow } from './range.ts';

/** Views that compare periods unless the address says otherwise. */
const COMPARED: ReadonlySet<string> = new Set(['names']);

/** The period in the address. */
export function useRange(): Range {
  const { query } = useStore(currentRoute);
  return useMemo(() => rangeOf(query), [query]);
}

/**
 * The latest tasks of a period and its statistics: one request, or two if the period is too long for that.
 *
 * @param filters of both
 * @param stats further parameters of the statistics
 */
export async function tasksWithStats(
  range: Range,
  { limit, filters, stats }: Record<'filters' | 'stats', TaskListQuery> & { readonly limit: number },
  signal: AbortSignal,
): Promise<TasksBody> {
  const [period, window] = [range.counted(), range.stats()];
  const counted = { ...filters, ...stats, ...window };
  if (window.stats <= DAY_MINUTES) {
    return await client.tasks({ ...counted, ...period, limit }, { signal });
  }
  const [listed, { stats: figures }] = await Promise.all([
    client.tasks({ ...filters, ...period, limit }, { signal }),
    client.tasks({ ...counted, limit: 0 }, { signal }),
  ]);
  return figures === undefined ? listed : { ...listed, stats: figures };
}

/** Whether figures are compared with the previous period. */
export function isComparedAt({ path, query }: Route): boolean {
  const asked = query.get('compare');
  return asked === null ? COMPARED.has(path) : asked === '1';
}

/**
 * The data of the previous period; `null` without a comparison, or until it is loaded.
 *
 * @param key identifies the request, together with the period
 * @param load sends the request for that window
 */
export function usePrevious<T>(
  key: string,
  load: (window: StatsWindow, signal: AbortSignal) => Promise<T>,
): T | null {
  const range = useRange();
  const isCompared = isComparedAt(useStore(currentRoute));
  const { data } = useResource(
    `${isCompared} ${range.key} ${key}`,
    async (signal) => (isCompared ? await load(range.before(), signal) : null),
    { every: 60_000 },
  );
  return isCompared ? data : null;
}

/** When the history starts, if it does not contain the whole previous period; `null` also without a comparison. */
export function useStartInBefore(): Date | null {
  const { since, until } = useRange();
  const isCompared = isComparedAt(useStore(currentRoute));
  const { at } = useStore(historyStart);
  const start = 2 * since.getTime() - until.getTime();
  return isCompared && at !== null && at > start ? new Date(at) : null;
}
