/** Histograms of durations by queue and name of the jobs, as many as there is room for. */
import type { MetricHistogram } from '../../../source.ts';

/** What is counted under when there is no room for the own name or queue. */
export const OTHER = 'other';
/** The name of jobs of which none is known. */
const UNKNOWN = 'None';
/** In characters. */
const LONGEST_NAME = 256;

/** Upper bounds of buckets in seconds: those of the same figures of Celery. */
export const BOUNDS = {
  run: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  wait: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800],
} as const;

/** Which of the two durations of a job: how long a worker had it, or how long it could have been taken before. */
export type DurationKind = keyof typeof BOUNDS;

/** Series of one queue and name: both histograms have one for each bucket, for infinity, the sum and the count. */
export const SERIES_EACH = BOUNDS.run.length + BOUNDS.wait.length + 6;

/** A histogram that grows. */
interface Durations {
  readonly bounds: readonly number[];
  /** By bucket, not cumulative; the last one is for what exceeds all bounds. */
  readonly counts: number[];
  sum: number;
}

interface JobDurations extends Readonly<Record<DurationKind, Durations>> {
  readonly labels: { readonly queue: string; readonly name: string };
}

/** Counts durations. */
export interface DurationSeries {
  /** @param seconds what is below 0, because clocks differ, counts as 0 */
  add(kind: DurationKind, queue: string, name: string | null, seconds: number): void;
  /** The histograms in which something was counted. */
  read(kind: DurationKind): Iterable<MetricHistogram>;
  /** How many durations were counted under {@link OTHER}. */
  overflow(): number;
}

/** @param most pairs of queue and name that are told apart; at least 2 */
export function createDurationSeries(most: number): DurationSeries {
  const pairs = new Map<string, JobDurations>();
  // The rest is for the other names of each queue, and the last one for the other queues.
  const mostNamed = Math.floor(most * 0.75);
  let overflow = 0;

  const find = (queue: string, name: string): JobDurations | undefined => pairs.get(`${queue}\n${name}`);

  function make(queue: string, name: string): JobDurations {
    const made = { labels: { queue, name }, run: noDurations('run'), wait: noDurations('wait') };
    pairs.set(`${queue}\n${name}`, made);
    return made;
  }

  function pairOf(queue: string, name: string): JobDurations {
    const own = find(queue, name);
    if (own !== undefined) return own;
    if (pairs.size < mostNamed) return make(queue, name);
    overflow += 1;
    const others = find(queue, OTHER);
    if (others !== undefined) return others;
    return pairs.size < most - 1 ? make(queue, OTHER) : (find(OTHER, OTHER) ?? make(OTHER, OTHER));
  }

  return {
    add(kind, queue, name, seconds) {
      addTo(pairOf(queue, (name ?? UNKNOWN).slice(0, LONGEST_NAME))[kind], Math.max(0, seconds));
    },
    *read(kind) {
      for (const pair of pairs.values()) {
        const histogram = histogramOf(pair, kind);
        if (histogram.count > 0) yield histogram;
      }
    },
    overflow: () => overflow,
  };
}

function noDurations(kind: DurationKind): Durations {
  const bounds = BOUNDS[kind];
  return { bounds, counts: new Array(bounds.length + 1).fill(0), sum: 0 };
}

function addTo(durations: Durations, seconds: number): void {
  const { bounds, counts } = durations;
  const at = bounds.findIndex((bound) => seconds <= bound);
  const bucket = at < 0 ? bounds.length : at;
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  durations.sum += seconds;
}

function histogramOf({ labels, ...durations }: JobDurations, kind: DurationKind): MetricHistogram {
  const { counts, sum } = durations[kind];
  const buckets: number[] = [];
  let count = 0;
  for (const own of counts) {
    count += own;
    buckets.push(count);
  }
  // Infinity is not one of the buckets.
  return { labels, buckets: buckets.slice(0, -1), sum, count };
}
