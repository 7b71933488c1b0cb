/** Derives the relations of tasks from all messages and results, and reports them to the history. */
import type { CollectedHistory, TaskChange, TaskFacts } from '../../../history/history.ts';
import type { Task, TaskRelation } from '../../../model.ts';
import { firstTasks, readAnnounced } from '../protocol/announced.ts';
import { isId, type QueuedTask, type ResultNode, type StoredResult } from '../protocol/messages.ts';
import { failedHeaderTask } from '../protocol/python-repr.ts';
import {
  type AnnouncedTasks,
  createPendingLinks,
  type ExpectedFacts,
  groupsOf,
  hasListed,
  type LinkedTask,
  linkedTask,
  ownId,
  type PendingLinks,
  withId,
} from './pending-links.ts';
import {
  addBody,
  addMember,
  type Linking,
  listChildren,
  listLastChildren,
  relate,
  relateToParent,
  relateUnnamedCallbacks,
  setParent,
} from './relations.ts';

/** The relations in a kept task. */
type RestoredTask = Pick<Task, 'id' | 'parentId' | 'rootId' | 'groupId' | 'chordId' | 'args' | 'kind'>;

/** Accepts messages and results in any order, any number of times. */
export type Lineage = ReturnType<typeof createLineage>;

/** @param history receives every relation */
export function createLineage(history: CollectedHistory) {
  const linking: Linking = { links: createPendingLinks(), history };
  const { links } = linking;

  return {
    /** An event about a task, after the history has recorded it. */
    changed: (change: TaskChange) => takeChange(linking, change),
    /** A stored result, published or read, after the history has recorded it. */
    stored(result: StoredResult) {
      if (isId(result.change.id)) takeResult(linking, result);
    },
    /** A message that no worker has acknowledged. */
    queued(task: QueuedTask) {
      if (isId(task.facts.id)) takeMessage(linking, task);
    },
    /** A stored group (`celery-taskset-meta-<id>`). */
    saved: (group: ResultNode) => listChildren(linking, [group], null),
    /** A task that an earlier process has stored. */
    restored(task: RestoredTask) {
      if (isId(task.id)) takeRestored(linking, task);
    },
    /** Steps of a chain that never ran because a task failed: those behind it, in the order of the chain. */
    neverRan: (failedId: string, steps: readonly string[]) => takeNeverRan(linking, failedId, steps),
    /** Ids in relations or results of which nothing else is known, and which are worth looking up. */
    unknownRelatives: (id: string, limit: number) =>
      unknownRelatives(links, id, limit, (other) => history.index.stateOf(other) !== null),
  };
}

function takeChange(linking: Linking, change: TaskChange): void {
  const { id, parentId } = change;
  if (parentId === null) {
    const task = linking.links.tasks.get(id);
    if (task !== undefined) setParent(linking, task, null);
  } else if (isId(parentId) && parentId !== id && isId(id)) claimParent(linking, change, parentId);
}

function takeRestored(
  linking: Linking,
  { id, parentId, rootId, groupId, chordId, args, kind }: RestoredTask,
): void {
  const task = linkedTask(linking.links, id);
  if (isId(groupId)) {
    joinGroup(linking, task, groupId);
    if (isId(chordId)) addBody(linking, groupId, chordId);
  }
  const reported = { id, args: typeof args === 'string' ? args : null, kind: kind ?? null };
  if (isId(parentId) && parentId !== id) claimParent(linking, reported, parentId);
  else if (rootId === id) setParent(linking, task, null);
}

function takeResult(linking: Linking, { change, children }: StoredResult): void {
  const { links } = linking;
  const { id, groupId, parentId, type } = change;
  const standsAlone = groupId == null && parentId == null && children.length === 0 && type !== 'failed';
  if (standsAlone && !links.tasks.has(id)) return;
  const task = linkedTask(links, id);
  recordExpected(linking, task);
  const culprit = type === 'failed' ? failedHeaderTask(change) : null;
  if (culprit !== null) {
    // The children that its result lists are those of the header task that found the failed one.
    breakBody(linking, task, culprit);
    return;
  }
  if (isId(groupId)) joinGroup(linking, task, groupId);
  listChildren(linking, children, task);
  if (isId(parentId) && parentId !== id) claimParent(linking, change, parentId);
  // A step after a failed one is stored without the parent that it would have had.
  else if (parentId == null && type !== 'failed') setParent(linking, task, null);
  if (type === 'succeeded' && children.length > 0) listLastChildren(linking, task, children);
  if (type === 'succeeded' || type === 'failed') endTask(linking, task, type);
}

