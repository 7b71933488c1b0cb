/** Makes the task that answers show from a record. */
import { createCauseFinder } from '../../causes/find-cause.ts';
import type {
  Task,
  TaskCause,
  TaskChangeEntry,
  TaskDetail,
  TaskFlag,
  TaskProgress,
  TaskTextField,
} from '../../model.ts';
import { waitBetween } from '../../select/durations.ts';
import { attemptsIn, type TaskFigures } from '../../select/task-figures.ts';
import { runsOf } from './attempts.ts';
import type { Run } from './attribution.ts';
import { retriesIn, type TaskLife } from './life.ts';
import { KIND_ORDER, stateOf, type TaskEntry, type TaskRecord } from './record.ts';
import { sentWith } from './record-fields.ts';

/** What a task shows besides its record. */
interface TaskContext {
  readonly life: TaskLife;
  /** Root of its workflow; `null`: not known. */
  readonly rootId: string | null;
  readonly flags: readonly TaskFlag[];
  /** Of its failure; `null`: none is known. */
  readonly cause: TaskCause | null;
  /** Texts of which a part is no longer kept. */
  readonly shortened: readonly TaskTextField[];
  /** Whether the record has no secrets. */
  readonly isRedacted: boolean;
}

/** The eta of a task's current attempt; `null`: none, or unknown. */
export function etaOf({ isOpened }: TaskLife, eta: number | null): number | null {
  return isOpened ? eta : null;
}

/** @returns what statistics are made of */
export function toFigures(
  life: TaskLife,
  {
    id,
    name,
    queue,
    parentId,
    isEndUnseen,
    cause,
  }: Pick<TaskFigures, 'id' | 'name' | 'queue' | 'parentId' | 'isEndUnseen' | 'cause'>,
  eta: number | null,
  retriedAt: readonly number[],
): TaskFigures {
  // Spreading an object here would take ten times as long.
  return {
    id,
    name,
    queue,
    parentId,
    state: life.state,
    isEndUnseen,
    cause,
    isConsequence: life.kind === 'propagated',
    worker: life.worker,
    sent: life.sent ?? Number.NaN,
    received: life.received ?? Number.NaN,
    started: life.started ?? Number.NaN,
    finished: life.finished ?? Number.NaN,
    timestamp: life.timestamp ?? Number.NaN,
    runtime: life.runtime ?? Number.NaN,
    wait: waitBetween(life.waitedSince, eta, life.started) ?? Number.NaN,
    retriedAt,
  };
}

/** @returns the task */
export function toTask(record: TaskRecord, context: TaskContext): Task {
  const { life } = context;
  const isSuccess = life.state === 'SUCCESS';
  return {
    id: record.id,
    state: life.state,
    name: record.name,
    worker: life.worker,
    queue: record.queue,
    sent: dateOf(life.sent),
    received: dateOf(life.received),
    started: dateOf(life.started),
    finished: dateOf(life.finished),
    timestamp: dateOf(life.timestamp),
    runtime: life.runtime,
    runtimeSource: life.runtimeSource,
    waitSeconds: waitBetween(life.waitedSince, record.eta, life.started),
    retries: life.retries,
    progress: shownProgress(record, life),
    args: record.args,
    kwargs: record.kwargs,
    result: isSuccess ? record.result : null,
    // The value of an earlier attempt is in the timeline.
    exception: isSuccess ? null : record.exception,
    traceback: isSuccess ? null : record.traceback,
    eta: dateOf(etaOf(life, record.eta)),
    expires: dateOf(record.expires),
    parentId: record.parentId,
    rootId: context.rootId,
    groupId: record.groupId,
    chordId: record.chordId,
    flags: context.flags,
    cause: context.cause,
    truncated: truncatedIn(record, context.shortened),
    kind: record.kind,
    stamps: record.stamps?.value ?? null,
    ...(context.isRedacted && { redacted: true }),
  };
}

