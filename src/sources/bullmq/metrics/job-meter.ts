/**
 * The metrics of BullMQ's queues for `/metrics`: its own figures under its own names, and how long jobs wait and run.
 */
import { debugChannel } from '../../../debug.ts';
import {
  addDuration,
  createDurations,
  type Durations,
  RUN_BOUNDS,
  readDurations,
  seriesOf,
  WAIT_BOUNDS,
} from '../../../metrics/durations.ts';
import { asFields, asNumber } from '../../../redis/replies.ts';
import type { Meter, MeterOptions, MetricFamily, MetricHistogram, MetricValue } from '../../../source.ts';
import { signalWithin } from '../../../waiting.ts';
import { type BullMQRedis, type QueueAccess, readPer, serversOf } from '../access/queue-access.ts';
import { keyCommand, type QueueRef } from '../access/queue-reads.ts';
import { type QueueFigures, readQueueFigures } from '../components/queues.ts';
import { type JobStep, NAMED } from '../events/job-machine.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import { countSteps, type StreamFollower } from '../events/stream-follower.ts';

/** The label of counts when there is no room for the own name or queue. */
const OTHER = 'other';
/** The name of jobs whose name is unknown. */
const UNKNOWN = 'None';
/** In characters. */
const LONGEST_NAME = 256;

/** Upper bounds of buckets in seconds: those of the same figures of Celery. */
const BOUNDS = { run: RUN_BOUNDS, wait: WAIT_BOUNDS } as const;

/** Which of the two durations of a job: how long a worker had it, or how long it could have been taken before. */
type DurationKind = keyof typeof BOUNDS;

/** Series of one queue and name. */
const SERIES_EACH = seriesOf(BOUNDS.run) + seriesOf(BOUNDS.wait);

interface JobDurations extends Readonly<Record<DurationKind, Durations>> {
  readonly labels: { readonly queue: string; readonly name: string };
}

/** @param most pairs of queue and name that are counted separately; at least 2 */
function createDurationSeries(most: number) {
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

  /** Values below 0, because clocks differ, count as 0. */
  const add: CountDuration = (kind, queue, name, ms) => {
    const pair = pairOf(queue, (name ?? UNKNOWN).slice(0, LONGEST_NAME));
    addDuration(pair[kind], Math.max(0, ms / 1_000));
  };

  return {
    add,
    /** The histograms in which something was counted. */
    *read(kind: DurationKind): Generator<MetricHistogram, void, undefined> {
      for (const pair of pairs.values()) {
        const histogram = readDurations(pair[kind], pair.labels);
        if (histogram.count > 0) yield histogram;
      }
    },
    /** How many durations were counted under {@link OTHER}. */
    overflow: () => overflow,
  };
}

const JOBS: MetricFamily = {
  name: 'bullmq_job_count',
  help: 'Number of jobs in the queue by state',
  type: 'gauge',
};
const COMPLETED: MetricFamily = {
  name: 'bullmq_job_completed_total',
  help: 'Total number of completed jobs',
  type: 'counter',
};
const FAILED: MetricFamily = {
  name: 'bullmq_job_failed_total',
  help: 'Total number of failed jobs',
  type: 'counter',
};
const RUN: MetricFamily = {
  name: 'bullmq_job_run_time_seconds',
  help: 'How long workers had jobs until these completed, failed, or were given back',
  type: 'histogram',
  bounds: BOUNDS.run,
};
const WAIT: MetricFamily = {
  name: 'bullmq_job_wait_time_seconds',
  help: 'How long jobs waited for a worker, from when one could take them',
  type: 'histogram',
  bounds: BOUNDS.wait,
};
const GAPS: MetricFamily = {
  name: 'bullmq_event_gaps_total',
  help: 'How often events were removed from the stream of a queue before they were counted',
  type: 'counter',
};

/** Of one queue: a series for each of eight states, completed and failed jobs. */
const SERIES_OF_QUEUE = 10;

/** A scrape waits no longer for Redis, in milliseconds. */
const READ_MS = 3_000;

const debug = debugChannel('bullmq');

/**
 * Half of the series is for the figures of queues, the other half for durations. Without an open meter, nothing is read.
 */
export function openMeter(redis: BullMQRedis, follower: StreamFollower, { mostSeries }: MeterOptions): Meter {
  const mostQueues = Math.max(1, Math.floor(mostSeries / 2 / SERIES_OF_QUEUE) - 1);
  const durations = createDurationSeries(Math.max(2, Math.floor(mostSeries / 2 / SERIES_EACH)));
  const events = countDurations(follower, durations.add);
  const shown = new Set<string>();
  /** A queue keeps its series for as long as the meter is open. */
  const labelOf = (queue: string): string => {
    if (shown.size < mostQueues) shown.add(queue);
    return shown.has(queue) ? queue : OTHER;
  };

  return {
    families: [JOBS, COMPLETED, FAILED, RUN, WAIT, GAPS],
    async collect(context) {
      const access = redis.within({ signal: signalWithin(READ_MS, context.signal) });
      const read = (await readCounts(access)).map(({ queue, states, kept }) => ({
        labels: { queue: labelOf(queue) },
        states,
        // Without the option `metrics` of the workers, BullMQ itself would say 0.
        ended: kept ?? events.ended(queue),
      }));
      const jobs = read.flatMap(({ labels, states }) =>
        states.map(([state, value]) => ({ labels: { ...labels, state }, value })),
      );
      const ended = read.flatMap(({ labels, ended }) => (ended === null ? [] : [{ labels, ended }]));
      const endedIn = (part: 'completed' | 'failed'): Iterable<MetricValue> =>
        sumsOf(ended.map(({ labels, ended }) => ({ labels, value: ended[part] })));
      return [
        { name: JOBS.name, samples: sumsOf(jobs) },
        { name: COMPLETED.name, samples: endedIn('completed') },
        { name: FAILED.name, samples: endedIn('failed') },
        { name: RUN.name, samples: durations.read('run') },
        { name: WAIT.name, samples: durations.read('wait') },
        { name: GAPS.name, samples: [{ labels: {}, value: events.gaps() }] },
      ];
    },
    overflow: durations.overflow,
    close: events.close,
  };
}

