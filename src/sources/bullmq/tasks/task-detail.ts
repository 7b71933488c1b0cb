import type {
  AwaitedTasks,
  Task,
  TaskAttempt,
  TaskChangeEntry,
  TaskDetail,
  TaskLog,
} from '../../../model.ts';
import { redactTimeline } from '../../../redact.ts';
import { asCount, asNumber, asTexts } from '../../../redis/replies.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { attemptsIn } from '../../../select/task-figures.ts';
import type { QueueAccess } from '../access/queue-access.ts';
import { type JobRef, keyCommand } from '../access/queue-reads.ts';
import { DETAIL_BOUNDS, type JobValues, readValues } from '../jobs/job-hash.ts';
import { findJobs, loadWithValues } from '../jobs/job-loader.ts';
import { type KnownJob, traceIn, tracesOf } from '../jobs/job-row.ts';
import { findRemoved, type JobReads } from './removed-jobs.ts';
import { childrenOf } from './task-tree.ts';

const MOST_CHILDREN = 20_000;
/** Runs that a timeline lists one by one. */
const MOST_RUNS = 100;

/** Answers `getTask`. */
export async function readTaskDetail(reads: JobReads, taskId: string): Promise<TaskDetail | null> {
  return (await readLiveDetail(reads.access, taskId)) ?? findRemoved(reads, taskId);
}

/** A job in Redis with its children, and its timeline from attempts, stack traces and logs. */
async function readLiveDetail(access: QueueAccess, taskId: string): Promise<TaskDetail | null> {
  const [ref = null] = await access.find([taskId]);
  if (ref === null) return null;
  const [job = null] = await findJobs(access, [ref], true);
  if (job === null) return null;
  const [[loaded], [children], log, ahead] = await Promise.all([
    loadWithValues(access, [job], DETAIL_BOUNDS, ['opts']),
    childrenOf(access, [job], MOST_CHILDREN),
    readJobLog(access, job),
    readAhead(access, job),
  ]);
  if (loaded === undefined) return null;
  const { task } = loaded;
  const ids = new Set((children?.keys ?? []).flatMap((key) => access.taskIdOfKey(key) ?? []));
  const values = await withTraces(access, job, loaded.values);
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
    ahead,
    waitsFor: await readUnfinished(access, job, ids.size),
  };
}

/** Of how many children a job waits for some; `null`: for none. */
async function readUnfinished(
  access: QueueAccess,
  { queue, id, set }: KnownJob,
  total: number,
): Promise<AwaitedTasks | null> {
  if (set.part !== 'waiting-children') return null;
  const [reply] = await access.read([keyCommand(queue, 'SCARD', `${id}:dependencies`)]);
  const left = asCount(reply);
  return { relation: 'children', done: Math.max(0, total - left), total: Math.max(total, left) };
}

/** How far into a list a job is searched. */
const MOST_AHEAD = 10_000;

/** How many jobs run before a waiting one: workers take from the end of `wait`, then by priority. */
async function readAhead(
  access: QueueAccess,
  { queue, id, set: { part } }: KnownJob,
): Promise<number | null> {
  if (part === 'wait' || part === 'paused') {
    const [length, found] = await access.read([
      keyCommand(queue, 'LLEN', part),
      keyCommand(queue, 'LPOS', part, id, 'RANK', -1, 'MAXLEN', MOST_AHEAD),
    ]);
    const index = asNumber(found);
    return index === null ? null : Math.max(0, asCount(length) - 1 - index);
  }
  if (part !== 'prioritized') return null;
  const [waiting, all, found] = await access.read([
    keyCommand(queue, 'LLEN', 'wait'),
    keyCommand(queue, 'ZCARD', part),
    keyCommand(queue, 'ZREVRANK', part, id),
  ]);
  const behind = asNumber(found);
  return behind === null ? null : Math.max(0, asCount(waiting) + asCount(all) - 1 - behind);
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
async function withTraces(access: QueueAccess, job: KnownJob, values: JobValues): Promise<JobValues> {
  if (values.stacktrace !== undefined || job.facts.attemptsMade === 0) return values;
  const [more] = await readValues(access, [{ job, fields: ['stacktrace'] }], DETAIL_BOUNDS);
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

/** How many of the latest lines are shown, and how many characters of them in all. */
const MOST_LINES = 100;
const MOST_LOG = 65_536;
/** Longest part of a line that is kept, in characters. More than is shown, to recognize secrets. */
const LONGEST_LINE = 4_096;
/** Lines that are read first, to see how long they are. */
const FIRST_LINES = 5;
/**
 * Bytes that are read at most, as estimated from the first lines and the size of the list: three times the kept size,
 * because for 64 clients with 64 jobs at once, Redis would otherwise send more than can be read without delaying the
 * host.
 */
const BUDGET = 196_608;
/** A list of lines that are longer on average is not read, in bytes. */
const LARGEST = 1_048_576;

/**
 * The latest lines of the job's log, without secrets. It is a list of lines in Redis, each of any length, of which Redis
 * cannot return a part: so the size of the list is read before any line, and the lines are read a few at a time.
 */
async function readJobLog(access: QueueAccess, { queue, id }: JobRef): Promise<TaskLog> {
  const part = `${id}:logs`;
  const replies = await access.read([
    keyCommand(queue, 'LLEN', part),
    // The user may not be allowed to run the command.
    { queue, command: ['MEMORY', 'USAGE', queue.key(part), 'SAMPLES', '20'], isOptional: true },
  ]);
  const total = asCount(replies[0]);
  if (total === 0) return { lines: [], total };
  const average = (asNumber(replies[1]) ?? 0) / total;
  if (average > LARGEST) return { lines: [`<lines of ${Math.round(average)} bytes each>`], total };
  const read = async (count: number): Promise<readonly string[]> => {
    const [reply] = await access.read([keyCommand(queue, 'LRANGE', part, -count, -1)]);
    return asTexts(reply);
  };
  let lines = await read(FIRST_LINES);
  const longest = Math.max(average, ...lines.map((line) => line.length));
  const most = Math.min(MOST_LINES, Math.floor(BUDGET / Math.max(1, longest)));
  if (total > FIRST_LINES && most > FIRST_LINES) lines = await read(most);
  return { lines: await scheduler.run('detail', showLines(access, lines), access.options), total };
}

/** The lines without secrets. In steps, so that many concurrent logs do not take one long turn. */
function* showLines({ redactor }: QueueAccess, lines: readonly string[]): Steps<readonly string[]> {
  const text = kept(lines).join('\n');
  yield;
  const shown = redactor === null ? text : redactor.text(text, 'log');
  yield;
  return shown.split('\n').slice(-MOST_LINES);
}

/** The latest lines that fit, each cut. */
function kept(lines: readonly string[]): readonly string[] {
  const some: string[] = [];
  let left = MOST_LOG;
  for (const line of lines.toReversed()) {
    const part = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    left -= part.length;
    if (left < 0) break;
    some.unshift(part);
  }
  return some;
}
