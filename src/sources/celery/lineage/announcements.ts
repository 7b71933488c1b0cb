/** Announcements in messages about tasks that will be sent, kept until those tasks appear. */
import type { TaskRelation } from '../../../model.ts';
import { readAnnounced } from '../protocol/announced.ts';
import { isId } from '../protocol/ids.ts';
import type { QueuedTask } from '../protocol/messages.ts';
import { relateUnnamedCallbacks } from './children.ts';
import { relateToParent } from './parents.ts';
import {
  type AnnouncedTasks,
  type ExpectedFacts,
  type LinkedTask,
  linkedTask,
  ownId,
  type PendingLinks,
  withId,
} from './pending-links.ts';
import { type Linking, relate } from './relate.ts';

/** Adds the announcements of a task's message. */
export function takeAnnouncements(linking: Linking, queued: QueuedTask, task: LinkedTask): void {
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
export function recordExpected({ history }: Linking, task: LinkedTask): void {
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
export function takeNeverRan(linking: Linking, failedId: string, steps: readonly string[]): void {
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