/** Figures of queues that share a label are added up. */
function sumsOf(values: readonly MetricValue[]): Iterable<MetricValue> {
  const sums = new Map<string, MetricValue>();
  for (const { labels, value } of values) {
    const key = `${labels.queue}\n${labels.state}`;
    sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + value });
  }
  return sums.values();
}

/**
 * Reads all queues: 14 commands for each. Queues of an unreachable server are left out; while the queues are unknown, all
 * are. The counts of events stay.
 */
async function readCounts(access: QueueAccess) {
  const queues = await access.queues().catch(noteFailure);
  // The events are read all the time, so unreachable servers are known.
  const servers = serversOf(access, queues).filter(({ reader }) => reader.state().problem === null);
  const read = servers.map((server) => readServer(access, server.queues).catch(noteFailure));
  return (await Promise.all(read)).flat();
}

function noteFailure(error: unknown): readonly [] {
  debug('jobs cannot be counted: %s', error instanceof Error ? error.message : 'unknown');
  return [];
}

async function readServer(access: QueueAccess, queues: readonly QueueRef[]) {
  const [figures, kept] = await Promise.all([
    readQueueFigures(access, queues),
    readPer(access, queues, (queue) =>
      ['metrics:completed', 'metrics:failed'].map((part) => keyCommand(queue, 'HMGET', part, 'count')),
    ),
  ]);
  return queues.map((queue) => {
    const own = figures.get(queue);
    const counts = (kept.get(queue) ?? []).map((reply) => asNumber(asFields(reply)[0]));
    const [completed = null, failed = null] = counts;
    return {
      queue: queue.name,
      states: own === undefined ? [] : statesOf(own),
      /** Jobs that ended, as workers with the option `metrics` count them; `null`: none has counted any. */
      kept: completed === null && failed === null ? null : { completed: completed ?? 0, failed: failed ?? 0 },
    };
  });
}

/** Jobs by state. BullMQ 6 has no state `paused`. */
function statesOf({ counts, version }: QueueFigures): readonly (readonly [state: string, count: number])[] {
  const isWithoutPaused = /^bullmq:(?:[6-9]|\d{2,})\./.test(version ?? '');
  return Object.entries(counts).filter(([state]) => state !== 'paused' || !isWithoutPaused);
}

/** Counts for how many milliseconds a worker had a job (`run`), or could have taken it before one did (`wait`). */
type CountDuration = (kind: DurationKind, queue: string, name: string | null, ms: number) => void;

/** A queue whose events are counted. */
interface MeteredQueue {
  readonly name: string;
  /** Jobs that ended since counting began. */
  completed: number;
  failed: number;
  /** The job that its worker gave back with the last entry: the next one shows whether it stalled. */
  returned: { readonly jobId: string; readonly name: string | null; readonly ms: number } | null;
}

/** A thousand queues are read no more often than each two seconds. */
const PER_QUEUE_MS = 2;
/** Events of this time before are read for the names of jobs, and for when they began to wait or run. */
const BEFORE_MS = 60_000;

/**
 * Counts from the events of all queues, from now on, how long jobs wait and run. Only jobs whose names no event has
 * reported are read. Times are milliseconds since 1970, by the clock of Redis.
 */
function countDurations(follower: StreamFollower, add: CountDuration) {
  const since = Date.now();
  let gaps = 0;
  const queues = countSteps<MeteredQueue>({
    work: 'meter',
    from: since - BEFORE_MS,
    begin: ({ name }) => ({ name, completed: 0, failed: 0, returned: null }),
    needsRuns: ({ event }, isNamed) => NAMED.has(event) && !isNamed,
    gap(queue, next) {
      queue.returned = null;
      if (next === undefined || next.time > since) gaps += 1;
    },
    count(queue, entry, step) {
      const isCounted = entry.time >= since;
      // A worker that is gone did not run its job during the time until this was noticed.
      if (entry.event === 'stalled' && entry.jobId === queue.returned?.jobId) queue.returned = null;
      countReturned(queue);
      if (step !== null && isCounted) countStep(queue, entry, step);
    },
    reachEnd: countReturned,
  });

  /** Counts the run of a job that was given back: it has not stalled. */
  function countReturned(queue: MeteredQueue): void {
    const { returned, name } = queue;
    if (returned !== null) add('run', name, returned.name, returned.ms);
    queue.returned = null;
  }

  function countStep(queue: MeteredQueue, { event, jobId }: StreamEntry, step: JobStep): void {
    const { job, ranMs, waitedMs } = step;
    if (event === 'completed' || event === 'failed') queue[event] += 1;
    if (waitedMs !== null) add('wait', queue.name, job.name, waitedMs);
    if (ranMs === null) return;
    if (event === 'completed' || event === 'failed') add('run', queue.name, job.name, ranMs);
    else queue.returned = { jobId: jobId ?? '', name: job.name, ms: ranMs };
  }

  const leave = follower.follow({
    ...queues,
    msPerQueue: PER_QUEUE_MS,
    isOn: () => true,
  });
  return {
    /** Jobs of a queue that ended since counting began; `null`: its events have not been read. */
    ended: queues.get,
    /** How often events were removed from a stream before they were read. */
    gaps: () => gaps,
    close() {
      void leave();
      queues.clear();
    },
  };
}
