/**
 * The content of a history in memory, shared by its writer, index and reader, and since when, and with which gaps, it has
 * received everything that happened. Times in milliseconds since 1970.
 */
import { randomBytes } from 'node:crypto';
import type { Redactor } from '../../redact.ts';
import { turnNow } from '../../scheduler.ts';
import { createMinuteAggregate, type MinuteAggregate } from '../aggregate/minute-aggregate.ts';
import type { FlagContext } from '../answers/rows.ts';
import type { EventListener } from '../changes.ts';
import { createFeed, type Feed } from '../feed/feed.ts';
import type { FeedItem } from '../feed/feed-ring.ts';
import type { HistoryPart } from '../history.ts';
import { type RetentionOptions, resolveRetention } from '../retention.ts';
import {
  createWorkerDeaths,
  createWorkerTable,
  type WorkerDeaths,
  type WorkerTable,
} from '../workers/worker-table.ts';
import { createTables, type Tables } from './tables.ts';
import type { HistoryTap } from './tap.ts';

/** Options of a history in memory. */
export interface MemoryHistoryOptions extends RetentionOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number;
  /**
   * Removes secrets from texts when they are first read for an answer or a search; the raw texts are dropped
   * then. Default: none; texts stay as they are.
   */
  readonly redactor?: Redactor | null;
  /**
   * Whether the collector reports everything that happens, possibly later: then the time before the process also counts
   * as seen, from the earliest record on. Default: false.
   */
  readonly backdated?: boolean;
  /** Whether no events are reported, only stored states: then nothing counts as seen. Default: false. */
  readonly eventless?: boolean;
  /**
   * Whether a store keeps the counts by minute, so that queues and workers are counted, too. Default: true with a tap.
   */
  readonly keepsCounts?: boolean;
  /** Identifies this history in cursors, at most 32 characters. Default: a new random text. */
  readonly instance?: string;
  /** Called with every change. Default: none. */
  readonly tap?: HistoryTap | null;
  /**
   * Milliseconds by which the clock of the database, to which kept items and cursors of the feed refer, is ahead of
   * this process's clock. Default: 0.
   */
  readonly clockOffset?: () => number;
}

/** Part of the bytes that the per-minute aggregate may take. */
const AGGREGATE_SHARE = 1 / 16;

/** Everything in memory, and the counts. Times in milliseconds since 1970. */
export interface MemoryState {
  readonly instance: string;
  readonly clock: () => number;
  readonly startedAt: number;
  readonly maxAgeMs: number;
  readonly tables: Tables;
  readonly workers: WorkerTable;
  readonly deaths: WorkerDeaths;
  readonly feed: Feed;
  /** What flags depend on besides the tasks. */
  readonly flags: FlagContext;
  readonly aggregate: MinuteAggregate;
  readonly coverage: Coverage;
  readonly isBackdated: boolean;
  readonly isEventless: boolean;
  readonly tap: HistoryTap | null;
  /** Called with each event. */
  readonly listeners: Set<EventListener>;
  readonly counts: { evicted: number; received: number; dropped: number };
  /** For each part: increases with every change of an answer. */
  readonly revisions: Record<HistoryPart, number>;
  /** Where the clock of statuses and flags stands still while the source is disconnected; `null`: it runs. */
  frozenAt: number | null;
  isClosed: boolean;
}

/** @throws TypeError for an option out of its bounds */
export function createMemoryState(options: MemoryHistoryOptions): MemoryState {
  const {
    now: clock = turnNow,
    redactor = null,
    backdated = false,
    eventless = false,
    instance = newInstance(),
    tap = null,
    keepsCounts = tap !== null,
    clockOffset = () => 0,
    ...bounds
  } = options;
  const retention = resolveRetention(bounds, 'createMemoryHistory');
  const startedAt = clock();
  const shownNow = () => state.frozenAt ?? clock();
  const workers = createWorkerTable(shownNow, clock, retention.maxWorkers, retention.workerExpiryMs);
  const aggregate = createMinuteAggregate(retention.maxBytes * AGGREGATE_SHARE, keepsCounts);
  const coverage = createCoverage(startedAt);
  const flags = { now: shownNow, isLost: workers.isLost };
  const tables = createTables(retention, clock, flags, redactor, aggregate.bytes, tap);
  const state: MemoryState = {
    instance,
    clock,
    startedAt,
    maxAgeMs: retention.maxAgeMs,
    tables,
    workers,
    deaths: createWorkerDeaths(),
    flags,
    aggregate,
    coverage,
    isBackdated: backdated,
    isEventless: eventless,
    tap,
    listeners: new Set(),
    feed: createFeed({
      maxEvents: retention.maxEvents,
      now: clock,
      clockOffset,
      redactor,
      isFirst: backdated,
      nameOf: (id) => nameOf(tables, id),
      isWhole: coverage.isWhole,
    }),
    counts: { evicted: 0, received: 0, dropped: 0 },
    revisions: { tasks: 0, workers: 0, events: 0 },
    frozenAt: null,
    isClosed: false,
  };
  return state;
}

