/** Adds tasks that wait in queues to the tasks of a history. */
import type { HistoryReader } from '../../../history/history.ts';
import type { TaskTree } from '../../../model.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext, SourceStatus, TaskQuery, TaskSource } from '../../../source.ts';
import type { WaitingMessage } from '../broker.ts';
import type { Queues } from './queues.ts';
import { listWithWaiting } from './waiting-list.ts';
import { treeWithWaiting } from './waiting-tree.ts';

/** The part of the history that reads of tasks need. */
type KnownTasks = Pick<HistoryReader, 'listKnown' | 'freshness'>;

/** The part of the waiting messages that reads of tasks need. */
export type Waiting = Pick<Queues, 'asked' | 'ready' | 'held' | 'index' | 'rows' | 'revision' | 'nextEta'>;

/**
 * Adds the tasks that only the queues have. They come after all others, the next to run first, and are PENDING.
 *
 * @param tasks answers from the history
 * @param reader finds out which tasks the history has
 */
export function withWaiting<Source extends TaskSource>(
  tasks: Source,
  queues: Waiting,
  reader: KnownTasks,
): Source {
  const unknownMessages = createUnknownMessages(queues, reader);
  const { getTaskTree } = tasks;
  return {
    ...tasks,
    status: () => statusWith(tasks, queues),
    async listTasks(query, context) {
      const parts = {
        listHistory: async (wanted: TaskQuery, asked: ReadContext) => tasks.listTasks(wanted, asked),
        unknownMessages,
        isComplete: () => queues.held() !== null,
        row: queues.rows.row,
      };
      return listWithWaiting(parts, query, context);
    },
    async getTask(id, context) {
      const known = await tasks.getTask(id, context);
      if (known !== null) return known.state === 'PENDING' ? { ...known, ahead: aheadOf(id, queues) } : known;
      await queues.ready();
      const message = queues.index().get(id);
      const waiting = message === undefined ? null : queues.rows.detail(message);
      return waiting === null ? null : { ...waiting, ahead: aheadOf(id, queues) };
    },
    ...(getTaskTree === undefined
      ? {}
      : { getTaskTree: (id, context) => treeOf(tasks, queues, reader, id, context) }),
  };
}

/** How many messages leave the queue before that of a task; `null`: unknown, since not all messages are known. */
function aheadOf(id: string, queues: Waiting): number | null {
  const own = queues.index().get(id);
  const index = queues.held();
  if (index === null || own === undefined || own.takenAt !== null) return null;
  const queueOf = ({ part }: WaitingMessage): string => part.split('\0', 1)[0] as string;
  const queue = queueOf(own);
  let ahead = 0;
  for (const message of index.messages) {
    if (message === own) return ahead;
    if (message.takenAt === null && queueOf(message) === queue) ahead += 1;
  }
  return null;
}

function statusWith(tasks: TaskSource, queues: Waiting): SourceStatus {
  queues.asked();
  const own: SourceStatus = tasks.status?.() ?? { ok: true, asOf: new Date() };
  const { revision, changesAt = null } = own;
  const next = queues.nextEta();
  return {
    ...own,
    ...(revision === undefined ? {} : { revision: `${revision}.${queues.revision()}` }),
    changesAt: next !== null && (changesAt === null || next < changesAt) ? next : changesAt,
  };
}

/** The messages about tasks that the history does not know: determined once for each state of both. */
function createUnknownMessages(queues: Waiting, reader: KnownTasks) {
  let known: { readonly state: string; readonly messages: readonly WaitingMessage[] } | null = null;
  return async (context: ReadContext): Promise<readonly WaitingMessage[]> => {
    await queues.ready();
    const state = `${queues.revision()}.${reader.freshness('tasks').revision}`;
    if (known?.state === state) return known.messages;
    const { messages } = queues.index();
    const ids = messages.flatMap(({ facts }) => facts?.id ?? []);
    const inHistory = await reader.listKnown(ids, context);
    const unknown = messages.filter(({ facts }) => facts !== null && !inHistory.has(facts.id));
    known = { state, messages: unknown };
    return unknown;
  };
}

async function treeOf(
  tasks: TaskSource,
  queues: Waiting,
  reader: KnownTasks,
  id: string,
  context: ReadContext,
): Promise<TaskTree | null> {
  const readTree = async (other: string) => (await tasks.getTaskTree?.(other, context)) ?? null;
  const readOne = async (filter: Partial<TaskQuery>) =>
    (await tasks.listTasks({ ...ALL_TASKS, limit: 1, scan: 100, ...filter }, context)).tasks[0]?.id ?? null;
  const tree = await readTree(id);
  if (tree === null) await queues.ready();
  const index = queues.index();
  const message = tree === null ? (index.get(id) ?? null) : null;
  if (tree === null && message === null) return null;
  if (tree !== null && index.messages.length === 0) return tree;
  return treeWithWaiting(id, tree, message, {
    readChild: (parentId) => readOne({ parentId }),
    readMember: (groupId) => readOne({ groupId }),
    readTree,
    isKnown: async (other) => (await reader.listKnown([other], context)).has(other),
    get: index.get,
    related: index.related,
    row: queues.rows.row,
  });
}
