/** Loads the pages of the task list. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SourceBody, TaskBody } from '../../client.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { listQuery, orderOf } from './list-query.ts';

const PAGE = 200;
const MORE = 500;

/** Result of {@link useTaskList}. */
export interface TaskList {
  readonly rows: readonly TaskBody[];
  readonly total: number | null;
  readonly hasMore: boolean;
  readonly error: unknown;
  readonly at: number | null;
  readonly isLoading: boolean;
  readonly sources: readonly SourceBody[] | undefined;
  /** Whether newer data is held back because the reader has scrolled down. */
  readonly isBehind: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
}

interface Further {
  /** The first page that these pages continue. */
  readonly of: unknown;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  readonly error: unknown;
}

/**
 * Loads the list and keeps its first page fresh.
 *
 * @param isAtTop false keeps the displayed rows unchanged while the reader scrolls
 */
export function useTaskList(query: URLSearchParams, isAtTop: boolean): TaskList {
  const key = query.toString();
  const first = useResource(
    key,
    async (signal) => {
      const asked = listQuery(query, Date.now());
      return { key, asked, page: await client.tasks({ ...asked, limit: PAGE }, { signal }) };
    },
    { keep: true, news: () => true, every: 10_000 },
  );
  const [held, setHeld] = useState(first.data);
  const [further, setFurther] = useState<Further>({ of: null, rows: [], next: null, error: null });
  const loading = useRef<AbortController | null>(null);

  // Do not move rows under the reader: a newer first page waits until the reader is back at the top.
  const mayReplace = held === null || held.key !== first.data?.key || isAtTop;
  const shown = mayReplace ? first.data : held;
  useEffect(() => {
    if (shown !== held) setHeld(shown);
  }, [shown, held]);
  useEffect(() => () => loading.current?.abort(), [shown]);

  const isOwn = further.of === shown;
  const next = isOwn ? further.next : (shown?.page.next_cursor ?? null);

  async function loadMore(): Promise<void> {
    if (shown === null || next === null || loading.current?.signal.aborted === false) return;
    const controller = new AbortController();
    loading.current = controller;
    const { signal } = controller;
    const before = isOwn ? further.rows : [];
    try {
      const page = await client.tasks({ ...shown.asked, limit: MORE, cursor: next }, { signal });
      if (!signal.aborted) {
        setFurther({ of: shown, rows: [...before, ...page.tasks], next: page.next_cursor, error: null });
      }
    } catch (error) {
      if (!signal.aborted) setFurther({ of: shown, rows: before, next, error });
    }
    controller.abort();
  }

  const rows = shown?.page.tasks ?? [];
  return {
    rows: isOwn && further.rows.length > 0 ? unique([...rows, ...further.rows]) : rows,
    total: shown?.page.total ?? null,
    hasMore: next !== null,
    error: first.error ?? (isOwn ? further.error : null),
    at: shown === null ? null : first.at,
    isLoading: first.data?.key !== key && first.error === null,
    sources: shown?.page.sources,
    isBehind: shown !== first.data && orderOf(query).sort === 'timestamp',
    loadMore: () => void loadMore(),
    reload: first.reload,
  };
}

/** A task that changed between two pages may appear on both. The first one is newer. */
function unique(rows: readonly TaskBody[]): readonly TaskBody[] {
  const seen = new Set<string>();
  return rows.filter(({ task_id }) => !seen.has(task_id) && seen.add(task_id));
}
