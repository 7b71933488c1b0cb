/** Waiting messages as tasks. */
import type { TaskFacts } from '../../../history/history.ts';
import { sentWith } from '../../../history/merge/record-fields.ts';
import type { Task, TaskDetail } from '../../../model.ts';
import { type Redactor, redactValue } from '../../../redact.ts';
import type { WaitingMessage } from '../broker.ts';

/** Makes tasks of messages. */
export interface WaitingRows {
  /** The same object for the same message, so that its JSON can be reused; `null` when it cannot be read. */
  row(message: WaitingMessage): Task | null;
  detail(message: WaitingMessage): TaskDetail | null;
}

/**
 * @param redactor removes secrets from arguments and stamps when they are first read: most of the messages that
 *   a list looks at are neither searched nor shown. `null`: they stay as they are
 * @param isRedacted whether the texts are without secrets then. Default: if there is a redactor
 */
export function createWaitingRows(redactor: Redactor | null, isRedacted = redactor !== null): WaitingRows {
  const rows = new WeakMap<WaitingMessage, { readonly task: Task; readonly isOverdue: boolean }>();

  function row(message: WaitingMessage): Task | null {
    const { facts } = message;
    if (facts === null) return null;
    const isOverdue = typeof facts.eta === 'number' && facts.eta <= Date.now();
    const known = rows.get(message);
    if (known?.isOverdue === isOverdue) return known.task;
    const shown = redactor === null ? facts : lazilyRedacted(facts, redactor);
    const task: Task = {
      id: facts.id,
      state: 'PENDING',
      name: facts.name ?? null,
      worker: null,
      queue: facts.queue ?? null,
      timestamp: null,
      get args() {
        return shown.args ?? null;
      },
      get kwargs() {
        return shown.kwargs ?? null;
      },
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
      get stamps() {
        return shown.stamps ?? null;
      },
      ...(isRedacted && { redacted: true }),
    };
    rows.set(message, { task, isOverdue });
    return task;
  }

  return {
    row,
    detail(message) {
      const task = row(message);
      return task === null ? null : { ...task, ...sentWith(message.facts ?? {}), children: [], timeline: [] };
    },
  };
}

/** The texts of a message, each redacted when it is first read. */
function lazilyRedacted(facts: TaskFacts, redactor: Redactor): Pick<TaskFacts, 'args' | 'kwargs' | 'stamps'> {
  const known = new Map<string, unknown>();
  function read(field: 'args' | 'kwargs' | 'stamps'): unknown {
    if (!known.has(field)) {
      const isCut = field !== 'stamps' && facts.truncated?.includes(field) === true;
      known.set(field, redactValue(facts[field], field, redactor, isCut));
    }
    return known.get(field);
  }
  return {
    get args() {
      return read('args') as string | null;
    },
    get kwargs() {
      return read('kwargs') as string | null;
    },
    get stamps() {
      return read('stamps');
    },
  };
}

function date(time: number | null | undefined): Date | null {
  return typeof time === 'number' ? new Date(time) : null;
}
