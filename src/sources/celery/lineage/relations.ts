/**
 * Decides how tasks are related: a task to its parent (as the next step of a chain, the body of a chord, or an errback),
 * and the members of a group to the body of their chord. No event and no result contains that. It follows from when
 * Celery sends tasks, and from which of them it lists.
 *
 * A task lists all tasks that are sent while it runs, including its callbacks and the next step of its chain,
 * and its stored result contains the list (celery/app/trace.py). Tasks that are sent later are not on the list:
 * the body of a chord, sent by the header task that ends last (celery/backends/redis.py), and errbacks, sent in
 * a group of their own (celery/backends/base.py, `_call_task_errbacks`). But others may be missing too:
 * `on_success` may send tasks, `trail=False` turns the list off, and an earlier attempt had its own list. So
 * each rule needs more evidence, and without it nothing is reported.
 *
 * The body of a chord is named by a message that waits for it, by the group that Celery 5.6 and later give it, or by a
 * stored group.
 */
import type { CollectedHistory } from '../../../history/history.ts';
import type { TaskRelationKind } from '../../../model.ts';
import { isId, type ResultNode } from '../protocol/messages.ts';
import {
  groupsOf,
  growGroup,
  hasListed,
  type LinkedGroup,
  type LinkedTask,
  type ListedChildren,
  linkedGroup,
  linkedTask,
  ownId,
  type PendingLinks,
  type SentLast,
  withId,
} from './pending-links.ts';

/** The context of the functions of this folder. */
export interface Linking {
  readonly links: PendingLinks;
  /** Receives each relation, some of them more than once. */
  readonly history: CollectedHistory;
}

/** Reports a relation to the history. */
export function relate(
  { history }: Linking,
  parent: string,
  child: string,
  relation: TaskRelationKind,
): void {
  if (parent !== child) history.writer.recordRelation({ parent, child, relation });
}

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

/** Records the body that waits for all members of a group. */
export function addBody(linking: Linking, groupId: string, bodyId: string): void {
  const { links } = linking;
  const group = linkedGroup(links, groupId);
  if (group.bodies.has(bodyId)) return;
  growGroup(links, group);
  const body = linkedTask(links, bodyId);
  body.headerGroup = group.id;
  group.bodies.add(body.id);
  for (const member of group.members) relateHeader(linking, group, member, body);
}

/** Records a member of a group. */
export function addMember(linking: Linking, groupId: string, id: string): LinkedGroup {
  const { links } = linking;
  const group = linkedGroup(links, groupId);
  if (group.members.has(id)) return group;
  growGroup(links, group);
  group.members.add(ownId(links, id));
  relateToBodies(linking, group, id);
  return group;
}

/** Reports the relation of a member to each body that is known to wait for its group. */
function relateToBodies(linking: Linking, group: LinkedGroup, memberId: string): void {
  for (const body of group.bodies) relateHeader(linking, group, memberId, linkedTask(linking.links, body));
}

function relateHeader(linking: Linking, group: LinkedGroup, memberId: string, body: LinkedTask): void {
  const answer = isHeader(linking.links, group, memberId, body);
  if (answer === true) relate(linking, memberId, body.id, 'chord');
  else if (answer !== false) {
    answer.undecidedMembers = withId(linking.links, answer, answer.undecidedMembers, memberId);
  }
}

/** Repeats decisions that were impossible before the parent of this task was known. */
function decideWithParent(linking: Linking, task: LinkedTask): void {
  const { links } = linking;
  const undecided = task.undecidedMembers;
  task.undecidedMembers = null;
  for (const id of undecided ?? []) {
    const group = links.groups.get(linkedTask(links, id).group ?? '');
    if (group !== undefined) relateToBodies(linking, group, id);
  }
}

/** Longest line of parents that is followed. */
const MAX_STEPS = 64;

/**
 * Whether a member of a group runs before the body of its chord, and not after it: Celery 5.6 and later give the id of
 * the group to the body as well, and to the last step of a body that is a chain (celery/canvas.py, `_chord.run`).
 *
 * @returns the task whose parent must be known first
 */
function isHeader(
  links: PendingLinks,
  group: LinkedGroup,
  memberId: string,
  body: LinkedTask,
): boolean | LinkedTask {
  if (memberId === body.id) return false;
  if (group.listed.has(memberId) || body.isBrokenBody) return true;
  let task = linkedTask(links, memberId);
  for (let step = 0; step < MAX_STEPS; step++) {
    if (task.parent === null) return task.isRoot || task;
    if (task.parent === body.id) return isOwnAncestor(links, body) ?? body;
    if (task.parent === memberId) return true;
    task = linkedTask(links, task.parent);
  }
  return true;
}

/**
 * Whether the body is among its own ancestors. A task that replaces itself with a chord is the parent of the
 * header and of the body, whose id it has; the parent of the body is then a header task.
 *
 * @returns `null` when its parent is not known
 */
function isOwnAncestor(links: PendingLinks, body: LinkedTask): boolean | null {
  if (body.parent === null) return null;
  let task: LinkedTask | undefined = body;
  for (let step = 0; step < MAX_STEPS; step++) {
    task = task.parent === null ? undefined : links.tasks.get(task.parent);
    if (task === undefined) return false;
    if (task.id === body.id) return true;
  }
  return false;
}

/** @param parent `null`: the task has none */
export function setParent(linking: Linking, task: LinkedTask, parent: LinkedTask | null): void {
  if (parent === null ? task.isRoot || task.parent !== null : task.parent === parent.id) return;
  if (parent === null) task.isRoot = true;
  else task.parent = parent.id;
  decideWithParent(linking, task);
}

/** Reports how a task is related to its parent. To be called whenever something of either has changed. */
export function relateToParent(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  relateStep(linking, task, parent);
  if (parent.announced?.errbacks?.has(task.id) === true) relate(linking, parent.id, task.id, 'link_error');
  if (parent.end === 'open' || parent.children?.isPartial === true || hasListed(parent, task.id)) return;
  // It was sent after the parent had ended.
  if (parent.end === 'failed') relateErrback(linking, task, parent);
  else relateBody(linking, task, parent);
}

/** A stored group names the step before each of its members, or the header whose body the member is. */
function relateStep(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  const { follows } = task;
  if (follows === null) return;
  if (follows === parent.id) relate(linking, parent.id, task.id, 'chain');
  else if (follows === parent.group || groupsOf(parent).has(follows)) addBody(linking, follows, task.id);
}

/**
 * Errbacks are a group that the failed task did not list, and are called with its id. Immutable errbacks are
 * not called with it: they look like the header of a chord that the task replaced itself with.
 */
function relateErrback(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  if (task.group === null || task.group === parent.group) return;
  if (task.namedParent === parent.id) relate(linking, parent.id, task.id, 'link_error');
}

/**
 * The parent of a body is the header task that ended last, or, if a worker sent the chord as a step of a
 * chain, the step before it, which lists the header. Only Celery 5.6 and later tell it from other tasks: they give the
 * body the group id of its header.
 */
function relateBody(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  const { group } = task;
  if (group !== null && (group === parent.group || groupsOf(parent).has(group)))
    addBody(linking, group, task.id);
}
