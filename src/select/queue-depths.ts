/** The depths of queues over time, the messages that entered and left, and since when queues have been growing. */
import type { Steps } from '../scheduler.ts';
import type { QueueDepths } from '../source.ts';
import type { StatsWindow } from './task-stats.ts';

/** Figures of one queue in one minute, or in another span of time. */
export interface QueueSample {
  /** `null`: what was sent and taken belongs to an unknown queue. */
  readonly queue: string | null;
  /** Start of the span, in milliseconds since 1970. */
  readonly at: number;
  /** The maximum and the last number of waiting messages; `null`: not read. */
  readonly mostWaiting: number | null;
  readonly lastWaiting: number | null;
  /** The greatest age of the oldest due message, in seconds; `null`: unknown, or none was due. */
  readonly age: number | null;
  /** Whether it may be older. */
  readonly isAtLeast: boolean;
  readonly sent: number;
  readonly received: number;
  readonly started: number;
}

/** Maximum number of listed queues, and of their steps in total. */
export const MOST_DEPTHS = 20;
const MOST_STEPS = 6_000;
/** Samples that are processed between two pauses. */
const AT_ONCE = 1_000;

interface QueueSums {
  readonly waiting: (number | null)[];
  readonly oldest: (number | null)[];
  readonly sent: number[];
  readonly received: number[];
  readonly started: number[];
  readonly points: DepthPoint[];
  most: number;
  isAtLeast: boolean;
}

/**
 * The queues with the most waiting messages, by step of a window.
 *
 * @param samples in any order; those before the window only show since when a queue has been growing
 */
export function* depthsOf(
  samples: Iterable<QueueSample>,
  window: StatsWindow,
): Steps<readonly QueueDepths[]> {
  const found = new Map<string, QueueSums>();
  // If messages were taken from unknown queues in a step, no queue's share of them is known.
  const isTakenElsewhere = new Set<number>();
  let count = 0;
  for (const sample of samples) {
    if (++count % AT_ONCE === 0) yield;
    if (sample.at > window.end) continue;
    const step = Math.floor((sample.at - window.first) / (window.stepSeconds * 1_000));
    if (sample.queue === null) {
      if (sample.received + sample.started > 0) isTakenElsewhere.add(step);
      continue;
    }
    const sums = found.get(sample.queue) ?? noSums(window.count);
    found.set(sample.queue, sums);
    addSample(sums, sample, step < window.count ? step : -1);
  }
  const listed = Math.max(1, Math.min(MOST_DEPTHS, Math.floor(MOST_STEPS / window.count)));
  const busiest = [...found]
    .filter(([, sums]) => hasAny(sums))
    .sort(([a, one], [b, other]) => other.most - one.most || (a < b ? -1 : 1))
    .slice(0, listed);
  const depths: QueueDepths[] = [];
  for (const [queue, sums] of busiest) {
    depths.push({ queue, ...figuresOf(sums, isTakenElsewhere, window) });
    yield;
  }
  return depths;
}

function noSums(count: number): QueueSums {
  const zeros = (): number[] => Array.from({ length: count }, () => 0);
  const unknown = (): null[] => Array.from({ length: count }, () => null);
  return {
    waiting: unknown(),
    oldest: unknown(),
    sent: zeros(),
    received: zeros(),
    started: zeros(),
    points: [],
    most: 0,
    isAtLeast: false,
  };
}

function addSample(sums: QueueSums, sample: QueueSample, step: number): void {
  const { at, mostWaiting, lastWaiting, age } = sample;
  if (lastWaiting !== null) sums.points.push({ at, waiting: lastWaiting });
  if (step < 0) return;
  if (mostWaiting !== null) {
    sums.waiting[step] = Math.max(sums.waiting[step] ?? 0, mostWaiting);
    sums.most = Math.max(sums.most, mostWaiting);
  }
  if (age !== null) {
    sums.oldest[step] = Math.max(sums.oldest[step] ?? 0, age);
    sums.isAtLeast ||= sample.isAtLeast;
  }
  for (const outcome of ['sent', 'received', 'started'] as const) {
    sums[outcome][step] = (sums[outcome][step] as number) + sample[outcome];
  }
}

function hasAny({ waiting, sent, received, started }: QueueSums): boolean {
  return (
    waiting.some((depth) => depth !== null) || [...sent, ...received, ...started].some((count) => count > 0)
  );
}

