/**
 * Which task is the body of a chord, and which tasks are its header. The body is named by a message that
 * waits for it, by the group that Celery 5.6 and later give it, by a stored group, or by a list of results
 * that it was called with.
 */
import type { ListArgument } from './header-results.ts';
import { isHeader } from './headers.ts';
import {
  type BodyCandidate,
  growGroup,
  type LinkedGroup,
  type LinkedTask,
  linkedGroup,
  linkedTask,
  ownId,
  withId,
} from './pending-links.ts';
import { type Linking, relate } from './relate.ts';

/** Most tasks that are compared with the results of one group: a chord has one body. */
const MAX_CANDIDATES = 20;

/** Most tasks after the body of a chord that may have the id of its group. */
const MAX_EXTRA = 8;

/** Records the body that waits for all members of a group. */
export function addBody(linking: Linking, groupId: string, bodyId: string): void {
  const { links } = linking;
  const group = linkedGroup(links, groupId);
  if (group.bodies.has(bodyId)) return;
  growGroup(links, group);
  const body = linkedTask(links, bodyId);
  body.headerGroup = group.id;
  group.bodies.add(body.id);
  for (const member of group.members.keys()) relateHeader(linking, group, member, body);
}

/**
 * Records a member of a group.
 *
 * @param digest of its result; `null` while there is none
 */
export function addMember(linking: Linking, groupId: string, id: string, digest: number | null): LinkedGroup {
  const { links } = linking;
  const group = linkedGroup(links, groupId);
  const known = group.members.get(id);
  if (known === undefined) {
    growGroup(links, group);
    group.members.set(ownId(links, id), digest);
    relateToBodies(linking, group, id);
  }
  if (digest !== null && (known ?? null) === null) {
    group.members.set(id, digest);
    group.results += 1;
    group.sum += digest;
    for (const candidate of group.candidates?.values() ?? []) matchResult(candidate, digest);
  }
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
  const group = task.group === null ? undefined : links.groups.get(task.group);
  if (group !== undefined) decideBodies(linking, group);
}

/** Records that a group is the header of a chord, with so many tasks. */
export function setHeaderSize(linking: Linking, groupId: string, size: number): void {
  const group = linkedGroup(linking.links, groupId);
  group.size = size;
  decideBodies(linking, group);
}

/** Compares the list that a task was called with to the results of a group, now and whenever there are more. */
export function addCandidate(
  linking: Linking,
  group: LinkedGroup,
  id: string,
  argument: ListArgument,
  isSibling: boolean,
): void {
  if (group.bodies.has(id)) return;
  group.candidates ??= new Map();
  const known = group.candidates.get(id);
  if (known !== undefined) known.isSibling ||= isSibling;
  else if (group.candidates.size >= MAX_CANDIDATES) return;
  else group.candidates.set(id, candidateOf(argument, group, isSibling));
  decideBodies(linking, group);
}

/** Looks for the body of this group's chord among the tasks that were called with a list. */
export function decideBodies(linking: Linking, group: LinkedGroup): void {
  for (const [id, candidate] of group.candidates ?? []) {
    const body = linking.links.tasks.get(id);
    if (body === undefined || !isBody(linking, group, body, candidate)) continue;
    group.candidates?.delete(id);
    addBody(linking, group.id, id);
  }
}

function isBody(
  linking: Linking,
  group: LinkedGroup,
  body: LinkedTask,
  { isSibling, missing }: BodyCandidate,
): boolean {
  const { argument } = body;
  const { size } = group;
  if (argument == null) return false;
  if (argument.visible !== null) return missing === 0 && (size ?? group.results) > argument.count;
  // A member may send its own result on. It does not know the results of the others.
  if (argument.count === 1 && size === null && !isSibling) return false;
  if (size !== null && size !== argument.count) return false;
  return isResultsOf(argument, group) || isResultsOf(argument, headerOf(linking, group, body));
}

/** Tasks and their results. */
type Counted = Pick<LinkedGroup, 'members' | 'results' | 'sum'>;

function isResultsOf({ count, sum }: ListArgument, group: Counted): boolean {
  return group.results === count && group.members.size === count && group.sum === sum;
}

/** A group without the descendants of a task that may be the body of its chord. */
function headerOf({ links }: Linking, group: LinkedGroup, body: LinkedTask): Counted {
  const extra = group.members.size - (body.argument?.count ?? 0);
  if (extra <= 0 || extra > MAX_EXTRA) return group;
  const members = new Map<string, number | null>();
  let results = 0;
  let sum = 0;
  for (const [id, digest] of group.members) {
    if (isHeader(links, group, id, body) === false) continue;
    members.set(id, digest);
    if (digest === null) continue;
    results += 1;
    sum += digest;
  }
  return { members, results, sum };
}

function candidateOf(argument: ListArgument, group: LinkedGroup, isSibling: boolean): BodyCandidate {
  const unmatched = new Map<number, number>();
  for (const digest of argument.visible ?? []) unmatched.set(digest, (unmatched.get(digest) ?? 0) + 1);
  const candidate = { isSibling, unmatched, missing: argument.visible?.length ?? 0 };
  for (const digest of group.members.values()) {
    if (candidate.missing === 0) break;
    if (digest !== null) matchResult(candidate, digest);
  }
  return candidate;
}

/** Notes that one more of the results is among the items of a list that was cut. */
function matchResult(candidate: BodyCandidate, digest: number): void {
  const times = candidate.unmatched.get(digest) ?? 0;
  if (times === 0) return;
  candidate.unmatched.set(digest, times - 1);
  candidate.missing -= 1;
}
