/** Writes events to the log, about once a second. */
import type { EventLog } from '../../../../history/stored-history.ts';
import type { Redactor } from '../../../../redact.ts';
import { redactEvent } from '../../../../redact.ts';
import { type Steps, scheduler } from '../../../../scheduler.ts';
import { taskIdOf } from '../../access/queue-ref.ts';
import { describeEntry, jobIdOf } from '../../events/event-item.ts';
import type { FeedItem } from '../../events/feed-items.ts';
import { createJobMemory, type JobMemory } from '../../events/job-memory.ts';
import type { JobRuns } from '../../events/job-runs.ts';
import type { StreamNews } from '../stream-news.ts';
import { type LoggedChunk, type LoggedEntries, readChunk, writeChunk } from './log-text.ts';

/** The interface of the log for the recorder. */
export interface EventLogger {
  /**
   * Adds entries that were read from the streams.
   *
   * @param before the entry up to which a stream had been read before, by queue
   * @param runsOf the data about the runs of a job, by task id
   */
  add(
    news: readonly StreamNews[],
    before: ReadonlyMap<string, string>,
    runsOf: (taskId: string) => JobRuns | undefined,
  ): Promise<void>;
  /** Since when the oldest entries wait to be written, milliseconds since 1970; `null`: none do. */
  waitingSince(): number | null;
  /** Writes the waiting entries. Rejects when the store does not answer; they are then kept. */
  flush(): Promise<void>;
  /** Drops the waiting entries: another instance writes from now on. */
  clear(): void;
}

/** Items of one chunk, and of all that wait. Excess items are left out, and the feed reports them as unknown. */
const CHUNK_ITEMS = 500;
const CHUNK_SIZE = 262_144;
const MOST_WAITING = 20_000;
const MOST_SIZE = 16_777_216;
/** Size of an item without its detail. */
const ITEM_SIZE = 120;
/** Between two writes, in milliseconds. */
const WRITE_MS = 1_000;
/** Entries that are described in one step. */
const STEP = 20;

/** Entries that wait to be written. */
interface Waiting {
  readonly entries: LoggedEntries;
  readonly since: number;
  readonly size: number;
}

interface LoggerState {
  readonly log: EventLog;
  readonly redactor: Redactor | null;
  memory: JobMemory;
  waiting: Waiting[];
  /** When the last write began. */
  writtenAt: number;
  writing: Promise<void> | null;
  /** Newest entry of all chunks; `null`: not known. Milliseconds since 1970. */
  through: number | null;
}

export function createEventLogger(log: EventLog, redactor: Redactor | null): EventLogger {
  const state: LoggerState = {
    log,
    redactor,
    memory: createJobMemory(),
    waiting: [],
    writtenAt: Number.NEGATIVE_INFINITY,
    writing: null,
    through: null,
  };
  return {
    async add(news, before, runsOf) {
      await scheduler.run('record', describe(state, news, before, runsOf));
      bound(state);
      if (Date.now() - state.writtenAt >= WRITE_MS) flush(state).catch(() => {});
    },
    waitingSince: () => state.waiting[0]?.since ?? null,
    flush: () => flush(state),
    clear() {
      Object.assign(state, { waiting: [], memory: createJobMemory(), through: null });
    },
  };
}

function* describe(
  state: LoggerState,
  news: readonly StreamNews[],
  positions: ReadonlyMap<string, string>,
  runsOf: (taskId: string) => JobRuns | undefined,
): Steps<void> {
  const { memory, redactor } = state;
  const since = Date.now();
  let described = 0;
  for (const { queue, entries, hasGap } of news) {
    let before = hasGap ? null : (positions.get(queue.name) ?? null);
    let items: FeedItem[] = [];
    let size = 0;
    for (const [index, entry] of entries.entries()) {
      if (++described % STEP === 0) yield;
      const jobId = jobIdOf(entry);
      const taskId = jobId === null ? '' : taskIdOf(queue.name, jobId);
      const { event: raw, trace } = describeEntry(queue.name, entry, memory.get(taskId), runsOf(taskId));
      const event = raw && redactEvent(raw, redactor);
      if (trace !== null) memory.set(taskId, trace);
      if (event !== null) items.push({ id: entry.id, time: entry.time, event, size: 0, sizeRead: 0 });
      size += ITEM_SIZE + (event?.detail?.length ?? 0);
      const isFull = items.length >= CHUNK_ITEMS || size >= CHUNK_SIZE;
      if (!isFull && index < entries.length - 1) continue;
      state.waiting.push({ entries: { queue: queue.name, before, after: entry.id, items }, since, size });
      [before, items, size] = [entry.id, [], 0];
    }
  }
}

/** Leaves out the oldest that wait. */
function bound({ waiting }: LoggerState): void {
  let count = waiting.reduce((sum, { entries }) => sum + entries.items.length, 0);
  let size = waiting.reduce((sum, one) => sum + one.size, 0);
  while (count > MOST_WAITING || size > MOST_SIZE) {
    const oldest = waiting.shift();
    if (oldest === undefined) return;
    count -= oldest.entries.items.length;
    size -= oldest.size;
  }
}

function flush(state: LoggerState): Promise<void> {
  state.writing ??= write(state).finally(() => {
    state.writing = null;
  });
  return state.writing;
}

async function write(state: LoggerState): Promise<void> {
  state.writtenAt = Date.now();
  for (let taken = nextOf(state); taken.length > 0; taken = nextOf(state)) {
    const known = state.through ?? throughOf((await state.log.newest())?.items ?? '');
    const parts = taken.map(({ entries }) => entries);
    const through = Math.max(known, ...parts.map(({ after }) => Number(after.split('-')[0])));
    const text = scheduler.measure(() => writeChunk({ through, parts }));
    const count = parts.reduce((sum, { items }) => sum + items.length, 0);
    await state.log.append(text, Math.max(1, count));
    const written = new Set(taken);
    // Where the entries were forgotten meanwhile, another instance may have written a later one.
    if (state.waiting.some((one) => written.has(one))) state.through = through;
    state.waiting = state.waiting.filter((one) => !written.has(one));
  }
}

/** The content of the next chunk. */
function nextOf({ waiting }: LoggerState): readonly Waiting[] {
  const taken: Waiting[] = [];
  let [count, size] = [0, 0];
  for (const one of waiting) {
    count += one.entries.items.length;
    size += one.size;
    if (taken.length > 0 && (count > CHUNK_ITEMS || size > CHUNK_SIZE)) break;
    taken.push(one);
  }
  return taken;
}

function throughOf(text: string): number {
  const chunk: LoggedChunk | null = readChunk(text);
  return chunk?.through ?? 0;
}
