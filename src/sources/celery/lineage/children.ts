/** The sent tasks that a stored result lists, and the members that a stored group lists. */

import { isId } from '../protocol/ids.ts';
import type { ResultNode } from '../protocol/messages.ts';
import { addMember, relateToBodies } from './chords.ts';
import { relateToParent } from './parents.ts';
import {
  growGroup,
  type LinkedTask,
  type ListedChildren,
  linkedTask,
  ownId,
  type PendingLinks,
  type SentLast,
  withId,
} from './pending-links.ts';
import { type Linking, relate } from './relate.ts';

/** A longer list is not read to its end, so an absent child proves nothing. */
const MAX_LISTED = 10_000;
/** Most callbacks that are identified by their position among the children. */
const MAX_CALLBACKS = 20;

/** @param task whose result lists them; `null` for a group that is stored by itself */
export function listChildren(linking: Linking, nodes: readonly ResultNode[], task: LinkedTask | null): void {
  const count = listAll(linking, nodes, task, null);
  if (task !== null && count >= MAX_LISTED) childrenOf(task).isPartial = true;
}

/** Adds the children of a task that succeeded. */
export function listLastChildren(linking: Linking, task: LinkedTask, nodes: readonly ResultNode[]): void {
  const { links } = linking;
  childrenOf(task).last = [sentLast(links, nodes.at(-1)), sentLast(links, nodes.at(-2))];
  relateUnnamedCallbacks(linking, task);
}

/**
 * Reports callbacks that had no id when they were announced, once both the message and the result are known.
 * A task sends its callbacks last, and after them the step that follows it (celery/app/trace.py).
 */
export function relateUnnamedCallbacks(linking: Linking, task: LinkedTask): void {
  const callbacks = task.announced?.unnamedCallbacks ?? null;
  const last = task.children?.last ?? null;
  if (callbacks === null || last === null) return;
  const sent = last[callbacks.isChainBehind ? 1 : 0];
  if (sent === undefined || sent.ids.length !== callbacks.count) return;
  // Several are sent as a group.
  if (sent.isGroup !== callbacks.count > 1) return;
  for (const id of sent.ids) relate(linking, task.id, id, 'link');
}

/** @returns how many nodes there are, at any depth */
function listAll(
  linking: Linking,
  nodes: readonly ResultNode[],
  task: LinkedTask | null,
  groupId: string | null,
): number {
  let count = nodes.length;
  for (const node of nodes) {
    // A retried task lists itself.
    if (!isId(node.id) || node.id === task?.id) continue;
    if (node.members !== null) {
      if (task !== null) addGroup(linking.links, task, node.id);
      count += listAll(linking, node.members, task, node.id);
      continue;
    }
    if (groupId !== null) addListedMember(linking, groupId, node);
    if (task !== null) addChild(linking, task, node);
  }
  return count;
}

function addGroup(links: PendingLinks, task: LinkedTask, groupId: string): void {
  const children = childrenOf(task);
  children.groups = withId(links, task, children.groups, groupId);
}

function addChild(linking: Linking, task: LinkedTask, { id, parent }: ResultNode): void {
  const children = childrenOf(task);
  children.tasks = withId(linking.links, task, children.tasks, id);
  task.claims?.delete(id);
  // The last step of a chain within a group, and the body of a chord there, was sent by another task.
  const isUnknown = linking.history.index.stateOf(id) === null;
  if (parent === null && isUnknown) relate(linking, task.id, id, 'child');
}

function addListedMember(linking: Linking, groupId: string, { id, parent }: ResultNode): void {
  const { links } = linking;
  const own = links.tasks.get(id)?.group ?? null;
  // What a task reports about its own group outranks what the client that sent it has stored.
  if (own === null) relate(linking, groupId, id, 'group');
  if (own === null || own === groupId) {
    const group = addMember(linking, groupId, id);
    if (!group.listed.has(id)) {
      group.listed.add(ownId(links, id));
      growGroup(links, group);
      relateToBodies(linking, group, id);
    }
  }
  if (!isId(parent)) return;
  const task = linkedTask(links, id);
  task.follows = ownId(links, parent);
  if (task.parent !== null) relateToParent(linking, task, linkedTask(links, task.parent));
}

function childrenOf(task: LinkedTask): ListedChildren {
  task.children ??= { tasks: null, groups: null, isPartial: false, last: null };
  return task.children;
}

function sentLast(links: PendingLinks, node: ResultNode | undefined): SentLast | undefined {
  if (node === undefined) return undefined;
  const nodes = node.members ?? [node];
  const ids = nodes.length > MAX_CALLBACKS ? [] : nodes.map(({ id }) => ownId(links, id));
  return { ids, isGroup: node.members !== null };
}
