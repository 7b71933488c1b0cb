/**
 * Follows the event streams of all queues for those that need each entry: the counts, the meter and the recorder. Those
 * that have read a stream equally far share its reads. What counts takes the entries as the steps of their jobs.
 */
import { debugChannel } from '../../../debug.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { pause } from '../../../waiting.ts';
import { type BullMQRedis, type QueueAccess, serversOf } from '../access/queue-access.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { createOpenJobs, type JobRuns, type JobStep, type QueueEntry, readRuns } from './job-machine.ts';
import {
  BEGINNING,
  FIRST_BATCH,
  fitBatch,
  markBehind,
  markBehindTime,
  type ReadMark,
  readLost,
  readStreams,
  START,
  type StreamEntry,
  type StreamPart,
  type StreamRead,
} from './stream-entry.ts';

/** How far streams have been read, by queue name. */
export type ReadMarks = Map<string, ReadMark>;

/** New entries of one stream. */
export interface StreamNews {
  readonly queue: QueueRef;
  /** Oldest first. */
  readonly entries: readonly StreamEntry[];
  /** Entries before these may have been removed before they were read. */
  readonly hasGap: boolean;
  /** There may be more. */
  readonly hasMore: boolean;
}

/** What takes the entries of streams. */
interface StreamConsumer {
  /** How far it has read those of these streams that it follows. */
  marksOf(queues: readonly QueueRef[]): ReadonlyMap<string, ReadMark>;
  /**
   * Takes what the streams got since they were read, often nothing, and moves its marks. If it fails, the entries behind
   * its marks are read again.
   *
   * @param queues all that there are
   * @param access for its reads, until it takes nothing any more
   */
  take(news: readonly StreamNews[], queues: readonly QueueRef[], access: QueueAccess): Promise<void>;
}

/** Moves marks behind entries that have been taken. */
export function moveMarks(marks: ReadMarks, news: readonly StreamNews[]): void {
  for (const { queue, entries } of news) marks.set(queue.name, markBehind(entries));
}

/** A consumer for which the streams are read all the time. */
interface SteadyConsumer extends StreamConsumer {
  /** How long to wait between two reads, in milliseconds for each queue. */
  readonly msPerQueue: number;
  /** Whether it takes entries now. */
  isOn(): boolean;
}

/** Follows the streams while somebody takes their entries. */
export type StreamFollower = ReturnType<typeof createStreamFollower>;

/**
 * How often streams are read, in milliseconds: after a read that found something, and after any other. All consumers are
 * read for at the same moments, so that they share the reads.
 */
const BUSY_MS = 250;
const IDLE_MS = 1_000;
/** For how long a read may be that of another consumer, in milliseconds: if it found something, and if not. */
const SHARED_MS = 2_000;
const FRESH_MS = 100;
/** How many reads of each queue are kept for others, so that who catches up does not fill the memory. */
const MOST_SHARED = 2;
const READ_MS = 4_000;
/** Approximate number of entries that are read from all streams at once. */
const MOST_AT_ONCE = 2_000;

/** What consumers share. */
interface SharedReads {
  /** How many entries to read of each stream at once, by queue name. */
  readonly batches: Map<string, number>;
  /** The latest reads, by queue and mark. */
  readonly latest: Map<
    string,
    { until: number; readonly by: StreamConsumer; readonly part: Promise<StreamPart | undefined> }
  >;
}

/** What is read for whom, and by what. */
interface Following {
  readonly access: QueueAccess;
  readonly shared: SharedReads;
  readonly consumer: StreamConsumer;
}

const debug = debugChannel('bullmq');

export function createStreamFollower(redis: BullMQRedis) {
  const shared: SharedReads = { batches: new Map(), latest: new Map() };

  /** @returns how often to read, in milliseconds; 0: at once */
  async function takeOnce(consumer: SteadyConsumer, signal: AbortSignal): Promise<number> {
    const access = redis.within({ timeoutMs: READ_MS, signal });
    const queues = await access.queues();
    const news = await readNews({ access, shared, consumer }, queues, noteFailure);
    if (signal.aborted) return 0;
    await consumer.take(news, queues, access);
    if (news.some(({ hasMore }) => hasMore)) return 0;
    return Math.max(news.length > 0 ? BUSY_MS : IDLE_MS, queues.length * consumer.msPerQueue);
  }

  async function follow(consumer: SteadyConsumer, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isOn = consumer.isOn();
      if (!isOn) forgetReads(shared, Number.POSITIVE_INFINITY);
      const ms = isOn ? await takeOnce(consumer, signal).catch(noteFailure) : IDLE_MS;
      await pause(ms === 0 ? 0 : ms - (performance.now() % ms), signal);
    }
  }

  return {
    /**
     * Begins to read for a consumer.
     *
     * @returns a function that ends it. It resolves when the consumer takes nothing any more
     */
    follow(consumer: SteadyConsumer): () => Promise<void> {
      const closing = new AbortController();
      const ended = follow(consumer, closing.signal);
      return () => {
        closing.abort();
        return ended;
      };
    },
    /**
     * Reads for a consumer until it has everything, or this many milliseconds have passed.
     *
     * @returns whether it has everything
     * @throws RedisError if a stream cannot be read
     */
    async catchUp(consumer: StreamConsumer, access: QueueAccess, ms: number): Promise<boolean> {
      const until = performance.now() + ms;
      const queues = await access.queues();
      for (;;) {
        const news = await readNews({ access, shared, consumer }, queues, rethrow);
        await consumer.take(news, queues, access);
        if (!news.some(({ hasMore }) => hasMore)) return true;
        if (performance.now() > until) return false;
      }
    },
  };
}

