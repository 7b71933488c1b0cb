import type { Task, TaskRelation, TaskTree } from '../model.ts';
import type { Links } from './graph-types.ts';
import { idOf, type ReadableTree, readTree } from './readable-tree.ts';

/**
 * Relation kinds from least to most specific. Of two relations between the same tasks the more specific one
 * is kept.
 */
const TELLING = ['child', 'chunks', 'starmap', 'map', 'chain', 'link', 'link_error', 'chord'];

/** Kinds that only the engine knows rank just above `child`. */
function weightOf(relation: string): number {
  const at = TELLING.indexOf(relation);
  return at < 0 ? 0.5 : at;
}

/**
 * Every relation of a workflow, without duplicates: those that the source lists, and those that follow from
 * the parents, groups and chords of the tasks. Of several relations between the same two tasks the most
 * specific one is kept. Group membership, whose parent is the group id, is kept in addition.
 */
export function relationsOf(tree: TaskTree): TaskRelation[] {
  return relationsIn(readTree(tree));
}

/** Like {@link relationsOf}, for a tree that `readTree` has already read. */
export function relationsIn({ tasks, relations }: ReadableTree): TaskRelation[] {
  const kept = new Map<string, TaskRelation>();
  const links = [...tasks.values()].map(linksOf);
  const bodies = bodiesByGroup(links, relations);

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    // The length keeps the key unique when an id contains the separator.
    const key = `${relation === 'group'}${parent?.length}:${parent}\n${child}`;
    const known = kept.get(key);
    if (known !== undefined && weightOf(known.relation) >= weightOf(relation)) return;
    kept.set(key, { parent, child, relation });
  }

  for (const { id, parentId, groupId, chordId } of links) {
    if (parentId !== null) add(parentId, id, 'child');
    // Celery 5.6 gives a chord body the group id of its header, although the body is not a member of that
    // group.
    if (groupId !== null && bodies.get(groupId)?.has(id) !== true) add(groupId, id, 'group');
    if (chordId !== null) add(id, chordId, 'chord');
  }
  for (const { parent, child, relation } of relations) {
    const isBody = relation === 'group' && parent !== null && bodies.get(parent)?.has(child) === true;
    if (!isBody) add(parent, child, relation);
  }
  return [...kept.values()];
}

/** Reads the links of a task. Getters of a host's task may throw: the task then has no links. */
export function linksOf(task: Task): Links {
  const { id } = task;
  try {
    return { id, parentId: idOf(task.parentId), groupId: idOf(task.groupId), chordId: idOf(task.chordId) };
  } catch {
    return { id, parentId: null, groupId: null, chordId: null };
  }
}

/**
 * Whether `linksOf(task)` would equal `links`. Compares without allocating, since it runs for every task of
 * every read.
 */
export function areLinksOf(task: Task, links: Links): boolean {
  try {
    const { id, parentId, groupId, chordId } = task;
    if (id !== links.id || idOf(parentId) !== links.parentId) return false;
    return idOf(groupId) === links.groupId && idOf(chordId) === links.chordId;
  } catch {
    return (
      links.id === task.id && links.parentId === null && links.groupId === null && links.chordId === null
    );
  }
}

/** Ids of the chord bodies by the group id of their header, from both task fields and listed relations. */
function bodiesByGroup(
  links: readonly Links[],
  relations: readonly TaskRelation[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const groups = new Map<string, string>();
  const headers: (readonly [header: string, body: string])[] = [];
  for (const { parent, child, relation } of relations) {
    if (parent === null) continue;
    if (relation === 'group') groups.set(child, parent);
    else if (relation === 'chord') headers.push([parent, child]);
  }
  for (const { id, groupId, chordId } of links) {
    if (groupId !== null) groups.set(id, groupId);
    if (chordId !== null) headers.push([id, chordId]);
  }
  const bodies = new Map<string, Set<string>>();
  for (const [header, body] of headers) {
    const group = groups.get(header);
    if (group === undefined) continue;
    const known = bodies.get(group);
    if (known === undefined) bodies.set(group, new Set([body]));
    else known.add(body);
  }
  return bodies;
}
