import {
  flagsOf,
  isDone,
  LONGEST_PROGRESS,
  percentOf,
  shareOf,
  type Task,
  type TaskCause,
  type TaskTextField,
} from '../model.ts';
import { waitSecondsOf } from '../select/task-wait.ts';
import { isRecord } from '../values.ts';
import type { TaskBody, TaskProgressBody } from '../wire.ts';
import { isoTime } from './moments.ts';
import { figure, label, whole } from './scalars.ts';
import { ellipsize, type ShowText } from './shown-text.ts';

/** How tasks are shown. */
export interface TaskView {
  readonly show: ShowText;
  /** The cause of a failure, from texts without secrets. */
  readonly causeOf: (task: Task) => TaskCause | null;
}

/** Serializes a row of the task list; `null` when the task has no id or no state. */
export function taskBody(task: Task, source: string, { show, causeOf }: TaskView): TaskBody | null {
  const id = label(task.id);
  const state = label(task.state);
  if (id === null || state === null) return null;
  const known = task.truncated;
  const engineCut: readonly unknown[] = Array.isArray(known) ? known : [];
  const truncated: string[] = [];
  const isRedacted = task.redacted === true;

  function text(field: TaskTextField): string | null {
    const wasCut = engineCut.length > 0 && engineCut.includes(field);
    const shown = show(task[field], field, wasCut, isRedacted);
    if ((wasCut || shown.isCut) && shown.text !== null) truncated.push(field);
    return shown.text;
  }

  const parentId = label(task.parentId);
  const runtime = figure(task.runtime);
  return {
    task_id: id,
    name: label(task.name),
    state,
    engine_state: label(task.engineState),
    worker: label(task.worker),
    queue: label(task.queue),
    sent: isoTime(task.sent),
    received: isoTime(task.received),
    started: isoTime(task.started),
    finished: isoTime(task.finished),
    timestamp: isoTime(task.timestamp),
    done: isDone(state),
    runtime,
    runtime_source: runtime === null ? null : task.runtimeSource === 'derived' ? 'derived' : 'engine',
    wait_seconds: figure(waitSecondsOf(task)),
    args: text('args'),
    kwargs: text('kwargs'),
    result: text('result'),
    exception: text('exception'),
    traceback: text('traceback'),
    retries: whole(task.retries),
    progress: progressBody(task.progress, show, isRedacted),
    eta: isoTime(task.eta),
    expires: isoTime(task.expires),
    parent_id: parentId === id ? null : parentId,
    root_id: label(task.rootId),
    group_id: label(task.groupId),
    chord_id: label(task.chordId),
    source,
    flags: flagsOf(task.flags),
    cause: label(causeOf(task)?.id),
    truncated,
  };
}

/** Maximum length of a progress text, in characters. */
const LONGEST_SHOWN = 200;

/** Serializes the progress of a task; `null` if none of it is readable. */
function progressBody(value: unknown, show: ShowText, isRedacted: boolean): TaskProgressBody | null {
  if (!isRecord(value)) return null;
  const [current, total, given] = [figure(value.current), figure(value.total), figure(value.percent)];
  const percent = given === null ? shareOf(current, total) : percentOf(given);
  const text = textOf(value.text, show, isRedacted);
  return [current, total, percent, text].every((each) => each === null)
    ? null
    : { current, total, percent, text };
}

function textOf(value: unknown, show: ShowText, isRedacted: boolean): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const isCut = value.length >= LONGEST_PROGRESS;
  const { text } = show(value.slice(0, LONGEST_PROGRESS), 'progress', isCut, isRedacted);
  return text === null || text.length <= LONGEST_SHOWN ? text : ellipsize(text, LONGEST_SHOWN);
}
