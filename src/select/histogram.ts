/**
 * Durations in buckets: two for each doubling, from 1 ms to 74 hours. The buckets are the same everywhere, so that
 * histograms add up bucket by bucket. A quantile is at most half above the true value, or a third below it.
 */

import type { HistogramBucket } from '../source/stats-figures.ts';

/** Number of buckets. Bucket 0 counts durations below 1 ms, the last one also counts all longer durations. */
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
