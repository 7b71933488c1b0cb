/** Loads the task list, keeps its first rows fresh, and holds them while the reader points at them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { SourceBody, TaskBody, TaskCapabilitiesBody, TaskListQuery } from '../../client.ts';
import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { inPlace } from '../parts/use-held.ts';
import { useChanges } from './changes.ts';
import { canAskForChanges, listQuery } from './list-query.ts';
import { keyOf, type Listed, unique, withChanges } from './task-list.ts';

const MORE = 200;
/** The whole first page is requested at least this often, in milliseconds, if anything happens. */
const WHOLE_MS = 15_000;
const SHORTEST_GAP_MS = 1_000;
const LONGEST_GAP_MS = 6_000;
/** Limit for the data that the list transfers: 5 kB/s. */
const BYTES_PER_MS = 5;
/** More rows than this are requested again instead of kept. */
const MOST_KEPT = 500;

/** Result of {@link useTaskList}. */
export interface TaskList {
  readonly rows: readonly TaskBody[];
  readonly total: number | null;
  readonly hasMore: boolean;
  readonly error: unknown;
  readonly at: number | null;
  readonly isLoading: boolean;
  readonly sources: readonly SourceBody[] | undefined;
  /** What the list supports; `null`: everything. */
  readonly capabilities: TaskCapabilitiesBody | null;
  /** Tasks that arrived while the rows are held; `null`: none. */
  readonly news: { readonly count: number; readonly isPartial: boolean } | null;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** Shows the changes that arrived while the rows were held. */
  readonly release: () => void;
}

/**
 * Loads the list and keeps its first page fresh.
 *
 * @param rowCount how many rows fit on the screen
 * @param isHeld whether the rows must stay where they are
 */
export function useTaskList(query: URLSearchParams, rowCount: number, isHeld: boolean): TaskList {
  const key = query.toString();
  const first = useFirstRows(key, query, rowCount);
  const { shown, news, release } = useHeld(first.data, isHeld);
  const further = useFurther(shown);
  const rows = shown === null ? [] : unique([...shown.rows, ...further.rows]);
  return {
    rows: shown === first.data || first.data === null ? rows : inPlace(rows, first.data.rows, keyOf),
    total: shown?.total ?? null,
    hasMore: further.next !== null,
    error: first.error ?? further.error,
    at: shown === null ? null : first.at,
    isLoading: first.data?.key !== key && first.error === null,
    sources: first.data?.sources,
    capabilities: first.data?.capabilities ?? null,
    news,
    loadMore: further.load,
    reload: first.reload,
    release,
  };
}

/** The current first rows. Requests the changes, or all of the rows if the changes are unknown. */
function useFirstRows(key: string, query: URLSearchParams, rowCount: number) {
  const changes = useChanges();
  const latest = useRef<{ listed: Listed | null; wholeAt: number; gap: number }>({
    listed: null,
    wholeAt: 0,
    gap: SHORTEST_GAP_MS,
  });

  async function load(signal: AbortSignal): Promise<Listed> {
    const now = Date.now();
    const { listed: before, wholeAt } = latest.current;
    const { since, isPartial } = changes.take();
    const asked: TaskListQuery = { ...listQuery(query), limit: rowCount };
    const known =
      before?.key === key && before.rows.length < MOST_KEPT && now - wholeAt < WHOLE_MS && !isPartial
        ? before
        : null;
    const isPart = known !== null && since !== null && canAskForChanges(query, known.capabilities);
    try {
      const page = await client.tasks(isPart ? { ...asked, since: laterOf(asked.since, since) } : asked, {
        signal,
      });
      const { tasks: rows, next_cursor: next, total, capabilities, sources } = page;
      // A list that was cut may miss changes, so the next request is for all of it.
      if (isPart && next !== null) changes.lose();
      const listed = isPart
        ? { ...withChanges(known, rows), sources }
        : { key, asked, rows, next, total, capabilities, sources };
      const gap = JSON.stringify(page).length / BYTES_PER_MS;
      latest.current = {
        listed,
        wholeAt: isPart ? wholeAt : now,
        gap: Math.min(Math.max(gap, SHORTEST_GAP_MS), LONGEST_GAP_MS),
      };
      return listed;
    } catch (error) {
      changes.lose();
      throw error;
    }
  }

  return useResource(key, load, { keep: true, news: isTask, every: WHOLE_MS, gap: () => latest.current.gap });
}

const isTask = ({ task_id }: { readonly task_id: string | null }): boolean => task_id !== null;

function laterOf(filter: TaskListQuery['since'], since: number): string {
  const from = filter === undefined ? Number.NEGATIVE_INFINITY : new Date(filter).getTime();
  return new Date(Math.max(from, since)).toISOString();
}

interface Held {
  readonly shown: Listed | null;
  /** Tasks that arrived since it is held. */
  readonly fresh: ReadonlySet<string>;
  readonly isPartial: boolean;
}

/** More tasks than this are not counted. */
const MOST_COUNTED = 1_000;

/** Keeps the shown rows while they are held, and counts the tasks that arrive. */
function useHeld(latest: Listed | null, isHeld: boolean) {
  const [held, setHeld] = useState<Held>({ shown: latest, fresh: new Set(), isPartial: false });
  const [released, release] = useState<Listed | null>(null);
  const { shown, fresh, isPartial } = held;
  const mayReplace = !isHeld || shown === null || shown.key !== latest?.key || released === shown;
  useEffect(() => {
    setHeld((before) => {
      if (before.shown === latest) return before;
      return mayReplace ? { shown: latest, fresh: new Set(), isPartial: false } : withFresh(before, latest);
    });
  }, [latest, mayReplace]);
  return {
    shown: mayReplace ? latest : shown,
    news: mayReplace || fresh.size === 0 ? null : { count: fresh.size, isPartial },
    release: () => release(shown),
  };
}

function withFresh({ shown, fresh, isPartial }: Held, latest: Listed | null): Held {
  const known = new Set(shown?.rows.map(keyOf));
  const rows = latest?.rows ?? [];
  const come = rows.map(keyOf).filter((key) => !known.has(key));
  // If none of the rows is known, there may be others between them and the known ones.
  const hasGap = come.length > 0 && come.every((key) => !fresh.has(key)) && come.length === rows.length;
  const isFull = fresh.size >= MOST_COUNTED;
  return {
    shown,
    fresh: isFull ? fresh : new Set([...fresh, ...come]),
    isPartial: isPartial || hasGap || isFull,
  };
}

interface Further {
  /** The rows that these continue. */
  readonly of: Listed | null;
  readonly rows: readonly TaskBody[];
  readonly next: string | null;
  readonly error: unknown;
}

/** The rows after the first ones, read page by page. */
function useFurther(shown: Listed | null) {
  const [further, setFurther] = useState<Further>({ of: null, rows: [], next: null, error: null });
  const loading = useRef<AbortController | null>(null);
  useEffect(() => () => loading.current?.abort(), [shown]);
  const isOwn = further.of === shown;
  const next = isOwn ? further.next : (shown?.next ?? null);

  async function load(): Promise<void> {
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

  const none: readonly TaskBody[] = [];
  return {
    rows: isOwn ? further.rows : none,
    next,
    error: isOwn ? further.error : null,
    load: () => void load(),
  };
}
