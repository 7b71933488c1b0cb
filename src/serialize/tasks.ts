import { flagsOf, isDone, type Task, type TaskCause, type TaskDetail, type TaskTextField } from '../model.ts';
import { waitSecondsOf } from '../select/task-wait.ts';
import type { TaskBody, TaskDetailBody, TimelineEntryBody } from '../wire.ts';
import { isoTime } from './moments.ts';
import { progressBody } from './progress.ts';
import { figure, label, labels, MOST_ITEMS, whole } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

// The node limit of the largest graph.
const MOST_CHILDREN = 20_000;

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

/** Serializes one task with its children and timeline; `null` when the task has no id or no state. */
export function taskDetailBody(
  task: TaskDetail,
  source: string,
  view: TaskView,
): Omit<TaskDetailBody, 'sources'> | null {
  const body = taskBody(task, source, view);
  if (body === null) return null;
  const children: unknown = task.children;
  const timeline: unknown = task.timeline;
  const steps: readonly unknown[] = Array.isArray(timeline) ? timeline : [];
  if (Array.isArray(children) && children.length > MOST_CHILDREN) body.truncated.push('children');
  if (steps.length > MOST_ITEMS) body.truncated.push('timeline');
  return {
    ...body,
    children: labels(children, MOST_CHILDREN) ?? [],
    // Keep the latest changes, which explain the current state.
    timeline: steps
      .slice(-MOST_ITEMS)
      .flatMap((entry) => timelineEntry(entry, view.show, task.redacted === true)),
  };
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