/** The progress of a task's current attempt; `null`: not reported. */
function shownProgress(
  { progress, entries }: Pick<TaskRecord, 'progress' | 'entries'>,
  { attempt }: TaskLife,
): TaskProgress | null {
  if (progress === null) return null;
  const isEarlier =
    progress.attempt === null
      ? retriesIn(entries).some((time) => time > progress.at)
      : progress.attempt < attempt;
  return isEarlier ? null : progress.value;
}

/** Adds what only the page of a task shows. */
export function withDetails(task: Task, record: TaskRecord, children: readonly string[]): TaskDetail {
  const timeline = timelineOf(record.entries);
  return { ...task, ...sentWith(record), children, timeline, attempts: attemptsIn(timeline) };
}

function truncatedIn({ truncated }: TaskRecord, shortened: readonly TaskTextField[]): TaskTextField[] {
  if (truncated.length + shortened.length === 0) return [];
  return TEXT_FIELDS.filter((field) => truncated.includes(field) || shortened.includes(field));
}

const TEXT_FIELDS = ['args', 'kwargs', 'result', 'exception', 'traceback'] as const;

function dateOf(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

const find = createCauseFinder(null);

/**
 * The cause of a task, from a record without secrets; `null`: it has none, or its texts do not show one.
 *
 * @param shortened texts of which the record has only the beginning
 */
export function causeOfRecord(
  { exception, traceback, truncated }: TaskRecord,
  { state, kind }: Pick<TaskLife, 'state' | 'kind'>,
  shortened: readonly TaskTextField[],
): TaskCause | null {
  if (state !== 'FAILURE' || kind === 'propagated') return null;
  const isCut = (field: TaskTextField): boolean => truncated.includes(field) || shortened.includes(field);
  return find({
    exception,
    traceback,
    isExceptionCut: isCut('exception'),
    isTracebackCut: isCut('traceback'),
  });
}

/** A kept or stored task, with the cause found in its whole texts. */
interface FoundCause {
  readonly record: TaskRecord;
  readonly shortened: readonly TaskTextField[];
  readonly cause?: TaskCause | null;
}

/** The cause that was found, which a task has only while it has failed; else the one in its record. */
export function causeOfKept({ record, shortened, cause }: FoundCause, life: TaskLife): TaskCause | null {
  return cause !== undefined && life.state === 'FAILURE' && life.kind !== 'propagated'
    ? cause
    : causeOfRecord(record, life, shortened);
}

/** One change. */
interface Step {
  readonly entry: TaskEntry;
  /** Number of its attempt. */
  readonly attempt: number;
  /** When it happened at the latest, in whole milliseconds; `null`: unknown. */
  time: number | null;
  /** Where it is listed. */
  key: number;
}

/** Ends of one run are ordered only by time. */
const LAST_ORDER = KIND_ORDER.requeued;

/**
 * Maximum delay of the report of a retry after the next attempt began, in milliseconds. If it is longer, clocks differ.
 */
const MAX_DELAY_MS = 10_000;

/** @param entries in any order, except that messages found in a queue are in the order of arrival */
function timelineOf(entries: readonly TaskEntry[]): TaskChangeEntry[] {
  const { runs } = runsOf(entries);
  const chains = runs.map(chainOf);
  addMessages(entries, runs, chains);
  for (const run of runs) {
    for (const entry of run.entries) {
      // The command to revoke may come at any time.
      if (entry.kind === 'revoking' && !isReportedByWorker(entry, run))
        chains.push([stepOf(entry, run.attempt)]);
    }
  }
  // By attempt, so that each one is decided after those that follow from it.
  chains.sort((a, b) => attemptOf(a) - attemptOf(b));
  for (const [at, chain] of [...chains.entries()].reverse()) settle(chain, chains.slice(at + 1));
  const isNumbered = entries.some(({ retries, isCounted }) => retries !== null && !isCounted);
  return chains
    .flat()
    .sort((a, b) => (a.key === b.key ? 0 : a.key - b.key))
    .map(({ entry, attempt, time }) => ({
      state: stateOf(entry),
      timestamp: time === null ? null : new Date(time),
      worker: entry.worker,
      detail: entry.detail,
      retries: isNumbered ? attempt : null,
    }));
}

/** The changes of a run, each after its cause: their clocks differ by milliseconds. */
function chainOf(run: Run): Step[] {
  return run.entries
    .filter((entry) => entry.kind !== 'revoking' && !isReportedByWorker(entry, run))
    .sort((a, b) => orderOf(a) - orderOf(b) || a.time - b.time || KIND_ORDER[a.kind] - KIND_ORDER[b.kind])
    .map((entry) => stepOf(entry, run.attempt));
}

function orderOf({ kind }: TaskEntry): number {
  return Math.min(KIND_ORDER[kind], LAST_ORDER);
}

function stepOf(entry: TaskEntry, attempt: number): Step {
  return { entry, attempt, time: entry.timeSource === 'reading' ? null : Math.floor(entry.time), key: 0 };
}

function attemptOf(chain: readonly Step[]): number {
  return chain[0]?.attempt ?? 0;
}

/** Puts each message that was sent before the run that it caused, or by itself. */
function addMessages(entries: readonly TaskEntry[], runs: readonly Run[], chains: Step[][]): void {
  const messages = entries.filter((entry, at) => entry.kind === 'sent' && !isRepeatedMessage(entries, at));
  // The last one comes first, since each is put before the others.
  for (const message of messages.sort((a, b) => b.time - a.time)) {
    const step = stepOf(message, message.retries ?? 0);
    const chain = chains[runs.indexOf(runCausedBy(step, runs) as Run)];
    if (chain === undefined) chains.push([step]);
    else chain.unshift(step);
  }
}

/** The run of its attempt that was received next to it; another one of its attempt where none was received. */
function runCausedBy({ entry, attempt }: Step, runs: readonly Run[]): Run | undefined {
  let nearest: Run | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const run of runs) {
    if (run.attempt !== attempt || run.received === null) continue;
    // If two are equally near, the later one.
    const distance = Math.abs(run.received.time - entry.time) + (run.received.time < entry.time ? 0.001 : 0);
    if (distance >= least) continue;
    nearest = run;
    least = distance;
  }
  return nearest ?? runs.find((run) => run.attempt === attempt);
}

