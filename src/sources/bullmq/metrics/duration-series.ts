/** Histograms of durations by queue and name of the jobs, up to a maximum number. */
import {
  addDuration,
  createDurations,
  type Durations,
  RUN_BOUNDS,
  readDurations,
  seriesOf,
  WAIT_BOUNDS,
} from '../../../metrics/durations.ts';
import type { MetricHistogram } from '../../../source.ts';

/** The label of counts when there is no room for the own name or queue. */
export const OTHER = 'other';
/** The name of jobs whose name is unknown. */
const UNKNOWN = 'None';
/** In characters. */
const LONGEST_NAME = 256;

/** Upper bounds of buckets in seconds: those of the same figures of Celery. */
export const BOUNDS = { run: RUN_BOUNDS, wait: WAIT_BOUNDS } as const;

/** Which of the two durations of a job: how long a worker had it, or how long it could have been taken before. */
export type DurationKind = keyof typeof BOUNDS;

/** Series of one queue and name. */
export const SERIES_EACH = seriesOf(BOUNDS.run) + seriesOf(BOUNDS.wait);

interface JobDurations extends Readonly<Record<DurationKind, Durations>> {
  readonly labels: { readonly queue: string; readonly name: string };
}

/** Counts durations. */
export interface DurationSeries {
  /** @param seconds values below 0, because clocks differ, count as 0 */
  add(kind: DurationKind, queue: string, name: string | null, seconds: number): void;
  /** The histograms in which something was counted. */
  read(kind: DurationKind): Iterable<MetricHistogram>;
  /** How many durations were counted under {@link OTHER}. */
  overflow(): number;
}

/** @param maximum number of pairs of queue and name that are counted separately; at least 2 */
export function createDurationSeries(most: number): DurationSeries {
  const pairs = new Map<string, JobDurations>();
  // The rest is for the other names of each queue, and the last one for the other queues.
  const mostNamed = Math.floor(most * 0.75);
  let overflow = 0;

  const find = (queue: string, name: string): JobDurations | undefined => pairs.get(`${queue}\n${name}`);

  function make(queue: string, name: string): JobDurations {
    const made = {
      labels: { queue, name },
      run: createDurations(BOUNDS.run),
      wait: createDurations(BOUNDS.wait),
    };
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
      addDuration(pairOf(queue, (name ?? UNKNOWN).slice(0, LONGEST_NAME))[kind], Math.max(0, seconds));
    },
    *read(kind) {
      for (const pair of pairs.values()) {
        const histogram = readDurations(pair[kind], pair.labels);
        if (histogram.count > 0) yield histogram;
      }
    },
    overflow: () => overflow,
  };
}
