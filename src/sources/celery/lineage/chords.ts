/**
 * Which task is the body of a chord, and which tasks are its header. The body is named by a message that
 * waits for it, by the group that Celery 5.6 and later give it, or by a stored group.
 */
import { isHeader } from './headers.ts';
import {
  growGroup,
  type LinkedGroup,
  type LinkedTask,
  linkedGroup,
  linkedTask,
  ownId,
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