/**
 * Sets the times of a chain. A change happened before its consequences, whatever time its sender reports: a retry
 * before the next attempt, though workers report it later.
 *
 * @param later the chains of later attempts, and other runs of this one
 */
function settle(chain: readonly Step[], later: readonly (readonly Step[])[]): void {
  const next = firstTime(later.flat().filter(({ attempt }) => attempt > attemptOf(chain)));
  let followed = Number.POSITIVE_INFINITY;
  let key = next;
  for (const step of chain.toReversed()) {
    const { kind, timeSource } = step.entry;
    const isNear = timeSource !== 'sender' || (step.time ?? 0) - next < MAX_DELAY_MS;
    if (kind === 'retried' && isNear) followed = Math.min(followed, next);
    // The time of a late arrival is not used.
    if (step.time !== null && step.time > followed) step.time = timeSource === 'sender' ? followed : null;
    if (step.time !== null) followed = step.time;
    key = step.time ?? key;
    step.key = key;
  }
}

function firstTime(steps: readonly Step[]): number {
  return Math.min(Number.POSITIVE_INFINITY, ...steps.map(({ time }) => time ?? Number.POSITIVE_INFINITY));
}

/** Whether a message found in its queue is one that its sender reported, or that was found there before. */
function isRepeatedMessage(entries: readonly TaskEntry[], position: number): boolean {
  const entry = entries[position] as TaskEntry;
  if (entry.timeSource !== 'reading') return false;
  return entries.some(
    (other, at) =>
      other.kind === 'sent' &&
      (other.retries ?? 0) === (entry.retries ?? 0) &&
      (at < position || other.timeSource !== 'reading'),
  );
}

/** Whether the worker reported the same change of this run as the backend. */
function isReportedByWorker(entry: TaskEntry, { entries }: Run): boolean {
  if (entry.origin === 'event') return false;
  return entries.some((other) => {
    if (other.origin === 'result') return false;
    if (entry.kind === 'revoking' && other.kind === 'revoked') return true;
    return other.kind === entry.kind && other.state === entry.state;
  });
}
