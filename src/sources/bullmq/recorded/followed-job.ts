/** The data that events and reads have reported about a job until it ends, and the changes that are then recorded. */
import type { TaskChange } from '../../../history/history.ts';
import { type JobTrace, stepJob, unknownJob } from '../events/job-machine.ts';
import type { StreamEntry } from '../events/stream-entry.ts';
import type { JobFacts, JobValue, JobValues } from '../jobs/job-hash.ts';
import { contentOf, isOfChild, jobProgress, traceIn } from '../jobs/job-row.ts';

/** The data that was read about a job while it was in Redis. */
export interface JobReading {
  readonly facts: JobFacts;
  /** The texts that were read this time. */
  readonly values: JobValues;
  /** `null`: it has no parent, or its parent is not shown. */
  readonly parentId: string | null;
  /** `null`: not known. */
  readonly rootId: string | null;
}

/** A job that has not ended. Times in milliseconds since 1970. */
export interface FollowedJob {
  trace: JobTrace;
  /** When the event reported that it was added, by the clock of Redis; `null`: that was not seen. */
  readonly addedAt: number | null;
  /** The latest reading, with the texts of all readings; `null`: it could never be read. */
  reading: JobReading | null;
  /** Its last reported progress; `null`: none. */
  progress: JobValue | null;
  /** When its runs began. */
  readonly starts: number[];
  /** When a run ended that was followed by another one, with its error. */
  readonly retries: { readonly time: number; readonly detail: string | null }[];
  /** It was given back by a worker after it was read, so the number of its attempts is unknown. */
  isStale: boolean;
}

/** How a job ended. */
export interface JobEnd {
  readonly type: 'succeeded' | 'failed' | 'revoked';
  readonly time: number;
  /** The data of the event. */
  readonly values: JobValues;
  /** `removed`: it was removed before it ended. */
  readonly detail: string | null;
}

/** Starts and retries of a job that are kept. */
const MOST_TIMES = 50;
/** The clocks of Redis and of workers may differ by this much, in milliseconds. */
const CLOCKS_MS = 2_000;

/** @param addedAt `null`: that was not seen */
export function followJob(addedAt: number | null): FollowedJob {
  return {
    trace: unknownJob(null),
    addedAt,
    reading: null,
    progress: null,
    starts: [],
    retries: [],
    isStale: false,
  };
}

/** Adds the data that was read about a job. Texts of earlier readings stay, unless they have been read anew. */
export function addReading(job: FollowedJob, reading: JobReading): void {
  job.reading = { ...reading, values: { ...job.reading?.values, ...reading.values } };
  job.isStale = false;
}

/**
 * Processes an event.
 *
 * @param isRead whether the job was read after this event
 * @returns how the job ended; `null`: it has not
 */
export function addEvent(job: FollowedJob, entry: StreamEntry, isRead: boolean): JobEnd | null {
  const { fields, time } = entry;
  const { type, job: trace, isReturn } = stepJob(job.trace, entry, undefined);
  job.trace = trace;
  // A job whose runs were not seen may be one that was never taken.
  if (isReturn && (entry.event === 'waiting' || job.starts.length > 0)) addReturn(job, time, isRead);
  switch (type) {
    case 'task-started':
      if (job.starts.length < MOST_TIMES) job.starts.push(time);
      return null;
    case 'task-succeeded':
      return { type: 'succeeded', time, values: valuesIn('returnvalue', entry.returnValue), detail: null };
    case 'task-failed':
      return {
        type: 'failed',
        time,
        values: valuesIn('failedReason', fields.get('failedReason')),
        detail: null,
      };
    case 'removed': {
      const prev = fields.get('prev');
      const detail = prev === undefined ? 'removed' : `removed, was ${prev}`;
      return { type: 'revoked', time, values: {}, detail };
    }
    default:
      return null;
  }
}

function valuesIn(field: 'returnvalue' | 'failedReason', text: string | null | undefined): JobValues {
  return text ? { [field]: field === 'returnvalue' ? { text, isCut: false } : textValue(text) } : {};
}

/** Processes the progress that a job reports. @param job `undefined`: it is not followed */
export function addProgress(job: FollowedJob | undefined, { fields }: StreamEntry): void {
  const text = fields.get('data');
  if (job !== undefined && text !== undefined) job.progress = textValue(text);
}

/** Whether a job was removed that had ended before. */
export function isLateRemoval({ event, fields }: StreamEntry): boolean {
  return event === 'removed' && /^(?:completed|failed)$/.test(fields.get('prev') ?? '');
}

/** A text of an event, which was cut when it was read. */
function textValue(text: string): JobValue {
  return { text, isCut: text.endsWith('…') };
}

