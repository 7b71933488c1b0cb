/** Loads the task list, keeps its first page fresh, and holds its rows while the reader points at them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TaskListQuery } from '../../client.ts';
import type { SourceBody, TaskBody, TaskCapabilitiesBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { inPlace } from '../live/pace.ts';
import { useResource } from '../live/use-resource.ts';
import { listQuery } from './list-query.ts';

const MORE = 200;
const LONGEST_SILENCE_MS = 15_000;
const SHORTEST_GAP_MS = 1_000;
const LONGEST_GAP_MS = 6_000;
/** Limit for the data that the list transfers: 10 kB/s. */
const BYTES_PER_MS = 10;
/** More new tasks than this are not counted. */
const MOST_COUNTED = 1_000;

/** Result of {@link useTaskList}. */
export type TaskList = ReturnType<typeof useTaskList>;

/** The first page of the list. */
interface Page {
  /** The query of the page's URL. */
  readonly key: string;
  /** The query to which `next` belongs. */
  readonly asked: TaskListQuery;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  readonly total: number | null;
  readonly capabilities: TaskCapabilitiesBody | null;
  readonly sources: readonly SourceBody[];
}

/** The rows that are shown: a first page, and the pages after it that were read since. */
interface Shown {
  readonly first: Page;
  /** The latest first page. While rows are held, only its data of these rows is shown. */
  readonly latest: Page;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  /** Why the page after these rows could not be read; `null`: it could, or was not asked for. */
  readonly error: unknown;
  /** Tasks that arrived while the rows were held. */
  readonly fresh: ReadonlySet<string>;
  /** Whether more arrived than that. */
  readonly isPartial: boolean;
}

/** Identifies a task: two sources may have tasks with the same id. */
export const keyOf = ({ source, task_id }: TaskBody): string => `${source} ${task_id}`;

/**
 * Loads the list and keeps its first page fresh.
 *
 * @param rowCount how many rows fit on the screen
 * @param isHeld whether the rows must stay where they are
 */
export function useTaskList(query: URLSearchParams, rowCount: number, isHeld: boolean) {
  const key = query.toString();
  const latest = useFirstPage(key, query, rowCount);
  const shown = useRef<Shown | null>(null);
  const [, renderAgain] = useState({});
  shown.current = follow(shown.current, latest.data, isHeld);
  const loading = useRef<AbortController | null>(null);
  const { first = null, rows = [], next = null, error = null, fresh = NONE } = shown.current ?? {};
  useEffect(() => () => loading.current?.abort(), [first]);

  function show(changed: Shown | null): void {
    shown.current = changed;
    renderAgain({});
  }

  async function loadMore(): Promise<void> {
    if (first === null || next === null || loading.current?.signal.aborted === false) return;
    const controller = new AbortController();
    loading.current = controller;
    const { signal } = controller;
    try {
      const page = await client.tasks({ ...first.asked, limit: MORE, cursor: next }, { signal });
      if (!signal.aborted) show(shown.current && withMore(shown.current, page.tasks, page.next_cursor));
    } catch (reason) {
      if (!signal.aborted) show(shown.current && { ...shown.current, error: reason });
    }
    controller.abort();
  }

  return {
    rows,
    total: first?.total ?? null,
    hasMore: next !== null,
    error: latest.error ?? error,
    at: latest.at,
    isLoading: latest.data?.key !== key && latest.error === null,
    sources: latest.data?.sources,
    /** What the list supports; `null`: everything. */
    capabilities: latest.data?.capabilities ?? null,
    /** Tasks that arrived while the rows are held; `null`: none. */
    news: fresh.size === 0 ? null : { count: fresh.size, isPartial: shown.current?.isPartial === true },
    loadMore: () => void loadMore(),
    reload: latest.reload,
    /** Shows the changes that arrived while the rows were held. */
    release: () => show(follow(null, latest.data, false)),
  };
}

const isTask = ({ task_id }: { readonly task_id: string | null }): boolean => task_id !== null;

function useFirstPage(key: string, query: URLSearchParams, rowCount: number) {
  const gap = useRef(SHORTEST_GAP_MS);
  async function load(signal: AbortSignal): Promise<Page> {
    const asked: TaskListQuery = { ...listQuery(query), limit: rowCount };
    const page = await client.tasks(asked, { signal });
    const ms = JSON.stringify(page).length / BYTES_PER_MS;
    gap.current = Math.min(Math.max(ms, SHORTEST_GAP_MS), LONGEST_GAP_MS);
    const { tasks: rows, next_cursor: next, total, capabilities, sources } = page;
    return { key, asked, rows, next, total, capabilities, sources };
  }
  return useResource(key, load, {
    keep: true,
    news: isTask,
    every: LONGEST_SILENCE_MS,
    gap: () => gap.current,
  });
}

const NONE: ReadonlySet<string> = new Set();

/** What to show after an answer: the latest page, unless the rows of an earlier one are held. */
function follow(before: Shown | null, latest: Page | null, isHeld: boolean): Shown | null {
  if (latest === null) return null;
  if (before !== null && isHeld && before.first.key === latest.key) {
    return before.latest === latest ? before : withLatest(before, latest);
  }
  if (before?.first === latest) return before;
  const { rows, next } = latest;
  return { first: latest, latest, rows, next, error: null, fresh: NONE, isPartial: false };
}

/** The same rows with their latest data, and the number of those that arrived. */
function withLatest(before: Shown, latest: Page): Shown {
  const { rows, fresh, isPartial } = before;
  const known = new Set(rows.map(keyOf));
  const come = latest.rows.map(keyOf).filter((key) => !known.has(key));
  // If none of the rows is known, there may be others between them and the known ones.
  const hasGap =
    come.length > 0 && come.length === latest.rows.length && come.every((key) => !fresh.has(key));
  const isFull = fresh.size >= MOST_COUNTED;
  return {
    ...before,
    latest,
    rows: inPlace(rows, latest.rows, keyOf),
    fresh: isFull ? fresh : new Set([...fresh, ...come]),
    isPartial: isPartial || hasGap || isFull,
  };
}

/** A task that changed between two pages may be on both. Its first row is the newer one. */
function withMore(before: Shown, more: readonly TaskBody[], next: string | null): Shown {
  const known = new Set(before.rows.map(keyOf));
  return {
    ...before,
    rows: [...before.rows, ...more.filter((row) => !known.has(keyOf(row)))],
    next,
    error: null,
  };
}
