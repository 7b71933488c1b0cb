import { isTraceId, type TaskDetail } from '../model.ts';
import { isRecord } from '../values.ts';
import type { TaskAttemptBody, TaskDetailBody, TaskLogBody, TimelineEntryBody } from '../wire.ts';
import { isoTime } from './moments.ts';
import { label, labels, MOST_ITEMS, whole } from './scalars.ts';
import { ellipsize, type ShowText } from './shown-text.ts';
import { type TaskView, taskBody } from './tasks.ts';

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

function shorten(text: string | null, most: number): string | null {
  return text === null || text.length <= most ? text : ellipsize(text, most);
}
