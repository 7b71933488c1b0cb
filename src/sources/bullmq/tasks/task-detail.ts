import type { Task, TaskAttempt, TaskChangeEntry, TaskDetail } from '../../../model.ts';
import { redactTimeline } from '../../../redact.ts';
import type { ReadOptions } from '../../../redis/reader.ts';
import { attemptsIn } from '../../../select/task-attempts.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { findJobs } from '../jobs/find-jobs.ts';
import { childrenOf } from '../jobs/job-family.ts';
import { loadTasks } from '../jobs/job-loader.ts';
import { readJobLog } from '../jobs/job-log.ts';
import { type KnownJob, traceIn, tracesOf } from '../jobs/job-row.ts';
import { DETAIL_BOUNDS, type JobValues, readValues } from '../jobs/job-values.ts';

const MOST_CHILDREN = 20_000;
/** Runs that a timeline lists one by one. */
const MOST_RUNS = 100;

/** Answers `getTask`: one job with its children, and its timeline from attempts, stack traces and logs. */
export async function readTaskDetail(
  access: QueueAccess,
  taskId: string,
  options: ReadOptions,
): Promise<TaskDetail | null> {
  const ref = await access.find(taskId, options);
  if (ref === null) return null;
  const [job = null] = await findJobs(access, [ref], true, options);
  if (job === null) return null;
  const [[loaded], [children], log] = await Promise.all([
    loadTasks(access, [job], DETAIL_BOUNDS, options, ['opts']),
    childrenOf(access, [job], MOST_CHILDREN, options),
    readJobLog(access, job, options),
  ]);
  if (loaded === undefined) return null;
  const { task } = loaded;
  const ids = new Set((children?.keys ?? []).flatMap((key) => access.taskIdOfKey(key) ?? []));
  const values = await withTraces(access, job, loaded.values, options);
  const lines = log.lines.length === 0 ? null : log.lines.join('\n');
  const redacted = redactTimeline(timelineOf(job, task, values), access.redactor);
  // The log no longer has secrets. To search it once more would take as long as all the rest.
  const timeline = redacted.map((entry) => (entry.state === 'STARTED' ? { ...entry, detail: lines } : entry));
  return {
    ...task,
    children: [...ids].sort(),
    timeline,
    attempts: attemptsOf(job, task, timeline),
    options: task.kwargs,
    log,
    traceId: traceIn(loaded.values.opts),
  };
}

/** The timeline lists the last runs, which Redis has counted. */
function attemptsOf(
  { facts }: KnownJob,
  { state }: Task,
  timeline: readonly TaskChangeEntry[],
): readonly TaskAttempt[] {
  const attempts = attemptsIn(timeline);
  const begun = facts.attemptsMade + (state === 'STARTED' ? 1 : 0);
  const earlier = Math.max(0, begun - attempts.length);
  return attempts.map((attempt) => ({ ...attempt, number: attempt.number + earlier }));
}

/** A job that did not fail in the end may have stack traces of earlier runs. */
async function withTraces(
  access: QueueAccess,
  job: KnownJob,
  values: JobValues,
  options: ReadOptions,
): Promise<JobValues> {
  if (values.stacktrace !== undefined || job.facts.attemptsMade === 0) return values;
  const [more] = await readValues(access, [{ job, fields: ['stacktrace'] }], DETAIL_BOUNDS, options);
  return { ...values, ...more };
}

/**
 * The life of a job, as recorded in Redis: when it was added, each run that failed (BullMQ keeps no time of it), the
 * last run, and how it ended.
 */
function timelineOf(
  { facts }: KnownJob,
  { state, worker = null, sent, started, finished, timestamp, exception }: TaskDetail,
  values: JobValues,
): readonly TaskChangeEntry[] {
  const isDone = state === 'SUCCESS' || state === 'FAILURE';
  const traces = tracesOf(values.stacktrace);
  // The entry of the job's own state reports its last failure.
  const isLastReported = state === 'FAILURE' || state === 'RETRY';
  const failures = Math.max(0, facts.attemptsMade - (isDone || state === 'RETRY' ? 1 : 0));
  const earlier = isLastReported ? traces.slice(0, -1) : traces;
  const shown = Math.min(failures, MOST_RUNS);
  const entries: TaskChangeEntry[] = [
    { state: 'PENDING', timestamp: sent ?? null, worker: null, detail: null },
  ];
  for (let run = shown; run > 0; run -= 1) {
    const detail = earlier.at(-run)?.split('\n', 1)[0] ?? null;
    entries.push({ state: 'RETRY', timestamp: null, worker: null, detail });
  }
  if (started != null) entries.push({ state: 'STARTED', timestamp: started, worker, detail: null });
  if (isDone || state === 'RETRY') {
    const detail = isLastReported && typeof exception === 'string' ? exception : null;
    // The timestamp of a job that waits again is the start of its last run, unless more is known.
    const at = isDone ? finished : timestamp?.getTime() === started?.getTime() ? null : timestamp;
    entries.push({ state, timestamp: at ?? null, worker: isDone ? worker : null, detail });
  }
  return entries;
}