function takeMessage(linking: Linking, queued: QueuedTask): void {
  const { facts, chain, callbacks, errbacks, chord } = queued;
  const { id, groupId, parentId } = facts;
  const announcesNothing = chain.length + callbacks.length + errbacks.length === 0 && chord === null;
  if (announcesNothing && groupId == null && parentId == null) return;
  const task = linkedTask(linking.links, id);
  if (isId(groupId)) {
    joinGroup(linking, task, groupId);
    // For a task whose result is ignored, there is no other source. The body of a chord, which may have the
    // group of its header, has a parent and no chord of its own.
    if (chord !== null || parentId == null) relate(linking, groupId, id, 'group');
    const bodies = chord === null ? [] : firstTasks(chord);
    for (const body of bodies) if (isId(body)) addBody(linking, groupId, body);
  }
  if (isId(parentId) && parentId !== id) claimParent(linking, facts, parentId);
  else if (parentId === null) setParent(linking, task, null);
  if (!announcesNothing) takeAnnouncements(linking, queued, task);
}

/** Records that a task names its parent. */
function claimParent(
  linking: Linking,
  reported: Pick<TaskFacts, 'id' | 'args' | 'kind'>,
  parentId: string,
): void {
  const { links } = linking;
  const { id, args, kind } = reported;
  const task = linkedTask(links, id);
  const parent = linkedTask(links, parentId);
  if (task.namedParent === null && args?.startsWith(`('${parentId}'`) === true) task.namedParent = parent.id;
  if (!hasListed(parent, task.id)) parent.claims = withId(links, parent, parent.claims, task.id);
  setParent(linking, task, parent);
  if (kind === 'map' || kind === 'starmap') relate(linking, parent.id, task.id, kind);
  relateToParent(linking, task, parent);
}

/** Records that a task names its group. */
function joinGroup(linking: Linking, task: LinkedTask, groupId: string): void {
  if (task.group !== groupId) task.group = ownId(linking.links, groupId);
  addMember(linking, groupId, task.id);
  if (task.brokenBody !== null) addBody(linking, groupId, task.brokenBody);
}

/** Records the failure that is stored for the body of a chord because a header task failed. */
function breakBody(linking: Linking, body: LinkedTask, headerTaskId: string): void {
  body.isBrokenBody = true;
  const headerTask = linkedTask(linking.links, headerTaskId);
  headerTask.brokenBody = body.id;
  if (headerTask.group !== null) addBody(linking, headerTask.group, body.id);
  endTask(linking, body, 'failed');
}

function endTask(linking: Linking, task: LinkedTask, end: 'succeeded' | 'failed'): void {
  // Celery never overwrites a stored success.
  if (task.end !== 'succeeded') task.end = end;
  for (const id of task.claims ?? []) relateToParent(linking, linkedTask(linking.links, id), task);
}

/** Most tasks that one walk looks at. */
const MAX_VISITED = 5_000;

/**
 * Ids of tasks related to a task of which nothing else is known, the nearest first.
 *
 * @param isKnown whether more is known of a task than its id
 */
function unknownRelatives(
  links: PendingLinks,
  id: string,
  limit: number,
  isKnown: (id: string) => boolean,
): string[] {
  const unknown: string[] = [];
  const seen = new Set([id]);
  const groupsSeen = new Set<string>();
  // The loop also visits the tasks that it adds.
  for (const current of seen) {
    if (unknown.length >= limit) break;
    for (const other of relativesOf(links, current, groupsSeen)) {
      if (seen.size >= MAX_VISITED || seen.has(other)) continue;
      seen.add(other);
      if (unknown.length < limit && !isKnown(other)) unknown.push(other);
    }
  }
  return unknown;
}