function newInstance(): string {
  return randomBytes(6).toString('base64url');
}

/** Adds an item to the feed. */
export function addEvent(
  { feed, revisions, tap }: Pick<MemoryState, 'feed' | 'revisions' | 'tap'>,
  item: FeedItem,
  arrivedAt: number,
): void {
  const number = feed.add(item, arrivedAt);
  revisions.events++;
  tap?.eventAdded(number, item, arrivedAt);
}

/** Updates the indexes, then evicts what is beyond the bounds. Every read does so first. */
export function catchUp(state: MemoryState): void {
  state.tables.catchUp();
  evict(state);
}

/** The same for the records that have been unpacked for longest: those that still change are packed later. */
export function packOldest(state: MemoryState): void {
  state.tables.packOldest();
  evict(state);
}

/** Drops what is beyond the bounds of the indexed tasks. */
export function evict({ tables, counts, revisions }: MemoryState): void {
  const evicted = tables.eviction.evict();
  counts.evicted += evicted;
  revisions.tasks += evicted;
}

/** Drops everything. */
export function clear({ tables, workers, feed, aggregate }: MemoryState): void {
  tables.catchUp();
  tables.eviction.clear();
  tables.relations.clear();
  tables.records.causes.seen.clear();
  tables.rows.clear();
  workers.clear();
  feed.clear();
  aggregate.clear();
}

function nameOf({ records }: Tables, id: string): string | null {
  const slot = records.slots.get(id);
  const name = slot === undefined ? 0 : (records.name[slot] as number);
  return name === 0 ? null : records.names.text(name);
}

/**
 * Since when, and with which gaps, a history has received everything that happened. Times in milliseconds since 1970.
 */

/** Maximum number of gaps that are remembered; the time before the oldest counts as not seen. */
const MAX_GAPS = 100;
/** A gap that is shorter does not end a span that is judged as a whole. */
const SHORT_MS = 30_000;

/** The time that was seen, that is, for which everything was received. */
export type Coverage = ReturnType<typeof createCoverage>;

/** A time that was not seen: `to` is the first moment that was. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** @param startedAt from then on, everything is seen */
function createCoverage(startedAt: number) {
  let start = startedAt;
  /** In the order of time. */
  let gaps: Gap[] = [];

  function dropOldest(): void {
    while (gaps.length > MAX_GAPS) start = gaps.shift()?.to ?? start;
  }

  return {
    /** Nothing was seen between these times. */
    addGap(from: number, to: number): void {
      if (from <= start) start = Math.max(start, to);
      // Part of the millisecond of its end was missed.
      else gaps.push({ from, to: to + 0.5 });
      dropOldest();
    },
    /** Something that happened then was reported by a collector that reports everything. */
    extendTo(time: number): void {
      if (time < start) start = time;
    },
    /** Everything between these times was seen by another process or instance. @returns whether that is new */
    addSeen(from: number, to: number): boolean {
      // Also where the numbers are not numbers.
      if (!(from < to)) return false;
      const left = gaps.flatMap((gap) => without(gap, from, to));
      const isNew = from < start || left.length !== gaps.length || left.some((gap, at) => gap !== gaps[at]);
      gaps = left;
      if (from >= start) return isNew;
      if (to < start) gaps.unshift({ from: to, to: start });
      start = from;
      dropOldest();
      return isNew;
    },
    /** Whether everything between these times was seen. */
    isWhole: (from: number, to: number): boolean =>
      from >= start && gaps.every((gap) => gap.from >= to || gap.to <= from),
    /** Since when everything was seen, but for moments. */
    since: (): number => Math.floor(gaps.findLast(({ from, to }) => to - from >= SHORT_MS)?.to ?? start),
  };
}

/** The rest of a gap after a part of it was seen. */
function without(gap: Gap, from: number, to: number): Gap[] {
  if (to <= gap.from || from > gap.to) return [gap];
  return [
    ...(gap.from < from ? [{ from: gap.from, to: from }] : []),
    ...(to < gap.to ? [{ from: to, to: gap.to }] : []),
  ];
}
