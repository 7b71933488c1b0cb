/**
 * Texts that instances share by kind (one publishes them, the others keep a copy that is read again when it changes), and
 * what some of them say: the feed, the workers, and the times for which an instance that receives everything stored what
 * happened. Times in milliseconds, by the clock of the database.
 */
import type { Steps } from '../../scheduler.ts';
import { isRecord, isTime } from '../../values.ts';
import type { HeardItem } from '../feed/feed-ring.ts';
import type { SnapshotStore } from '../store.ts';
import type { StoredWorker } from '../workers/worker-record.ts';
import type { StoreCalls } from './store-calls.ts';

/** A span of time, both ends included. */
export type Span = readonly [from: number, to: number];

/** Most spans that are remembered. */
const MOST_SPANS = 100;
/** A shorter gap does not divide a span: an instance that takes over has received the messages of that time. */
const HOLE_MS = 1_000;

/** @returns the spans as text */
export function writeSpans(spans: readonly Span[]): string {
  return JSON.stringify(spans.map(([from, to]) => [Math.round(from), Math.round(to)]));
}

/** @returns the readable spans, in order */
export function readSpans(text: string | null): Span[] {
  try {
    const rows: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(rows)) return [];
    return rows.flatMap((row: unknown) => {
      const [from, to] = Array.isArray(row) ? (row as unknown[]) : [];
      return isTime(from) && isTime(to) && from <= to ? [[from, to] as const] : [];
    });
  } catch {
    return [];
  }
}

/** @returns the union of the spans, in order */
export function unionOf(spans: readonly Span[]): Span[] {
  const sorted = spans.toSorted(([a], [b]) => a - b);
  const union: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = union.at(-1);
    if (last !== undefined && from <= last[1] + HOLE_MS) last[1] = Math.max(last[1], to);
    else union.push([from, to]);
  }
  return union.slice(-MOST_SPANS);
}

type Row = readonly unknown[];

/** Items between two pauses. */
const ITEMS_AT_ONCE = 50;

/** @param items without secrets */
export function* writeFeedText(items: readonly HeardItem[]): Steps<string> {
  const texts: string[] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    const rows = items.slice(at, at + ITEMS_AT_ONCE).map(rowOf);
    texts.push(JSON.stringify(rows).slice(1, -1));
    yield;
  }
  return `[${texts.join(',')}]`;
}

function rowOf({ number, arrivedAt, item }: HeardItem): Row {
  const { type, task, taskId, state, worker, time, detail } = item;
  const row = [number, Math.round(arrivedAt), type, time, task, taskId, state, worker, detail];
  while (row.at(-1) === null) row.pop();
  return row;
}

/** @returns the readable items */
export function readFeedText(text: string): HeardItem[] {
  const known = new Map<string, string>();
  const items: HeardItem[] = [];
  for (const row of parse(text)) {
    const item = Array.isArray(row) ? itemOf(row, known) : null;
    if (item !== null) items.push(item);
  }
  return items;
}

function parse(text: string): readonly unknown[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows : [];
  } catch {
    return [];
  }
}

/** @param known the texts of the items before: most repeat, and each row has copies of its own */
function itemOf(row: Row, known: Map<string, string>): HeardItem | null {
  const [number, arrivedAt, type, time, task, taskId, state, worker, detail] = row;
  if (typeof number !== 'number' || !isTime(arrivedAt)) return null;
  if (typeof type !== 'string' || !isTime(time)) return null;
  const item = {
    type: once(type, known),
    time,
    task: typeof task === 'string' ? once(task, known) : null,
    taskId: typeof taskId === 'string' ? taskId : null,
    state: typeof state === 'string' ? once(state, known) : null,
    worker: typeof worker === 'string' ? once(worker, known) : null,
    detail: typeof detail === 'string' ? detail : null,
  };
  return { number, arrivedAt, item };
}

/** The first of several equal texts. */
function once(text: string, known: Map<string, string>): string {
  const first = known.get(text);
  if (first === undefined) known.set(text, text);
  return first ?? text;
}

/** @param aheadMs how far the clock of the database is ahead of that of this instance */
export function writeWorkersText(workers: readonly StoredWorker[], aheadMs: number): string {
  return JSON.stringify(
    workers.map((worker) => ({
      ...worker,
      heardAt: Math.round(worker.heardAt + aheadMs),
      clockAheadMs: Math.round(worker.clockAheadMs - aheadMs),
    })),
  );
}

/** @returns the readable workers */
export function readWorkersText(text: string, aheadMs: number): StoredWorker[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows.flatMap((row) => workerOf(row, aheadMs) ?? []) : [];
  } catch {
    return [];
  }
}

function workerOf(row: unknown, aheadMs: number): StoredWorker | null {
  if (!isRecord(row)) return null;
  const { hostname, heardAt, isHeard, heartbeatAt, intervalMs, clockAheadMs, bornAt, saidGoodbye, facts } =
    row;
  if (typeof hostname !== 'string' || !isTime(heardAt) || typeof intervalMs !== 'number') return null;
  return {
    hostname,
    heardAt: heardAt - aheadMs,
    isHeard: isHeard === true,
    heartbeatAt: isTime(heartbeatAt) ? heartbeatAt : null,
    intervalMs,
    clockAheadMs: isTime(clockAheadMs) ? clockAheadMs + aheadMs : 0,
    bornAt: isTime(bornAt) ? bornAt : null,
    saidGoodbye: saidGoodbye === true,
    facts: isRecord(facts) ? facts : {},
  };
}

/** The texts known to this instance. */
export type TextCopies = ReturnType<typeof createTextCopies>;

/** @returns no texts */
export function createTextCopies(calls: StoreCalls) {
  const texts = new Map<string, string>();
  const unwritten = new Map<string, string>();
  const known = new Map<string, number>();
  let revision = 0;

  function set(kind: string, text: string): boolean {
    if (texts.get(kind) === text) return false;
    texts.set(kind, text);
    revision++;
    return true;
  }

  return {
    /** Replaces a text. It is shown at once, and written with the next {@link TextCopies.write}. */
    publish(kind: string, text: string): void {
      if (set(kind, text)) unwritten.set(kind, text);
    },
    /** `null`: not published. */
    read: (kind: string): string | null => texts.get(kind) ?? null,
    /** Grows with each change that {@link TextCopies.read} shows. */
    revision: (): number => revision,
    /** Writes the texts that were published since the last time. */
    async write(store: SnapshotStore): Promise<void> {
      if (unwritten.size === 0) return;
      const written = new Map(unwritten);
      await calls.ask('write', () => store.write(written));
      for (const [kind, text] of written) if (unwritten.get(kind) === text) unwritten.delete(kind);
    },
    /** Reads the texts that others have written since the last time. @returns their kinds */
    async refresh(store: SnapshotStore): Promise<ReadonlySet<string>> {
      const revisions = await calls.ask('copy', () => store.revisions());
      const changed = [...revisions].filter(
        ([kind, number]) => known.get(kind) !== number && !unwritten.has(kind),
      );
      if (changed.length === 0) return NONE;
      const read = await calls.ask('copy', () => store.read(changed.map(([kind]) => kind)));
      for (const [kind, text] of read) set(kind, text);
      for (const [kind, number] of changed) known.set(kind, number);
      return new Set(read.keys());
    },
  };
}

const NONE: ReadonlySet<string> = new Set();