function rethrow(error: unknown): never {
  throw error;
}

/** @returns how long to wait before trying again, in milliseconds */
function noteFailure(error: unknown): number {
  debug('events cannot be followed: %s', error instanceof Error ? error.message : 'unknown');
  return IDLE_MS;
}

/**
 * Reads what is new in each stream.
 *
 * @param onFailure of a server. The others are read all the same
 */
async function readNews(
  { access, shared, consumer }: Following,
  queues: readonly QueueRef[],
  onFailure: (error: unknown) => unknown,
): Promise<readonly StreamNews[]> {
  const marks = consumer.marksOf(queues);
  const news: StreamNews[] = [];
  const servers = serversOf(access, queues).map(async (server) => {
    const followed = server.queues.filter(({ name }) => marks.has(name));
    const share = Math.ceil(MOST_AT_ONCE / Math.max(1, queues.length));
    const reads = followed.map((queue) => {
      const count = Math.min(share, shared.batches.get(queue.name) ?? FIRST_BATCH);
      return { queue, mark: marks.get(queue.name) ?? START, count };
    });
    forgetReads(shared, MOST_SHARED * queues.length);
    const parts = await Promise.all(readShared({ access, shared, consumer }, reads));
    for (const [index, { queue, mark }] of reads.entries()) {
      const { entries = [], isEnd = true, hasGap: isUnsure = false } = parts[index] ?? {};
      const hasGap = isUnsure && mark.id !== BEGINNING;
      if (entries.length === 0 && !hasGap) continue;
      shared.batches.set(queue.name, fitBatch(shared.batches.get(queue.name) ?? FIRST_BATCH, entries));
      news.push({ queue, entries, hasGap, hasMore: !isEnd });
    }
  });
  await Promise.all(servers.map((server) => server.catch(onFailure)));
  return news;
}

/** Forgets reads that are too old for others, and the oldest until there are no more than this. */
function forgetReads({ latest }: SharedReads, most: number): void {
  const at = performance.now();
  for (const [key, { until }] of latest) if (at > until || latest.size > most) latest.delete(key);
}

/** What others have read from the same mark is not read again. */
function readShared(
  { access, shared: { latest }, consumer: by }: Following,
  reads: readonly (StreamRead & { readonly mark: ReadMark })[],
): readonly Promise<StreamPart | undefined>[] {
  const at = performance.now();
  const keyOf = ({ queue, mark }: (typeof reads)[number]): string => `${queue.name}:${mark.id}`;
  const missing = reads.filter((read) => (latest.get(keyOf(read))?.by ?? by) === by);
  const parts = readStreams(access, missing);
  // Who waits for it gets the error; nobody else does.
  parts.catch(() => {
    for (const read of missing) latest.delete(keyOf(read));
  });
  for (const [index, read] of missing.entries()) {
    const part = parts.then((all) => {
      if (all[index]?.entries.length === 0) own.until = at + FRESH_MS;
      return all[index];
    });
    const own = { until: at + SHARED_MS, by, part };
    latest.set(keyOf(read), own);
  }
  const isOwn = new Set(missing);
  return reads.map(async (read) => {
    const part = await latest.get(keyOf(read))?.part;
    // There may be more by now.
    return part === undefined || isOwn.has(read) ? part : { ...part, isEnd: part.entries.length === 0 };
  });
}