/** @param isTakenElsewhere steps in which messages were taken from unknown queues */
function figuresOf(
  sums: QueueSums,
  isTakenElsewhere: ReadonlySet<number>,
  { first, stepSeconds, end }: StatsWindow,
): Omit<QueueDepths, 'queue'> {
  const { waiting, oldest, sent, isAtLeast } = sums;
  const points = sums.points.toSorted((a, b) => a.at - b.at);
  // An engine that does not report receiving reports starts.
  const taken = sums.received.some((count) => count > 0) ? sums.received : sums.started;
  const isSeen = waiting.map((depth, step) => depth !== null || (taken[step] ?? 0) + (sent[step] ?? 0) > 0);
  const received = taken.map((count, step) => (isSeen[step] && !isTakenElsewhere.has(step) ? count : null));
  const derived = enteredBy(received, lastOfSteps(points, first, stepSeconds * 1_000, waiting.length));
  // Before the first report, it is unknown whether clients report at all, and whether old reports are kept.
  const reported = sent.findIndex((count) => count > 0);
  const entered = sent.map((count, step) =>
    reported === -1 || step < reported ? (derived[step] ?? null) : isSeen[step] ? count : null,
  );
  const since = growingSince(points, end, stepSeconds * 1_000);
  return {
    waiting,
    oldestSeconds: oldest,
    sent: entered,
    received,
    growingSince: since === null ? null : new Date(since),
    oldestAtLeast: isAtLeast,
  };
}

/** For clients that do not report what they send: the messages taken out, plus the growth of the depth. */
function enteredBy(taken: readonly (number | null)[], last: readonly (number | null)[]): (number | null)[] {
  return taken.map((count, step) => {
    const [before, after] = [last[step - 1] ?? null, last[step] ?? null];
    return count === null || before === null || after === null ? null : Math.max(0, count + after - before);
  });
}

/** The last depth of each step; depths before the window count as step −1. */
function lastOfSteps(
  points: readonly DepthPoint[],
  first: number,
  stepMs: number,
  count: number,
): (number | null)[] {
  const last: (number | null)[] = Array.from({ length: count }, () => null);
  for (const { at, waiting } of points) {
    const step = Math.floor((at - first) / stepMs);
    if (step >= -1 && step < count) last[step] = waiting;
  }
  return last;
}

/** The number of waiting messages at one time. */
export interface DepthPoint {
  readonly at: number;
  readonly waiting: number;
}

const MINUTE_MS = 60_000;
/** With fewer waiting messages there is no growth. */
const LEAST_WAITING = 20;
/** The depth must have grown by this share of the current depth. */
const GROWN_SHARE = 1 / 4;
/** A dip below this share of the current depth does not end the growth. */
const DIP_SHARE = 1 / 10;
/** Depths up to this share of the current depth above the lowest count as the lowest. */
const LOW_SHARE = 1 / 50;
/** Shorter bursts are not growth. */
const LEAST_MS = 5 * MINUTE_MS;
/** Growth is not tracked across a longer time without a reading. */
const MOST_GAP_MS = 10 * MINUTE_MS;
/** Older readings say nothing about now. */
const FRESH_MS = 3 * MINUTE_MS;

/**
 * Since when a queue has been growing, in milliseconds since 1970; `null`: it is not. It grows if at least 20 messages
 * wait, and a quarter of them arrived during at least five minutes in which the depth never fell by a tenth of the
 * current depth. The growth starts when the depth was last (about) as low as at the beginning of that time.
 *
 * @param points oldest first
 * @param end the time of the question
 * @param spanMs how far apart two points may be
 */
export function growingSince(points: readonly DepthPoint[], end: number, spanMs = MINUTE_MS): number | null {
  const last = points.findLastIndex(({ at }) => at <= end);
  const now = points[last];
  if (now === undefined || now.waiting < LEAST_WAITING) return null;
  if (end - now.at > Math.max(FRESH_MS, 2 * spanMs)) return null;
  const dip = now.waiting * DIP_SHARE;
  let low = now.waiting;
  let earliest = last;
  while (earliest > 0) {
    const [point, later] = [points[earliest - 1] as DepthPoint, points[earliest] as DepthPoint];
    if (later.at - point.at > Math.max(MOST_GAP_MS, 2 * spanMs) || point.waiting > low + dip) break;
    low = Math.min(low, point.waiting);
    earliest--;
  }
  if (now.waiting - low < Math.max(LEAST_WAITING, now.waiting * GROWN_SHARE)) return null;
  const isLow = ({ waiting }: DepthPoint): boolean => waiting <= low + now.waiting * LOW_SHARE;
  const since = points.slice(earliest, last).findLast(isLow);
  return since !== undefined && now.at - since.at >= LEAST_MS ? since.at : null;
}
