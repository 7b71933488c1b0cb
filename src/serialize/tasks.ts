/** Serializes tasks: rows of lists and details; and searches what their rows show. */
import {
  flagsOf,
  isDone,
  isTraceId,
  LONGEST_PROGRESS,
  percentOf,
  shareOf,
  type Task,
  type TaskCause,
  type TaskDetail,
  type TaskTextField,
} from '../model.ts';
import { waitSecondsOf } from '../select/durations.ts';
import { isRecord } from '../values.ts';
import type {
  TaskAttemptBody,
  TaskBody,
  TaskDetailBody,
  TaskLogBody,
  TaskMatchBody,
  TaskProgressBody,
  TimelineEntryBody,
} from '../wire.ts';
import {
  figure,
  isoTime,
  label,
  labels,
  MOST_ITEMS,
  type ShowText,
  shorten,
  wellFormed,
  whole,
} from './shown-values.ts';

/** How tasks are shown. */
interface TaskView {
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
  const text = progressText(value.text, show, isRedacted);
  return [current, total, percent, text].every((each) => each === null)
    ? null
    : { current, total, percent, text };
}

function progressText(value: unknown, show: ShowText, isRedacted: boolean): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const isCut = value.length >= LONGEST_PROGRESS;
  const { text } = show(value.slice(0, LONGEST_PROGRESS), 'progress', isCut, isRedacted);
  return shorten(text, LONGEST_SHOWN);
}

// The node limit of the largest graph.
const MOST_CHILDREN = 20_000;
const MOST_ATTEMPTS = 100;
const LONGEST_ERROR = 1_024;
const MOST_LINES = 100;
const LONGEST_LINE = 2_000;

/** Serializes one task with its children and timeline; `null` when the task has no id or no state. */
export function taskDetailBody(
  task: TaskDetail,
  source: string,
  view: TaskView,
): Omit<TaskDetailBody, 'sources' | 'links' | 'waiting_for'> | null {
  const body = taskBody(task, source, view);
  const { show } = view;
  if (body === null) return null;
  const children: unknown = task.children;
  const timeline: unknown = task.timeline;
  const steps: readonly unknown[] = Array.isArray(timeline) ? timeline : [];
  if (Array.isArray(children) && children.length > MOST_CHILDREN) body.truncated.push('children');
  if (steps.length > MOST_ITEMS) body.truncated.push('timeline');
  const isRedacted = task.redacted === true;
  const options = show(task.options, 'options', false, isRedacted);
  if (options.isCut) body.truncated.push('options');
  return {
    ...body,
    children: labels(children, MOST_CHILDREN) ?? [],
    // Keep the latest changes, which explain the current state.
    timeline: steps.slice(-MOST_ITEMS).flatMap((entry) => timelineEntry(entry, show, isRedacted)),
    attempts: attemptsBody(task.attempts, show, isRedacted),
    options: options.text,
    log: logBody(task.log, show, isRedacted),
    trace_id: isTraceId(task.traceId) ? task.traceId : null,
    time_limits: timeLimitsBody(task.timeLimits),
  };
}

/** `null` for anything but limits, of which at least one is known. */
function timeLimitsBody(limits: unknown): TaskDetailBody['time_limits'] {
  if (!isRecord(limits)) return null;
  const [soft, hard] = [seconds(limits.soft), seconds(limits.hard)];
  return soft === null && hard === null ? null : { soft, hard };
}

