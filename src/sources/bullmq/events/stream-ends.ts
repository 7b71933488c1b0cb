/**
 * How far each queue's stream reached at each look. All are looked at together, at most once a second, for all requests:
 * a request that is at the end of a stream reads nothing of it.
 */
import { withDeadline } from '../../../redis/problems.ts';
import type { BullMQRedis, QueueAccess } from '../access/queue-access.ts';
import type { QueueRef } from '../access/queue-reads.ts';
import { BEGINNING, FIRST_BATCH, markBehind, type ReadMark, readStreams } from './stream-entry.ts';

/** How long a look may count as the latest, in milliseconds. */
export const FRESH_MS = 1_000;
/** Time limit of a look in milliseconds. All requests share it, so each of them may give up earlier. */
const LOOK_MS = 4_000;
/** Ends of a stream that are remembered, to find where it reached at a moment. */
const MOST_ENDS = 50;

/** The last entry of a stream at successive looks. Times in milliseconds since 1970, by our clock. */
interface StreamEnd {
  /** `null`: it had none. */
  readonly mark: ReadMark | null;
  readonly from: number;
  until: number;
}

/** A stream that is looked at. */
export interface WatchedStream {
  readonly queue: QueueRef;
  /** The latest last. Empty before the first look. */
  readonly ends: StreamEnd[];
  /** When entries were last found to be lost; minus infinity: never. */
  lostAt: number;
  /** How many entries to read at once, given their sizes. */
  batch: number;
}

/** The id of its last entry; `null`: it has none. */
export function lastIdOf({ ends }: WatchedStream): string | null {
  return ends.at(-1)?.mark?.id ?? null;
}

/**
 * The last entry at a moment by our clock. It is usually the moment of an answer, which showed what had been found by
 * then. `undefined`: nobody looked then, and entries are placed by the clock of Redis, behind {@link floorOf}.
 */
export function endAt({ ends }: WatchedStream, time: number): string | undefined {
  const end = ends.findLast(({ from, until }) => time >= from && time - until <= FRESH_MS);
  return end && (end.mark?.id ?? BEGINNING);
}

/** By the clock of Redis, less the maximum age of an answer. */
export function floorOf(time: number): number {
  return Math.max(0, Math.ceil(time) - FRESH_MS - 1);
}

export function createStreamEnds(redis: BullMQRedis) {
  /** By queue name. */
  const streams = new Map<string, WatchedStream>();
  let revision = 0;
  /** When the last look began. */
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  function isDue(): boolean {
    const age = Date.now() - lookedAt;
    // The clock may have been set back.
    return age >= FRESH_MS || age < 0;
  }

  async function lookAt(all: readonly WatchedStream[]): Promise<void> {
    const access = redis.within({ timeoutMs: LOOK_MS });
    const at = Date.now();
    const hasNews = await lookAtAll(access, all, at);
    // Before the first look, nothing has been shown.
    if (hasNews && lookedAt > Number.NEGATIVE_INFINITY) revision += 1;
    // Queues may have been removed.
    const kept = new Set(all);
    for (const [name, stream] of streams) if (!kept.has(stream)) streams.delete(name);
    lookedAt = at;
  }

  return {
    /**
     * The streams of these queues, in their order, looked at within the last second.
     *
     * @throws RedisError
     */
    async look(
      { options: { signal, timeoutMs = LOOK_MS } }: QueueAccess,
      queues: readonly QueueRef[],
    ): Promise<readonly WatchedStream[]> {
      const all = queues.map((queue) => {
        const stream: WatchedStream = streams.get(queue.name) ?? {
          queue,
          ends: [],
          lostAt: Number.NEGATIVE_INFINITY,
          batch: FIRST_BATCH,
        };
        streams.set(queue.name, stream);
        return stream;
      });
      // The look that is under way may have begun before one of these queues was known.
      while (isDue() || all.some(({ ends }) => ends.length === 0)) {
        looking ??= lookAt(all).finally(() => {
          looking = null;
        });
        // Waiting callers get the error. Without any, it must not be an unhandled rejection.
        looking.catch(() => {});
        await withDeadline(looking, { signal, ms: timeoutMs });
      }
      return all;
    },
    /** Increases with each look that found something. */
    get revision() {
      return revision;
    },
    /** When the next look is due, in milliseconds since 1970; minus infinity: now. */
    get dueAt() {
      return lookedAt + FRESH_MS;
    },
  };
}

/** A stream without new entries costs one command. @returns whether one of them has new ones, or has lost some */
async function lookAtAll(access: QueueAccess, all: readonly WatchedStream[], at: number): Promise<boolean> {
  const marks = all.map(({ ends }) => ends.at(-1)?.mark ?? null);
  const parts = await readStreams(
    access,
    all.map(({ queue }, index) => ({ queue, mark: marks[index] ?? null, count: 1 })),
  );
  const moved = all.filter((_, index) => {
    const { entries = [], hasGap = false } = parts[index] ?? {};
    return marks[index] != null && (entries.length > 0 || hasGap);
  });
  const newest = await readStreams(
    access,
    moved.map(({ queue }) => ({ queue, mark: null, count: 1 })),
  );
  const latest = new Map(moved.map((stream, index) => [stream, newest[index]]));
  let hasNews = false;
  for (const [index, stream] of all.entries()) {
    const known = marks[index] ?? null;
    // Without a mark, the newest entry was read at once.
    const part = known === null ? parts[index] : latest.get(stream);
    const entries = part?.entries ?? [];
    const mark = part === undefined ? known : entries.length === 0 ? null : markBehind(entries);
    if (parts[index]?.hasGap) stream.lostAt = at;
    const end = stream.ends.at(-1);
    if (end !== undefined && mark?.id === known?.id) end.until = at;
    else {
      hasNews = true;
      stream.ends.push({ mark, from: at, until: at });
      if (stream.ends.length > MOST_ENDS) stream.ends.shift();
    }
  }
  return hasNews;
}
