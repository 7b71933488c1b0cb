/** The queues of one virtual host, as RabbitMQ's management API lists them. */
import { isRecord } from '../../../../../values.ts';
import { signalWithin } from '../../../../../waiting.ts';
import { type Problem, problemOf } from '../../../problem.ts';
import { getJson, managementError } from './get-json.ts';
import type { ResolvedManagement } from './management-options.ts';

/** Milliseconds for a whole reading, and most bytes of it; of one page, which is parsed at once. */
const DEADLINE_MS = 5_000;
const MOST_BYTES = 8 * 1024 * 1024;
const PAGE_BYTES = 1024 * 1024;
/** RabbitMQ's own limit. */
const PAGE_ROWS = 500;
const MOST_ROWS = 10_000;
/** Milliseconds between two readings: RabbitMQ renews its statistics every 5 seconds. */
const INTERVAL_MS = 5_000;
/** The pause after a reading, as a multiple of its duration. */
const REST_SHARE = 20;
/** Figures that are older are not shown, in milliseconds. */
const STALE_MS = 20_000;

/** One queue. `null` where the broker's statistics are switched off. */
export interface ManagedQueue {
  readonly ready: number | null;
  /** Delivered to consumers and not acknowledged. */
  readonly unacknowledged: number | null;
  /** Whether only one connection may use it. */
  readonly isExclusive: boolean;
  /** Whether it is removed with its last consumer. */
  readonly isAutoDelete: boolean;
}

/** Reads the queues of a virtual host now and then. */
export interface ManagedQueues {
  /**
   * Begins to read if it is time. Never rejects.
   *
   * @returns resolves when the reading that is under way has ended
   */
  refresh(): Promise<void>;
  /** By name; `null` while they have not been read lately. */
  queues(): ReadonlyMap<string, ManagedQueue> | null;
  /** Whether these are all queues of the virtual host. */
  isWhole(): boolean;
  /** Why the last reading failed; `null` when it did not. */
  problem(): Problem | null;
  /** Ends a reading that is under way. */
  close(): void;
}

interface State {
  readonly management: ResolvedManagement;
  readonly path: string;
  readonly now: () => number;
  readonly closing: AbortController;
  queues: ReadonlyMap<string, ManagedQueue>;
  isWhole: boolean;
  problem: Problem | null;
  /** When the figures were read, and when the next reading may begin. */
  readAt: number;
  dueAt: number;
  reading: Promise<void> | null;
}

/**
 * Requests nothing before the first call.
 *
 * @param vhost the broker's virtual host
 * @param now monotonic clock in milliseconds. Default `performance.now`
 */
export function createManagedQueues(
  management: ResolvedManagement,
  vhost: string,
  now: () => number = () => performance.now(),
): ManagedQueues {
  const state: State = {
    management,
    path: `/api/queues/${encodeURIComponent(vhost)}?${QUERY}`,
    now,
    closing: new AbortController(),
    queues: new Map(),
    isWhole: false,
    problem: null,
    readAt: Number.NEGATIVE_INFINITY,
    dueAt: Number.NEGATIVE_INFINITY,
    reading: null,
  };
  return {
    refresh() {
      if (state.reading === null && now() >= state.dueAt && !state.closing.signal.aborted) {
        state.reading = refresh(state).finally(() => {
          state.reading = null;
        });
      }
      return state.reading ?? Promise.resolve();
    },
    queues: () => (now() - state.readAt < STALE_MS ? state.queues : null),
    isWhole: () => state.isWhole,
    problem: () => state.problem,
    close: () => state.closing.abort(),
  };
}

/** The totals without the rest of the statistics are the cheapest for the broker; older ones send all of them. */
const QUERY = new URLSearchParams({
  page_size: String(PAGE_ROWS),
  sort: 'name',
  columns: 'name,messages_ready,messages_unacknowledged,exclusive,auto_delete',
  disable_stats: 'true',
  enable_queue_totals: 'true',
}).toString();

async function refresh(state: State): Promise<void> {
  const begun = state.now();
  try {
    const signal = signalWithin(DEADLINE_MS, state.closing.signal);
    const { queues, isWhole } = await readPages(state, signal);
    state.queues = queues;
    state.isWhole = isWhole;
    state.problem = null;
    state.readAt = begun;
  } catch (error) {
    state.problem = problemOf(error);
  }
  state.dueAt = begun + Math.max(INTERVAL_MS, REST_SHARE * (state.now() - begun));
}

async function readPages({ management, path }: State, signal: AbortSignal) {
  const queues = new Map<string, ManagedQueue>();
  let left = MOST_BYTES;
  for (let page = 1; ; page += 1) {
    const limits = { signal, maxBytes: Math.min(PAGE_BYTES, left) };
    const { value, bytes } = await getJson(management, `${path}&page=${page}`, limits);
    left -= bytes;
    const { items, pages } = pageOf(value);
    for (const row of items) {
      const queue = queueOf(row);
      if (queue !== null) queues.set(...queue);
    }
    if (page >= pages || items.length === 0) return { queues, isWhole: true };
    if (queues.size >= MOST_ROWS || left <= 0) return { queues, isWhole: false };
  }
}

function pageOf(value: unknown): { readonly items: readonly unknown[]; readonly pages: number } {
  const { items, page_count: pages } = isRecord(value) ? value : {};
  if (!Array.isArray(items) || typeof pages !== 'number') throw managementError('INVALID');
  return { items, pages };
}

function queueOf(row: unknown): [string, ManagedQueue] | null {
  if (!isRecord(row) || typeof row.name !== 'string') return null;
  const { name, messages_ready: ready, messages_unacknowledged: taken, exclusive, auto_delete } = row;
  return [
    name,
    {
      ready: count(ready),
      unacknowledged: count(taken),
      isExclusive: exclusive === true,
      isAutoDelete: auto_delete === true,
    },
  ];
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