/** What counts the steps of the jobs of queues. `Own` is what it keeps of each queue. */
interface StepCounter<Own> {
  /** The name of its work, for the scheduler. */
  readonly work: string;
  /** Streams are read from this time on, in milliseconds since 1970. */
  readonly from: number;
  /** Begins with a queue. */
  begin(queue: QueueRef): Own;
  /** Whether an entry's job is to be read. @param isNamed whether entries have told its name */
  needsRuns(entry: StreamEntry, isNamed: boolean, own: Own | undefined): boolean;
  /** Entries before the next one were removed before they were read. @param next `undefined`: there is none */
  gap(own: Own, next: StreamEntry | undefined): void;
  count(own: Own, entry: StreamEntry, step: JobStep | null, runs: JobRuns | undefined): void;
  /** Everything that its stream has was counted. */
  reachEnd(own: Own): void;
}

/** A queue whose steps are counted. */
interface SteppedQueue<Own> {
  readonly own: Own;
  readonly jobs: ReturnType<typeof createOpenJobs>;
  mark: ReadMark;
}

/** The queues that are counted. */
export interface StepConsumer<Own> extends Pick<StreamConsumer, 'marksOf' | 'take'> {
  /** `null`: its stream has not been read. */
  get(queue: string): Own | null;
  clear(): void;
}

/** Jobs that are remembered, of all queues together, and of each in any case. */
const MOST_JOBS = 50_000;
const LEAST_JOBS = 500;
/** Entries that are taken in one step. */
const STEP = 50;

export function countSteps<Own>(counter: StepCounter<Own>): StepConsumer<Own> {
  const queues = new Map<string, SteppedQueue<Own>>();
  const start = markBehindTime(counter.from);

  function* countAll(
    news: readonly StreamNews[],
    runs: ReadonlyMap<string, JobRuns>,
    lost: ReadonlyMap<QueueRef, number>,
  ): Steps<void> {
    let counted = 0;
    for (const { queue, entries, hasGap } of news) {
      const { own, jobs, mark } = steppedOf(queue);
      if (mark === start ? isLost(lost.get(queue)) : hasGap) {
        // Missing entries would lead to wrong times.
        jobs.clear();
        counter.gap(own, entries[0]);
      }
      for (const entry of entries) {
        const read = entry.jobId === null ? undefined : runs.get(taskIdOf(queue.name, entry.jobId));
        counter.count(own, entry, jobs.step(entry, read), read);
        if (++counted % STEP === 0) yield;
      }
    }
  }

  const isLost = (until: number | undefined): boolean => until !== undefined && until > counter.from;

  function steppedOf(queue: QueueRef): SteppedQueue<Own> {
    const stepped = queues.get(queue.name) ?? {
      own: counter.begin(queue),
      jobs: createOpenJobs(),
      mark: start,
    };
    queues.set(queue.name, stepped);
    return stepped;
  }

  return {
    get: (queue) => queues.get(queue)?.own ?? null,
    clear: () => queues.clear(),
    marksOf: (all) => new Map(all.map(({ name }) => [name, queues.get(name)?.mark ?? start])),
    async take(news, all, access) {
      const names = new Set(all.map(({ name }) => name));
      for (const name of queues.keys()) if (!names.has(name)) queues.delete(name);
      const found = new Map(news.map((one) => [one.queue, one]));
      const isFirst = ({ name }: QueueRef): boolean => (queues.get(name)?.mark ?? start) === start;
      const [runs, lost] = await Promise.all([
        readRuns(access, entriesToRead(counter, queues, news)),
        readLost(
          access,
          all.filter((queue) => (found.has(queue) ? isFirst(queue) : !queues.has(queue.name))),
        ),
      ]);
      if (access.options.signal.aborted) return;
      await scheduler.run(counter.work, countAll(news, runs, lost));
      for (const queue of all) {
        const stepped = steppedOf(queue);
        const own = found.get(queue);
        if (own !== undefined) stepped.mark = markBehind(own.entries);
        else if (isLost(lost.get(queue))) counter.gap(stepped.own, undefined);
        if (own?.hasMore !== true) counter.reachEnd(stepped.own);
        stepped.jobs.trim(Math.max(LEAST_JOBS, Math.floor(MOST_JOBS / all.length)));
      }
    },
  };
}

/** The entries whose jobs are to be read. */
function entriesToRead<Own>(
  counter: StepCounter<Own>,
  queues: ReadonlyMap<string, SteppedQueue<Own>>,
  news: readonly StreamNews[],
): readonly QueueEntry[] {
  return news.flatMap(({ queue, entries }) => {
    const known = queues.get(queue.name);
    const named = new Set(entries.filter(({ fields }) => fields.has('name')).map(({ jobId }) => jobId ?? ''));
    const isNamed = (jobId: string): boolean => named.has(jobId) || known?.jobs.get(jobId)?.name != null;
    return entries
      .filter((entry) => entry.jobId !== null && counter.needsRuns(entry, isNamed(entry.jobId), known?.own))
      .map((entry) => ({ queue, entry }));
  });
}
