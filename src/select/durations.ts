/** Durations: the wait of a task, percentiles of run times and waits, and histograms of them. */
import type { Task } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import type { DurationFigures, HistogramBucket, StatsTotals } from '../source/task-stats.ts';
import { timeOf } from '../values.ts';

/** Durations in seconds. */
export interface Durations {
  readonly runtimes: number[];
  readonly waits: number[];
}

/** Durations that are sorted or merged between two pauses: less than a millisecond. */
const AT_ONCE = 4_096;

/** @returns an empty collection */
export function noDurations(): Durations {
  return { runtimes: [], waits: [] };
}

/** Adds the durations of a task. @param runtime like `wait`, NaN: unknown */
export function addDurations({ runtimes, waits }: Durations, runtime: number, wait: number): void {
  if (!Number.isNaN(runtime)) runtimes.push(runtime);
  if (!Number.isNaN(wait)) waits.push(wait);
}

/** Percentiles by nearest rank. */
export function* percentilesOf({ runtimes, waits }: Durations): Steps<DurationFigures> {
  const runs = rankIn(yield* sortNumbers(runtimes));
  return figuresOf(runs, rankIn(yield* sortNumbers(waits)));
}

/** The durations that these shares of the runs and waits do not exceed. `null`: there are none. */
function figuresOf(
  runs: (share: number) => number | null,
  delays: (share: number) => number | null,
): DurationFigures {
  return {
    runtimeP50: runs(0.5),
    runtimeP95: runs(0.95),
    runtimeP99: runs(0.99),
    waitP50: delays(0.5),
    waitP95: delays(0.95),
    waitP99: delays(0.99),
  };
}

function rankIn(sorted: Float64Array): (share: number) => number | null {
  return (share) => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
}

/** Sorts numbers: first in parts, which are then merged in pairs. */
function* sortNumbers(numbers: readonly number[]): Steps<Float64Array> {
  let sorted = new Float64Array(numbers);
  for (let at = 0; at < sorted.length; at += AT_ONCE) {
    sorted.subarray(at, at + AT_ONCE).sort();
    if (sorted.length > AT_ONCE) yield;
  }
  let merged = new Float64Array(sorted.length > AT_ONCE ? sorted.length : 0);
  for (let length = AT_ONCE; length < sorted.length; length *= 2) {
    for (let at = 0; at < sorted.length; at += 2 * length) yield* mergeTwo(sorted, merged, at, length);
    [sorted, merged] = [merged, sorted];
  }
  return sorted;
}

/** Merges a sorted part of this length with the part that follows it. */
function* mergeTwo(from: Float64Array, to: Float64Array, start: number, length: number): Steps<void> {
  const middle = Math.min(start + length, from.length);
  const end = Math.min(middle + length, from.length);
  let left = start;
  let right = middle;
  for (let at = start; at < end; at++) {
    const isLeft = right >= end || (left < middle && (from[left] as number) <= (from[right] as number));
    to[at] = from[isLeft ? left++ : right++] as number;
    if (at % AT_ONCE === AT_ONCE - 1) yield;
  }
}

/** Durations by bucket. @param seconds in any order */
export function* histogramOf(seconds: readonly number[]): Steps<Float64Array> {
  const counts = new Float64Array(BUCKETS);
  for (const [index, duration] of seconds.entries()) {
    const bucket = bucketOf(Math.max(0, duration * 1_000));
    counts[bucket] = (counts[bucket] as number) + 1;
    if (index % AT_ONCE === AT_ONCE - 1) yield;
  }
  return counts;
}

/** Percentiles of durations by bucket. Each is at most half above the true value, or a third below it. */
export function percentilesIn(runs: ArrayLike<number>, waits: ArrayLike<number>): DurationFigures {
  const secondsIn = (counts: ArrayLike<number>) => (share: number) => {
    const ms = quantileOf(counts, share);
    return ms === null ? null : ms / 1_000;
  };
  return figuresOf(secondsIn(runs), secondsIn(waits));
}

/** The counts of each step. */
type Counts = Pick<StatsTotals, 'received' | 'succeeded' | 'failed' | 'retried'>;

/**
 * Sums over the last steps, from `since` on: the first step after which tasks that were received and tasks that ended
 * are known in every step. Of these figures, one that is known in no step at all is `null` and does not count; `retried`
 * is `null` if it is unknown in one of the steps.
 *
 * @returns all `null` if they are unknown in the last step
 */
