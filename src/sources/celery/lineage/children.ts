/** What a stored result lists of the tasks that it sent, and a stored group of its members. */
import type { HistoryIndex } from '../../../history/history.ts';
import type { ResultNode } from '../protocol/messages.ts';
import { isId } from './ids.ts';
import type { Kinship } from './kinship.ts';
import type { Ledger, LinkedTask, SentLast } from './ledger.ts';

/** Takes in such lists. */
export interface Children {
  /** @param task whose result lists them; `null` for a group that is stored by itself */
  list(nodes: readonly ResultNode[], task: LinkedTask | null): void;
  /** The list of a task that succeeded. */
  finish(task: LinkedTask, nodes: readonly ResultNode[]): void;
  /** Tells of callbacks that had no id beforehand, once both the message and the result have been seen. */
  nameCallbacks(task: LinkedTask): void;
}

/** Of a longer list not all is read, so nothing follows from what is missing there. */
const MAX_LISTED = 10_000;
/** Most callbacks that are found again by their place among the children. */
const MAX_CALLBACKS = 20;

/** @returns what puts such lists into the ledger */
export function createChildren(ledger: Ledger, kinship: Kinship, index: HistoryIndex): Children {
  function listAll(nodes: readonly ResultNode[], task: LinkedTask | null, groupId: string | null): number {
    let count = nodes.length;
    for (const node of nodes) {
      // A task that is tried again lists itself.
      if (!isId(node.id) || node.id === task?.id) continue;
      if (node.members !== null) {
        if (task !== null) addGroup(task, node.id);
        count += listAll(node.members, task, node.id);
        continue;
      }
      if (groupId !== null) addMember(groupId, node);
      if (task !== null) addChild(task, node);
    }
    return count;
  }

  function addGroup(task: LinkedTask, groupId: string): void {
    task.groups ??= new Set();
    if (task.groups.has(groupId)) return;
    task.groups.add(ledger.own(groupId));
    ledger.grow(task, 1);
  }

  function addChild(task: LinkedTask, node: ResultNode): void {
    task.listed ??= new Set();
    if (!task.listed.has(node.id)) {
      task.listed.add(ledger.own(node.id));
      ledger.grow(task, 1);
    }
    task.claims?.delete(node.id);
    // The last step of a chain within a group, and the body of a chord there, was sent by another task.
    if (node.parent === null && index.stateOf(node.id) === null) kinship.relate(task.id, node.id, 'child');
  }

  function addMember(groupId: string, node: ResultNode): void {
    const member = ledger.findTask(node.id);
    const own = member?.group ?? null;
    // What a task says of its own group goes before what the client that sent it has kept.
    if (own === null) kinship.relate(groupId, node.id, 'group');
    if (own === null || own === groupId) kinship.count(groupId, node.id);
    if (!isId(node.parent)) return;
    const task = ledger.task(node.id);
    task.after = ledger.own(node.parent);
    if (task.parent !== null) kinship.consider(task, ledger.task(task.parent));
  }

  /** A task sends callbacks last, and after them the step that follows it (celery/app/trace.py). */
  function nameCallbacks(task: LinkedTask): void {
    const { awaits, ending } = task;
    if (awaits === null || ending === null) return;
    const sent = ending[awaits.chain ? 1 : 0];
    if (sent === undefined || sent.ids.length !== awaits.callbacks) return;
    // Several are sent as a group.
    if (sent.isGroup !== awaits.callbacks > 1) return;
    for (const id of sent.ids) kinship.relate(task.id, id, 'link');
  }

  return {
    list(nodes, task) {
      const count = listAll(nodes, task, null);
      if (task !== null && count >= MAX_LISTED) task.isPartial = true;
    },
    finish(task, nodes) {
      task.ending = [sentLast(nodes.at(-1), ledger), sentLast(nodes.at(-2), ledger)];
      nameCallbacks(task);
    },
    nameCallbacks,
  };
}

function sentLast(node: ResultNode | undefined, ledger: Ledger): SentLast | undefined {
  if (node === undefined) return undefined;
  const nodes = node.members ?? [node];
  const ids = nodes.length > MAX_CALLBACKS ? [] : nodes.map(({ id }) => ledger.own(id));
  return { ids, isGroup: node.members !== null };
}
