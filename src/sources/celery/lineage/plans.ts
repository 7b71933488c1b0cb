/** What the message of a task tells of others that are still to be sent, kept until they are seen. */
import type { HistoryWriter, TaskFacts } from '../../../history/history.ts';
import type { QueuedTask } from '../protocol/messages.ts';
import type { Children } from './children.ts';
import { readFuture } from './future.ts';
import { isId } from './ids.ts';
import type { Kinship } from './kinship.ts';
import type { Ledger, LinkedTask } from './ledger.ts';

/** Takes in messages. */
export interface Plans {
  announce(queued: QueuedTask, task: LinkedTask): void;
  /**
   * Tells the history what the message of another task said of this one. Needed for tasks whose own
   * message was never sent: the steps behind a failed one, of which only failures are stored.
   */
  fulfil(task: LinkedTask): void;
}

/** @returns what puts plans into the ledger */
export function createPlans(
  ledger: Ledger,
  kinship: Kinship,
  children: Children,
  writer: HistoryWriter,
): Plans {
  function fulfil(task: LinkedTask): void {
    if (task.plan === null) return;
    const { parent, root, group } = task.plan;
    const facts: TaskFacts = {
      id: task.id,
      ...(parent === null ? {} : { parentId: parent }),
      ...(root === null ? {} : { rootId: root }),
      ...(group === null ? {} : { groupId: group }),
    };
    writer.recordFacts(facts);
  }

  function expect(id: string, parent: string | null, root: string | null, group: string | null): void {
    if (!isId(id)) return;
    const task = ledger.task(id);
    const known = task.plan;
    task.plan = {
      parent: parent === null ? (known?.parent ?? null) : ledger.own(parent),
      root: root === null ? (known?.root ?? null) : ledger.own(root),
      group: group === null ? (known?.group ?? null) : ledger.own(group),
    };
    if (parent !== null) addNext(ledger.task(parent), task.id);
    fulfil(task);
  }

  function addNext(task: LinkedTask, id: string): void {
    task.next ??= new Set();
    if (task.next.has(id)) return;
    task.next.add(id);
    ledger.grow(task, 1);
  }

  function addErrback(parent: string, child: string): void {
    if (!isId(child)) return;
    const task = ledger.task(parent);
    task.errbacks ??= new Set();
    if (task.errbacks.has(child)) return;
    task.errbacks.add(ledger.own(child));
    ledger.grow(task, 1);
    if (task.claims?.has(child) === true) kinship.consider(ledger.task(child), task);
  }

  return {
    fulfil,
    announce(queued, task) {
      const rootId = queued.facts.rootId ?? null;
      readFuture(queued, {
        relate: kinship.relate,
        expect: (id, parent, hasSameRoot) => expect(id, parent, hasSameRoot ? rootId : null, null),
        expectGroup: (id, groupId) => expect(id, null, null, groupId),
        errback: addErrback,
      });
      const { callbacks, chain } = queued;
      const haveNoIds = callbacks.every(
        ({ taskId, type }) => taskId === null && type !== 'group' && type !== 'chord',
      );
      if (callbacks.length === 0 || !haveNoIds) return;
      task.awaits = { callbacks: callbacks.length, chain: chain.length > 0 };
      children.nameCallbacks(task);
    },
  };
}