function seconds(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function timelineEntry(entry: unknown, show: ShowText, isRedacted: boolean): TimelineEntryBody[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const { state, timestamp, worker, detail, retries } = entry as Record<string, unknown>;
  const name = label(state);
  if (name === null) return [];
  return [
    {
      state: name,
      timestamp: isoTime(timestamp),
      worker: label(worker),
      detail: show(detail, 'detail', false, isRedacted).text,
      retries: whole(retries),
    },
  ];
}

/** The last attempts; `null` for anything but a list. */
function attemptsBody(attempts: unknown, show: ShowText, isRedacted: boolean): TaskAttemptBody[] | null {
  if (!Array.isArray(attempts)) return null;
  return attempts.slice(-MOST_ATTEMPTS).flatMap((attempt: unknown): TaskAttemptBody[] => {
    if (!isRecord(attempt)) return [];
    const number = whole(attempt.number);
    if (number === null || number < 1) return [];
    const { started, finished, error } = attempt;
    const text = shorten(show(error, 'exception', false, isRedacted).text, LONGEST_ERROR);
    return [{ number, started: isoTime(started), finished: isoTime(finished), error: text }];
  });
}

/** The last lines of a log; `null` if it is not a log. */
function logBody(log: unknown, show: ShowText, isRedacted: boolean): TaskLogBody | null {
  if (!isRecord(log) || !Array.isArray(log.lines)) return null;
  const given: readonly unknown[] = log.lines;
  const lines = given.slice(-MOST_LINES).flatMap((line) => {
    const text = shorten(show(line, 'log', false, isRedacted).text, LONGEST_LINE);
    return text === null ? [] : [text];
  });
  return { lines, total: Math.max(whole(log.total) ?? 0, given.length) };
}

/** Fields that are searched, in this order, by their names in the body. */
const FIELDS = ['name', 'task_id', 'worker', 'args', 'kwargs', 'exception', 'result'] as const;

/** Characters of an excerpt before the match, and from its start on. */
const BEFORE = 24;
const BEHIND = 96;

/**
 * Creates the test of the parameter `q`: which field of a task contains it, in the text that list rows show.
 *
 * Each text is redacted and cut before it is compared, whether or not it contains `q`: if the work depended on the
 * unredacted text, its duration would confirm guesses of a masked secret.
 *
 * @param q search text in lower case
 * @param show must show texts as list rows do, because a search in hidden text would reveal secrets to anyone
 * who guesses them
 */
export function createFinder(q: string, show: ShowText): (task: Task) => TaskMatchBody | null {
  return function find(task) {
    for (const field of FIELDS) {
      const text = searchedText(task, field, show);
      const at = text?.toLowerCase().indexOf(q) ?? -1;
      if (text !== null && at !== -1) return { field, text: excerpt(text, at, q.length) };
    }
    return null;
  };
}

/**
 * Creates the test of several searches together: whether a task contains all of some texts and none of others. Each
 * field is converted once for all of them.
 *
 * @param all in lower case, like `none`
 */
export function createMatcher(
  all: readonly string[],
  none: readonly string[],
  show: ShowText,
): (task: Task) => boolean {
  return function matches(task) {
    let missing = all;
    for (const field of FIELDS) {
      if (missing.length + none.length === 0) return true;
      const text = searchedText(task, field, show)?.toLowerCase();
      if (text === undefined) continue;
      if (none.some((q) => text.includes(q))) return false;
      missing = missing.filter((q) => !text.includes(q));
    }
    return missing.length === 0;
  };
}

function searchedText(task: Task, field: (typeof FIELDS)[number], show: ShowText): string | null {
  if (field === 'task_id') return label(task.id);
  if (field === 'name' || field === 'worker') return label(task[field]);
  const isCut = Array.isArray(task.truncated) && task.truncated.includes(field);
  return show(task[field], field, isCut, task.redacted === true).text;
}

/** The match with some text around it. @param at start of the match in the lower-case text */
function excerpt(text: string, at: number, length: number): string {
  const match = indexIn(text, at);
  const from = Math.max(0, match - BEFORE);
  const to = Math.min(text.length, Math.max(match + BEHIND, indexIn(text, at + length)));
  return wellFormed(`${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`);
}

/** Converts an index in the lower-case text to one in the original: in lower case, some letters become two. */
function indexIn(text: string, position: number): number {
  let index = Math.min(position, text.length);
  while (index > 0 && text.slice(0, index).toLowerCase().length > position) index -= 1;
  return index;
}
