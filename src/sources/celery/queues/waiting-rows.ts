/** Waiting messages as tasks. */
import type { Task, TaskDetail } from '../../../model.ts';
import type { WaitingMessage } from '../broker.ts';

/** Makes tasks of messages. */
export interface WaitingRows {
  /** The same object for the same message, so that its JSON can be reused; `null` when it cannot be read. */
  row(message: WaitingMessage): Task | null;
  detail(message: WaitingMessage): TaskDetail | null;
}

/** @param now milliseconds since 1970 */
export function createWaitingRows(now: () => number): WaitingRows {
  const rows = new WeakMap<WaitingMessage, { readonly task: Task; readonly isOverdue: boolean }>();

  function row(message: WaitingMessage): Task | null {
    const { facts } = message;
    if (facts === null) return null;
    const isOverdue = typeof facts.eta === 'number' && facts.eta <= now();
    const known = rows.get(message);
    if (known?.isOverdue === isOverdue) return known.task;
    const task: Task = {
      id: facts.id,
      state: 'PENDING',
      name: facts.name ?? null,
      worker: null,
      queue: facts.queue ?? null,
      timestamp: null,
      args: facts.args ?? null,
      kwargs: facts.kwargs ?? null,
      retries: facts.retries ?? null,
      eta: date(facts.eta),
      expires: date(facts.expires),
      parentId: facts.parentId ?? null,
      rootId: facts.rootId ?? null,
      groupId: facts.groupId ?? null,
      chordId: facts.chordId ?? null,
      flags: isOverdue ? ['overdue'] : [],
      truncated: facts.truncated ?? [],
      kind: facts.kind ?? null,
      stamps: facts.stamps ?? null,
    };
    rows.set(message, { task, isOverdue });
    return task;
  }

  return {
    row,
    detail(message) {
      const task = row(message);
      return task === null ? null : { ...task, children: [], timeline: [] };
    },
  };
}

function date(time: number | null | undefined): Date | null {
  return typeof time === 'number' ? new Date(time) : null;
}