/** A worker has given the job back. It has failed if there is an attempt more than before. */
function addReturn(job: FollowedJob, time: number, isRead: boolean): void {
  const { reading, retries } = job;
  if (!isRead || reading === null) job.isStale = true;
  else if (reading.facts.attemptsMade > retries.length && retries.length < MOST_TIMES) {
    retries.push({ time, detail: reading.values.failedReason?.text ?? null });
  }
}

/** When the job was added, by its own clock; `null`: not known. */
export function addedAtOf({ reading, addedAt }: FollowedJob): number | null {
  return reading?.facts.addedAt ?? addedAt;
}

/**
 * The changes of a job that has ended. The same events make the same changes, so they may be recorded twice.
 *
 * @param id under which it is recorded
 * @param groupId the task id of the job, if that is another one
 * @param isRead whether the job was read after its end
 */
export function changesOf(
  { id, groupId, queue }: { readonly id: string; readonly groupId: string | null; readonly queue: string },
  job: FollowedJob,
  end: JobEnd,
  isRead: boolean,
): readonly TaskChange[] {
  const { reading, retries } = job;
  const facts = reading?.facts ?? null;
  const content = contentOf({ ...shownValues(end.type, reading?.values ?? {}), ...end.values });
  const sent = addedAtOf(job);
  const delay = facts?.delay ?? 0;
  const due = sent !== null && delay > 0 ? { eta: sent + delay } : {};
  // Each message has the fields by which it is counted.
  const own = {
    id,
    name: facts?.name ?? job.trace.name,
    queue,
    ...due,
    ...({ origin: 'event', stored: true, isLogged: true } as const),
  };
  const runs = runsOf(job, end.time);
  const worker = runs.at(-1)?.worker ?? null;
  const changes: TaskChange[] = [];
  const attempt = attemptOf(job, isRead && end.type !== 'revoked');
  const first = attempt === null ? null : 0;
  if (sent !== null) changes.push({ ...own, type: 'sent', time: sent, retries: first });
  for (const run of runs) {
    const number = attempt === null ? null : retries.filter(({ time }) => time <= run.time).length;
    const begun = { ...own, ...run, retries: number };
    changes.push({ ...begun, type: 'received' }, { ...begun, type: 'started' });
  }
  for (const [index, { time, detail }] of retries.entries()) {
    changes.push({ ...own, type: 'retried', time, retries: index, detail });
  }
  changes.push({
    ...own,
    type: end.type,
    time: end.time,
    worker: end.type === 'revoked' ? null : worker,
    retries: attempt,
    isConsequence: end.type === 'failed' && isOfChild(content.exception),
    groupId,
    progress: jobProgress(job.progress ?? reading?.values.progress),
    traceId: traceIn(reading?.values.opts),
    detail: end.detail ?? content.exception,
    ...lineageOf(id, reading),
    ...content,
  });
  return changes;
}

/** A job keeps the reason of a failure even if a later run succeeds. */
function shownValues(type: JobEnd['type'], { data, opts, failedReason, stacktrace }: JobValues): JobValues {
  const values: JobValues = {};
  if (data !== undefined) values.data = data;
  if (opts !== undefined) values.opts = opts;
  if (type === 'failed' && failedReason !== undefined) values.failedReason = failedReason;
  if (type === 'failed' && stacktrace !== undefined) values.stacktrace = stacktrace;
  return values;
}

/** A run: when it began, and on which worker. */
interface JobRun {
  readonly time: number;
  /** `null`: not known. */
  readonly worker: string | null;
}

/** The runs of a job. The one that was read last has the time of its worker's clock. */
function runsOf({ starts, reading }: FollowedJob, endedAt: number): readonly JobRun[] {
  const { processedAt = null, worker = null } = reading?.facts ?? {};
  const runs = starts.map((time): JobRun => ({ time, worker: null }));
  if (processedAt === null || processedAt > endedAt + CLOCKS_MS) return runs;
  const distances = starts.map((time) => Math.abs(time - processedAt));
  const nearest = Math.min(...distances);
  if (runs.length === 0) runs.push({ time: Math.min(processedAt, endedAt), worker });
  else if (nearest <= CLOCKS_MS) runs[distances.indexOf(nearest)] = { time: processedAt, worker };
  return runs;
}

/** Number of the last attempt, 0 for the first; `null`: not known. */
function attemptOf({ reading, isStale }: FollowedJob, hasEnded: boolean): number | null {
  if (reading === null || isStale) return null;
  return Math.max(0, reading.facts.attemptsMade - (hasEnded ? 1 : 0));
}

function lineageOf(id: string, reading: JobReading | null): Pick<TaskChange, 'parentId' | 'rootId'> {
  if (reading === null) return {};
  const { parentId, rootId } = reading;
  return { parentId, rootId: parentId === null ? id : rootId };
}