/** Tasks directly related to a task. The members and bodies of a group are named once in a walk. */
function* relativesOf(links: PendingLinks, id: string, groupsSeen: Set<string>): Generator<string, void> {
  const task = links.tasks.get(id);
  if (task === undefined) return;
  if (task.parent !== null) yield task.parent;
  if (task.expected?.parent != null) yield task.expected.parent;
  yield* task.children?.tasks ?? [];
  yield* task.announced?.next ?? [];
  yield* task.claims ?? [];
  for (const groupId of [task.group, task.headerGroup, ...groupsOf(task)]) {
    if (groupId === null || groupsSeen.has(groupId)) continue;
    groupsSeen.add(groupId);
    const group = links.groups.get(groupId);
    yield* group?.bodies ?? [];
    yield* group?.members ?? [];
  }
}

/** Adds the announcements of a task's message. */
function takeAnnouncements(linking: Linking, queued: QueuedTask, task: LinkedTask): void {
  const { relations, behindChord, groups, errbacks, names } = readAnnounced(queued);
  takeRelations(linking, relations, queued.facts.rootId ?? null);
  takeRelations(linking, behindChord, null);
  for (const { id, groupId } of groups) expectFacts(linking, id, { group: groupId });
  for (const { id, name } of names) expectFacts(linking, id, { name });
  for (const { parent, child } of errbacks) addErrback(linking, parent, child);

  const { callbacks, chain } = queued;
  const haveNoIds = callbacks.every(
    ({ taskId, type }) => taskId === null && type !== 'group' && type !== 'chord',
  );
  if (callbacks.length === 0 || !haveNoIds) return;
  announcedBy(task).unnamedCallbacks = { count: callbacks.length, isChainBehind: chain.length > 0 };
  relateUnnamedCallbacks(linking, task);
}

/**
 * Reports to the history what the messages of other tasks announce about a task. There is no other source for a
 * task whose own message is never sent: of the steps after a failed one, only failures are stored.
 */
function recordExpected({ history }: Linking, task: LinkedTask): void {
  if (task.expected === null) return;
  const { parent, root, group, name } = task.expected;
  history.writer.recordFacts({
    id: task.id,
    ...(name === null ? {} : { name }),
    ...(parent === null ? {} : { parentId: parent }),
    ...(root === null ? {} : { rootId: root }),
    ...(group === null ? {} : { groupId: group }),
  });
}

/** Adds the steps of a chain after a failed task. */
function takeNeverRan(linking: Linking, failedId: string, steps: readonly string[]): void {
  // Messages that announced them say more.
  if (!isId(failedId) || steps.some((id) => (linking.links.tasks.get(id)?.expected ?? null) !== null)) return;
  const relations: TaskRelation[] = steps.map((child, index) => {
    return { parent: steps[index - 1] ?? failedId, child, relation: 'chain' };
  });
  takeRelations(linking, relations, null);
}

function takeRelations(linking: Linking, relations: readonly TaskRelation[], root: string | null): void {
  for (const { parent, child, relation } of relations) {
    if (parent === null) continue;
    relate(linking, parent, child, relation);
    if (relation !== 'chord') expectFacts(linking, child, { parent, root });
  }
}

function expectFacts(linking: Linking, id: string, facts: Partial<ExpectedFacts>): void {
  if (!isId(id)) return;
  const { links } = linking;
  const task = linkedTask(links, id);
  const own = (field: keyof ExpectedFacts): string | null => {
    const value = facts[field] ?? null;
    return value === null ? (task.expected?.[field] ?? null) : ownId(links, value);
  };
  const name = facts.name ?? task.expected?.name ?? null;
  task.expected = { parent: own('parent'), root: own('root'), group: own('group'), name };
  if (facts.parent != null) addNext(links, linkedTask(links, facts.parent), task.id);
  recordExpected(linking, task);
}

function addNext(links: PendingLinks, task: LinkedTask, id: string): void {
  const announced = announcedBy(task);
  announced.next = withId(links, task, announced.next, id);
}

function addErrback(linking: Linking, parentId: string, id: string): void {
  if (!isId(id)) return;
  const { links } = linking;
  const parent = linkedTask(links, parentId);
  const announced = announcedBy(parent);
  announced.errbacks = withId(links, parent, announced.errbacks, id);
  if (parent.claims?.has(id) === true) relateToParent(linking, linkedTask(links, id), parent);
}

function announcedBy(task: LinkedTask): AnnouncedTasks {
  task.announced ??= { next: null, errbacks: null, unnamedCallbacks: null };
  return task.announced;
}
