/**
 * Which task is the body of a chord, and which tasks are its header. The body is named by a message that
 * waits for it, by the group that Celery 5.6 and later give it, or by a stored group.
 */
import {
  growGroup,
  type LinkedGroup,
  type LinkedTask,
  linkedGroup,
  linkedTask,
  ownId,
  type PendingLinks,
  withId,
} from './pending-links.ts';
import { type Linking, relate } from './relate.ts';

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
export function relateToBodies(linking: Linking, group: LinkedGroup, memberId: string): void {
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
export function decideWithParent(linking: Linking, task: LinkedTask): void {
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
