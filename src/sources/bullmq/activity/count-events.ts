/**
 * Counts the events in the stream of a queue, and since when they are complete, and finds the jobs that stalled: their
 * worker died, or was too busy to keep its lock, so that another worker took them and ran them again. Times are
 * milliseconds since 1970.
 */
import type { MinuteAggregate, Outcome } from '../../../history/aggregate/minute-aggregate.ts';
import type { RepeatedRun, RepeatedTask, WorkerDeath } from '../../../source.ts';
import { type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { type JobStep, mayReturn, NAMED } from '../events/job-machine.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import { countSteps, type StepConsumer } from '../events/stream-follower.ts';
import { STALLED_TOO_OFTEN } from '../jobs/job-hash.ts';
import type { EndedPart } from '../jobs/job-sets.ts';

/** A day: earlier events are not counted. */
const COUNTED_MS = 24 * 60 * 60_000;

/** The end of a job may be dated this much before the event that reports it. */
export const EDGE_MS = 2_000;

/** A time in which events were removed from the stream before they were read. Sets of ended jobs may fill it. */
interface Gap {
  readonly from: number;
  readonly to: number;
  /** Jobs that ended up to this time may have been counted by an event after the gap: then they are in `counted`. */
  readonly edge: number;
  readonly counted: Set<string>;
  /** How many jobs of each set have been read, from the newest on. */
  readonly read: Record<EndedPart, number>;
  /** Everything that ended after it has been counted. */
  reached: number;
}

/** A job that ended, to see whether its queue keeps such jobs. */
export interface EndedJob {
  readonly jobId: string;
  readonly part: EndedPart;
  readonly time: number;
}

/** The latest few jobs of a name that ended in the same set. */
export interface EndedJobs {
  readonly name: string | null;
  readonly jobs: readonly EndedJob[];
}

/** A queue whose events are counted. */
export interface CountedQueue {
  readonly queue: QueueRef;
  /** Everything between these two times has been counted, except for the gap. */
  since: number;
  until: number;
  /** `null`: nothing is left to be read from the sets. */
  gap: Gap | null;
  /** The latest few jobs of each name that ended, by set and name. */
  readonly samples: Map<string, EndedJobs>;
  /** Its jobs that have stalled, by task id, the latest last. */
  readonly stalled: Map<string, StalledJob>;
  deaths: readonly WorkerDeath[];
}

/** Since when nothing is missing. */
export function countedSince({ since, gap }: CountedQueue): number {
  return gap === null ? since : Math.max(since, gap.reached);
}

/** Gives up the unread part of a gap. */
export function closeGap(counted: CountedQueue): void {
  const { gap } = counted;
  if (gap !== null && gap.reached > gap.from) counted.since = Math.max(counted.since, gap.reached);
  counted.gap = null;
}

/** Events before this one are gone; `undefined`: up to now. The rest of an earlier gap is given up. */
function openGap(counted: CountedQueue, next: StreamEntry | undefined): void {
  const to = next?.time ?? Date.now();
  counted.since = countedSince(counted);
  counted.gap = null;
  if (to <= counted.until) return;
  counted.gap = {
    from: counted.until,
    to,
    edge: next === undefined ? to : to + EDGE_MS,
    counted: new Set(),
    read: { completed: 0, failed: 0 },
    reached: to,
  };
  counted.until = to;
}

/** The types of events that are counted. */
const OUTCOMES: ReadonlyMap<string | null, Outcome> = new Map<string, Outcome>([
  ['task-sent', 'sent'],
  ['task-started', 'started'],
  ['task-succeeded', 'succeeded'],
  ['task-failed', 'failed'],
  ['task-retried', 'retried'],
]);

/** Counts the events of the last day, and from now on. */
export function countEvents(counts: MinuteAggregate): StepConsumer<CountedQueue> {
  const from = Date.now() - COUNTED_MS;
  return countSteps<CountedQueue>({
    work: 'activity',
    from,
    begin: (queue) => ({
      queue,
      since: from,
      until: from,
      gap: null,
      samples: new Map(),
      stalled: new Map(),
      deaths: [],
    }),
    needsRuns(entry, isNamed, counted) {
      // A job that stalled has run on two workers.
      const hasStalled = counted?.stalled.has(taskIdOf(counted.queue.name, entry.jobId ?? ''));
      return mayReturn(entry) || (NAMED.has(entry.event) && (!isNamed || hasStalled === true));
    },
    gap: openGap,
    count(counted, entry, step, runs) {
      counted.until = Math.max(counted.until, entry.time);
      if (step === null || entry.jobId === null) return;
      noteStep(counted, entry, step, entry.event === 'completed' ? (runs?.worker ?? null) : null);
      countStep(counts, counted, entry, step);
    },
    reachEnd(counted) {
      counted.until = Math.max(counted.until, Date.now());
    },
  });
}

function countStep(
  counts: MinuteAggregate,
  counted: CountedQueue,
  { event, jobId, time }: StreamEntry,
  { type, job: { name }, ranMs, isConsequence }: JobStep,
): void {
  const outcome = OUTCOMES.get(type);
  if (outcome === undefined) return;
  if (event === 'completed' || event === 'failed')
    noteEnd(counted, name, { jobId: jobId ?? '', part: event, time });
  if (isConsequence) return;
  const isEnd = outcome === 'succeeded' || outcome === 'failed';
  counts.count(outcome, name, time, (isEnd ? ranMs : null) ?? Number.NaN, Date.now(), {
    queue: counted.queue.name,
    worker: null,
  });
}

/** Names of a queue of which ended jobs are remembered, and how many of each. */
const MOST_SAMPLED_NAMES = 100;
const MOST_SAMPLES = 3;

function noteEnd({ samples, gap }: CountedQueue, name: string | null, job: EndedJob): void {
  if (gap !== null && job.time <= gap.edge) gap.counted.add(job.jobId);
  const key = `${job.part} ${name ?? ''}`;
  const known = samples.get(key);
  if (known === undefined && samples.size >= MOST_SAMPLED_NAMES) return;
  samples.set(key, { name, jobs: [...(known?.jobs ?? []), job].slice(-MOST_SAMPLES) });
}

const REPEATED_MS = 60 * 60_000;
const DEATHS_MS = 24 * 60 * 60_000;
/** Most stalled jobs of a queue that are remembered. */
const MOST = 1_000;
/** One script puts back all jobs that a worker has lost. Milliseconds. */
const SAME_MOMENT_MS = 50;

/** The runs of a job that has stalled, the earliest first. */
interface StalledJob {
  readonly name: string | null;
  runs: readonly RepeatedRun[];
  /** It has not started again yet. */
  isWaiting: boolean;
}

/** Processes a step of a job. @param worker of the run that it is about; `null`: not known */
function noteStep(
  counted: CountedQueue,
  { jobId, time, fields }: StreamEntry,
  { type, job: { name, startedAt } }: JobStep,
  worker: string | null,
): void {
  const { queue, stalled } = counted;
  const taskId = taskIdOf(queue.name, jobId ?? '');
  const job = stalled.get(taskId);
  if (type === 'stalled' && startedAt !== null) {
    noteDeath(counted, { id: taskId, name, worker: null, startedAt }, time);
    const runs = job?.runs ?? [{ worker: null, startedAt, endedAt: null }];
    stalled.delete(taskId);
    stalled.set(taskId, { name, runs, isWaiting: true });
    const [oldest] = stalled.keys();
    if (stalled.size > MOST && oldest !== undefined) stalled.delete(oldest);
  } else if (job === undefined || type === null) return;
  else if (type === 'task-started' && job.isWaiting) {
    job.runs = [...job.runs, { worker: null, startedAt: time, endedAt: null }];
    job.isWaiting = false;
  } else if (type === 'task-failed' && fields.get('failedReason') === STALLED_TOO_OFTEN) {
    job.runs = job.runs.slice(0, -1);
  } else if (ENDS.has(type)) {
    const last = job.runs.at(-1);
    if (last?.endedAt === null) job.runs = [...job.runs.slice(0, -1), { ...last, worker, endedAt: time }];
  }
}

const ENDS: ReadonlySet<string> = new Set(['task-succeeded', 'task-failed', 'task-retried']);

function noteDeath(counted: CountedQueue, job: WorkerDeath['running'][number], at: number): void {
  const last = counted.deaths.at(-1);
  const isSame = last !== undefined && at - last.at < SAME_MOMENT_MS;
  const death = isSame
    ? { ...last, running: [...last.running, job] }
    : { at, worker: job.worker, running: [job] };
  counted.deaths = [...(isSame ? counted.deaths.slice(0, -1) : counted.deaths), death].slice(-MOST);
}

/** What the rules judge. */
export function judgedStalls(
  all: readonly CountedQueue[],
  now: number,
): { readonly repeated: readonly RepeatedTask[]; readonly deaths: readonly WorkerDeath[] } {
  const deaths = all.flatMap((counted) => counted.deaths).filter(({ at }) => now - at < DEATHS_MS);
  const isRecent = ({ startedAt }: RepeatedRun): boolean => now - startedAt < REPEATED_MS;
  const repeated = all.flatMap(({ stalled }) =>
    [...stalled].flatMap(([id, { name, runs }]) =>
      runs.length > 1 && runs.some(isRecent) ? { id, name, runs } : [],
    ),
  );
  return { repeated, deaths: deaths.sort((a, b) => a.at - b.at) };
}
