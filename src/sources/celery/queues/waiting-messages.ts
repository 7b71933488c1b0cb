/** Messages that wait in queues: by task, by queue, and as tasks. */
import type { TaskFacts } from '../../../history/history.ts';
import { sentWith } from '../../../history/merge/record-fields.ts';
import type { Task, TaskDetail } from '../../../model.ts';
import { type Redactor, redactValue } from '../../../redact.ts';
import type { TaskGroup } from '../../../source.ts';
import type { WaitingMessage } from '../broker.ts';

/** Messages by the tasks that they are about. Of several messages of one task, the first counts. */
export type WaitingIndex = ReturnType<typeof indexMessages>;

/** @param messages in the order in which they will run */
export function indexMessages(messages: readonly WaitingMessage[]) {
  const byId = new Map<string, WaitingMessage>();
  for (const message of messages) {
    const id = message.facts?.id;
    if (id !== undefined && !byId.has(id)) byId.set(id, message);
  }
  let relatives: Map<string, WaitingMessage[]> | null = null;
  return {
    /** Those that can be read, in the order in which they will run; of long queues, the first and the newest. */
    messages: [...byId.values()],
    get: (id: string) => byId.get(id),
    /** Messages of tasks whose parent, root, group or chord body has this id. */
    related(id: string) {
      relatives ??= byRelative(byId.values());
      return relatives.get(id) ?? [];
    },
  };
}

function byRelative(messages: Iterable<WaitingMessage>): Map<string, WaitingMessage[]> {
  const index = new Map<string, WaitingMessage[]>();
  for (const message of messages) {
    const { id, parentId, rootId, groupId, chordId } = message.facts ?? {};
    for (const other of new Set([parentId, rootId, groupId, chordId])) {
      if (other == null || other === id) continue;
      const list = index.get(other);
      if (list === undefined) index.set(other, [message]);
      else list.push(message);
    }
  }
  return index;
}

/** When the next waiting task becomes overdue, and until when that is true. */
export function nextEtaOf({ messages }: WaitingIndex, now: number): { until: number; at: Date | null } {
  let next = Number.POSITIVE_INFINITY;
  for (const { facts } of messages) {
    const eta = facts?.eta;
    if (typeof eta === 'number' && eta > now && eta < next) next = eta;
  }
  return { until: next, at: Number.isFinite(next) ? new Date(next) : null };
}

/** Messages of each queue and priority of which the client's report is looked up: those that run next. */
const MOST_LOOKED_UP = 20;
const MOST_EXAMPLES = 3;

/** The messages that wait in one queue. */
type WaitingGroup = TaskGroup & { readonly queue: string };

/**
 * The messages of each queue that are due. Messages carry no time of sending: one waits since its client reported
 * it, and otherwise at least since it was first read.
 *
 * @param messages in the order in which they will run
 * @param sentAt when the client reported to have sent a task, milliseconds since 1970; `null`: it did not
 * @param now milliseconds since 1970
 */
export function waitingGroups(
  messages: Iterable<WaitingMessage>,
  sentAt: (id: string) => number | null,
  now: number,
): WaitingGroup[] {
  const groups = new Map<string, WaitingGroup>();
  let part = '';
  let looked = 0;
  for (const { part: own, takenAt, facts, seenAt } of messages) {
    if (takenAt !== null || facts === null) continue;
    looked = own === part ? looked + 1 : 0;
    part = own;
    const sent = looked < MOST_LOOKED_UP ? sentAt(facts.id) : null;
    const due = Math.max(Math.min(seenAt, sent ?? seenAt), facts.eta ?? 0);
    if (due > now) continue;
    const queue = own.split('\0', 1)[0] as string;
    groups.set(queue, added(groups.get(queue), queue, facts.id, due));
  }
  return [...groups.values()];
}

function added(group: WaitingGroup | undefined, queue: string, id: string, due: number): WaitingGroup {
  if (group === undefined) return { queue, count: 1, since: due, states: ['PENDING'], examples: [id] };
  const { count, since, examples } = group;
  return {
    ...group,
    count: count + 1,
    since: Math.min(since ?? due, due),
    examples: examples.length < MOST_EXAMPLES ? [...examples, id] : examples,
  };
}

/** Makes tasks of messages. */
export type WaitingRows = ReturnType<typeof createWaitingRows>;

/**
 * @param redactor removes secrets from arguments and stamps when they are first read: most of the messages that
 *   a list looks at are neither searched nor shown. `null`: they stay as they are
 * @param isRedacted whether the texts are without secrets then. Default: if there is a redactor
 */
export function createWaitingRows(redactor: Redactor | null, isRedacted = redactor !== null) {
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
    /** The same object for the same message, so that its JSON can be reused; `null` when it cannot be read. */
    row,
    detail(message: WaitingMessage): TaskDetail | null {
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
