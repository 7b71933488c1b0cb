/** Jobs in another order than that of time: as many as one answer may look at are read and sorted together. */
import { createLruCache, type LruCache } from '../../../lru-cache.ts';
import { mergeSorted } from '../../../merge-sorted.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { passesFilters } from '../../../select/task-filter.ts';
import { comparePositions, sortKeyOf } from '../../../select/task-order.ts';
import type { TaskPosition, TaskQuery } from '../../../source.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { bareTask, type FoundJob, loadKnown } from '../jobs/job-loader.ts';
import type { KnownJob } from '../jobs/job-row.ts';
import { loadMatching, showsMostJobs, walkOfQuery } from './task-rows.ts';

/** A matching job, at its position in the list. */
export interface PortionRow extends TaskPosition {
  /** Without its texts. */
  readonly job: KnownJob;
}

/** Jobs that are sorted together. */
export interface Portion {
  /** In the order of the list. */
  readonly rows: readonly PortionRow[];
  /** Where the next portion begins; `null` when there is none. */
  readonly end: TaskPosition | null;
}

/**
 * Keeps portions for a short time, so that the pages of one walk share them. Only their order is kept: each page reads
 * its jobs again.
 */
export interface PortionCache {
  /** @param start where the portion begins; `null`: with the newest job */
  get(query: TaskQuery, start: TaskPosition | null): Portion | null;
  set(query: TaskQuery, start: TaskPosition | null, portion: Portion): void;
  clear(): void;
}

/** Jobs that are read at a time. */
const BATCH = 500;
/** How long a portion is kept, in milliseconds. */
const KEPT_MS = 30_000;
/** Most memory for all portions: about 40,000 jobs. In bytes. */
const MOST_BYTES = 16_777_216;
const BYTES_PER_ROW = 400;
const MOST_PORTIONS = 16;
/** Rows that are merged in one step, which takes less than a millisecond. */
const STEP = 500;

interface CachedPortion extends Portion {
  /** By `performance.now()`. */
  readonly until: number;
}

export function createPortionCache(): PortionCache {
  const portions: LruCache<CachedPortion> = createLruCache({
    entries: MOST_PORTIONS,
    bytes: MOST_BYTES,
    sizeOf: ({ rows }) => (rows.length + 1) * BYTES_PER_ROW,
  });
  let timer: NodeJS.Timeout | undefined;
  return {
    get(query, start) {
      const found = portions.get(keyOf(query, start));
      return found === undefined || found.until < performance.now() ? null : found;
    },
    set(query, start, portion) {
      // A search belongs to one router: its results may not be available to another.
      if (query.q !== null) return;
      portions.set(keyOf(query, start), { ...portion, until: performance.now() + KEPT_MS });
      clearTimeout(timer);
      timer = setTimeout(() => portions.clear(), KEPT_MS).unref();
    },
    clear() {
      clearTimeout(timer);
      portions.clear();
    },
  };
}

function keyOf(query: TaskQuery, start: TaskPosition | null): string {
  const { states, engineStates, names, workers, queues, parentId, conditions, q, since, until } = query;
  const { sort, order, scan } = query;
  return JSON.stringify([
    states,
    engineStates,
    names,
    workers,
    queues,
    parentId,
    conditions,
    q,
    since,
    until,
    sort,
    order,
    scan,
    start,
  ]);
}

/** @param start where the portion begins; `null`: with the newest job */
export async function readPortion(
  access: QueueAccess,
  query: TaskQuery,
  start: TaskPosition | null,
  options: ReadOptions,
): Promise<Portion> {
  const withTexts = query.q !== null && showsMostJobs(query);
  const walk = await walkOfQuery(access, query, { after: start, order: 'desc', withTexts }, options);
  const batches: (readonly PortionRow[])[] = [];
  let loading: Promise<readonly PortionRow[]> = Promise.resolve([]);
  for (let scanned = 0; ; ) {
    const rows = await walk.next(Math.min(BATCH, query.scan - scanned));
    batches.push(await loading);
    const last = rows.at(-1);
    if (last === undefined) return { rows: await mergeBatches(batches, query, options), end: null };
    scanned += rows.length;
    loading = loadBatch(access, rows, query, withTexts, options);
    // The next rows are found meanwhile. If that fails, these are not awaited.
    loading.catch(() => {});
    if (scanned < query.scan) continue;
    const end = (await walk.hasMore()) ? walk.positionBehind(last) : null;
    batches.push(await loading);
    return { rows: await mergeBatches(batches, query, options), end };
  }
}

/** Those of the jobs that match, sorted. */
async function loadBatch(
  access: QueueAccess,
  found: readonly FoundJob[],
  query: TaskQuery,
  withTexts: boolean,
  options: ReadOptions,
): Promise<readonly PortionRow[]> {
  const { q, sort, order } = query;
  const jobs = await loadKnown(access, found, withTexts, options);
  const searched = q === null ? null : await loadMatching(access, jobs, query, jobs.length, options);
  const ids = searched === null ? null : new Set(searched.map(({ id }) => id));
  const now = Date.now();
  const rows: PortionRow[] = [];
  for (const job of jobs) {
    const task = bareTask(access, job, now);
    const matches = ids === null ? passesFilters(task, query) : ids.has(task.id);
    if (!matches) continue;
    rows.push({
      key: sortKeyOf(task, sort),
      id: task.id,
      job: job.values === null ? job : { ...job, values: null },
    });
  }
  return rows.sort((a, b) => comparePositions(a, b, order));
}

async function mergeBatches(
  batches: readonly (readonly PortionRow[])[],
  { order }: TaskQuery,
  { signal }: ReadOptions,
): Promise<readonly PortionRow[]> {
  function* steps(): Steps<readonly PortionRow[]> {
    const rows: PortionRow[] = [];
    for (const row of mergeSorted(batches, (a, b) => comparePositions(a, b, order))) {
      rows.push(row);
      if (rows.length % STEP === 0) yield;
    }
    return rows;
  }
  return scheduler.run('sort', steps(), signal === undefined ? undefined : { signal });
}
