/** Makes the task that answers show from a record. */
import { createCauseFinder } from '../../causes/find-cause.ts';
import type { Task, TaskCause, TaskDetail, TaskFlag, TaskProgress, TaskTextField } from '../../model.ts';
import { attemptsIn } from '../../select/task-attempts.ts';
import type { TaskFigures } from '../../select/task-figures.ts';
import { waitBetween } from '../../select/task-wait.ts';
import { retriesIn, type TaskLife } from './life.ts';
import type { TaskRecord } from './record.ts';
import { timelineOf } from './timeline.ts';

/** What a task shows besides its record. */
export interface TaskContext {
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
export function withDetails(
  task: Task,
  { entries, traceId, timeLimits }: Pick<TaskRecord, 'entries' | 'traceId' | 'timeLimits'>,
  children: readonly string[],
): TaskDetail {
  const timeline = timelineOf(entries);
  return { ...task, children, timeline, attempts: attemptsIn(timeline), traceId, timeLimits };
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
