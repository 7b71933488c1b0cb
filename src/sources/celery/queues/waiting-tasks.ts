/** Shows tasks that wait in queues beside those that a history knows. */
import type { HistoryIndex } from '../../../history/history.ts';
import type { ReadContext, SourceStatus, TaskQuery, TaskSource } from '../../../source.ts';
import type { HeldMessage } from './held-message.ts';
import type { Queues } from './queues.ts';
import { listWithWaiting } from './waiting-list.ts';
import { treeWithWaiting } from './waiting-tree.ts';

/** Any one task. */
const ONE: TaskQuery = {
  limit: 1,
  after: null,
  states: [],
  names: [],
  workers: [],
  queues: [],
  rootId: null,
  parentId: null,
  groupId: null,
  q: null,
  search: () => true,
  since: null,
  until: null,
  sort: 'timestamp',
  order: 'desc',
  scan: 100,
};

/**
 * Adds to a source of tasks what is known only from queues: such tasks come after all others, next to
 * run first, and count as PENDING.
 *
 * @param tasks answers from the history
 * @param index says which tasks the history knows
 */
export function withWaiting<Source extends TaskSource>(
  tasks: Source,
  queues: Queues,
  index: Pick<HistoryIndex, 'stateOf'>,
): Source {
  const isKnown = (id: string): boolean => index.stateOf(id) !== null;
  const list = listWithWaiting(tasks, queues, isKnown);

  function lookUp(id: string): HeldMessage | undefined {
    const held = queues.held();
    return held === null ? (queues.recent.get(id) ?? queues.recent.found().get(id)) : held.get(id);
  }

  async function find(id: string): Promise<HeldMessage | null> {
    await queues.ready();
    const message =
      lookUp(id) ?? (queues.held() === null ? (await queues.recent.search()).get(id) : undefined);
    return message ?? null;
  }

  function status(): SourceStatus {
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

  async function readOne(filter: Partial<TaskQuery>, context: ReadContext): Promise<string | null> {
    return (await tasks.listTasks({ ...ONE, ...filter }, context)).tasks[0]?.id ?? null;
  }

  const { getTaskTree } = tasks;
  return {
    ...tasks,
    status,
    listTasks: list,
    async getTask(id, context) {
      const known = await tasks.getTask(id, context);
      if (known !== null) return known;
      const message = await find(id);
      return message === null ? null : queues.rows.detail(message);
    },
    ...(getTaskTree === undefined
      ? {}
      : {
          async getTaskTree(id, context) {
            const tree = await tasks.getTaskTree?.(id, context);
            const message = tree == null ? await find(id) : null;
            if (tree == null && message === null) return null;
            const around = queues.held() ?? queues.recent.found();
            if (tree != null && around.messages.length === 0) return tree;
            return treeWithWaiting(id, tree ?? null, message, {
              readChild: (parentId) => readOne({ parentId }, context),
              readMember: (groupId) => readOne({ groupId }, context),
              readTree: async (other) => (await tasks.getTaskTree?.(other, context)) ?? null,
              isKnown,
              get: lookUp,
              related: around.related,
              row: queues.rows.row,
            });
          },
        }),
  };
}