export function totalsIn<Time>(
  series: readonly (Counts & { readonly t: Time })[],
): Counts & { readonly since: Time | null } {
  const known = (['received', 'succeeded', 'failed'] as const).filter((figure) =>
    series.some((step) => step[figure] !== null),
  );
  const first = series.findLastIndex((step) => known.some((figure) => step[figure] === null)) + 1;
  const counted = known.length === 0 ? [] : series.slice(first);
  const sum = (figure: keyof Counts): number | null =>
    counted.length === 0
      ? null
      : counted.reduce<number | null>((total, step) => {
          const count = step[figure];
          return total === null || count === null ? null : total + count;
        }, 0);
  return {
    since: counted[0]?.t ?? null,
    received: sum('received'),
    succeeded: sum('succeeded'),
    failed: sum('failed'),
    retried: sum('retried'),
  };
}

/**
 * Number of buckets of durations: two for each doubling, from 1 ms to 74 hours. The buckets are the same everywhere, so
 * that histograms add up bucket by bucket. Bucket 0 counts durations below 1 ms, the last one also counts all longer
 * durations.
 */
export const BUCKETS = 56;

/** Longest duration that has its own bucket, in milliseconds. */
const LONGEST_MS = 2 ** 28 - 1;

/** The bucket of a duration. @param ms not negative */
export function bucketOf(ms: number): number {
  const whole = ms > LONGEST_MS ? LONGEST_MS : ms | 0;
  if (whole < 2) return whole;
  const octave = 31 - Math.clz32(whole);
  return 2 * octave + ((whole >>> (octave - 1)) & 1);
}

/** The shortest duration of a bucket, in milliseconds. */
function leastOf(bucket: number): number {
  if (bucket < 2) return bucket;
  const power = 2 ** (bucket >> 1);
  return (bucket & 1) === 0 ? power : 1.5 * power;
}

/**
 * The duration that a share of all durations does not exceed, in milliseconds: by nearest rank, assuming durations
 * spread evenly in their bucket. `null` when nothing was counted.
 *
 * @param counts by bucket
 * @param share from 0 to 1
 */
export function quantileOf(counts: ArrayLike<number>, share: number): number | null {
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) total += counts[bucket] as number;
  if (total === 0) return null;
  let rank = Math.max(1, Math.ceil(share * total));
  let bucket = 0;
  while (rank > (counts[bucket] as number)) {
    rank -= counts[bucket] as number;
    bucket++;
  }
  const least = leastOf(bucket);
  return least + ((leastOf(bucket + 1) - least) * rank) / (counts[bucket] as number);
}

/** The sum of all durations in milliseconds, each taken as the middle of its bucket. @param counts by bucket */
export function totalOf(counts: ArrayLike<number>): number {
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    total += ((counts[bucket] as number) * (leastOf(bucket) + leastOf(bucket + 1))) / 2;
  }
  return total;
}

/** The buckets from the shortest to the longest that is not empty. @param counts by bucket */
export function bucketsOf(counts: ArrayLike<number>): HistogramBucket[] {
  let first = 0;
  let last = BUCKETS - 1;
  // Where all are empty, no bucket is between the two in the end.
  while (counts[first] === 0) first++;
  while (counts[last] === 0) last--;
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const bucket = first + index;
    const le = bucket === BUCKETS - 1 ? null : leastOf(bucket + 1) / 1_000;
    return { le, count: counts[bucket] as number };
  });
}

/** Adds buckets made by {@link bucketsOf}. @param counts by bucket */
export function addBuckets(counts: Float64Array, buckets: readonly HistogramBucket[]): void {
  for (const { le, count } of buckets) {
    const bucket = le === null ? BUCKETS - 1 : Math.max(0, bucketOf(Math.round(le * 1_000)) - 1);
    counts[bucket] = (counts[bucket] as number) + count;
  }
}

/**
 * How long a task waited for its last start, in seconds: since it was sent, or since its eta if that was later.
 *
 * @param since when it was sent, in milliseconds since 1970 like the others; `null`: unknown
 * @returns `null` if that is unknown, or if the task seems to start before it was sent because clocks differ
 */
export function waitBetween(since: number | null, eta: number | null, started: number | null): number | null {
  if (started === null || since === null || started < since) return null;
  // The clock that set the eta may also differ from that of the worker.
  return eta !== null && eta > since ? Math.max(0, started - eta) / 1_000 : (started - since) / 1_000;
}

/** The wait of a task as its source reports it; otherwise computed from its times, unless it was retried. */
export function waitSecondsOf(task: Task): number | null {
  const { waitSeconds, retries, sent, received, eta, started } = task;
  if (waitSeconds !== undefined) return typeof waitSeconds === 'number' ? waitSeconds : null;
  if (typeof retries === 'number' && retries > 0) return null;
  return waitBetween(momentOf(sent) ?? momentOf(received), momentOf(eta), momentOf(started));
}

function momentOf(time: Date | null | undefined): number | null {
  const value = timeOf(time);
  return Number.isNaN(value) ? null : value;
}
