import type { Task, TaskRelation, TaskTree } from '../model.ts';
import type { Links } from './graph-types.ts';
import { idOf, type ReadableTree, readTree } from './readable-tree.ts';

/** Of two relations between the same tasks, the one further back says more. */
const TELLING = ['child', 'chunks', 'starmap', 'map', 'chain', 'link', 'link_error', 'chord'];

/** Kinds of the engine's own come just behind `child`. */
function weightOf(relation: string): number {
  const at = TELLING.indexOf(relation);
  return at < 0 ? 0.5 : at;
}

/**
 * Every relation of a workflow, each once: what the source tells, and what follows from the tasks' own
 * parents, groups and chords. Of several between the same two tasks the most telling one is kept;
 * membership of a group (its parent is the group's id) stands beside it.
 */
export function relationsOf(tree: TaskTree): TaskRelation[] {
  return relationsIn(readTree(tree));
}

/** The same of a tree that was read before. */
export function relationsIn({ tasks, relations }: ReadableTree): TaskRelation[] {
  const kept = new Map<string, TaskRelation>();
  const links = [...tasks.values()].map(linksOf);
  const bodies = bodiesByGroup(links, relations);

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    // The lengths keep ids apart that have the separator in them.
    const key = `${relation === 'group'}${parent?.length}:${parent}\n${child}`;
    const known = kept.get(key);
    if (known !== undefined && weightOf(known.relation) >= weightOf(relation)) return;
    kept.set(key, { parent, child, relation });
  }

  for (const { id, parentId, groupId, chordId } of links) {
    if (parentId !== null) add(parentId, id, 'child');
    // Celery 5.6 gives a chord's body the group id of its header; it is no member for that.
    if (groupId !== null && bodies.get(groupId)?.has(id) !== true) add(groupId, id, 'group');
    if (chordId !== null) add(id, chordId, 'chord');
  }
  for (const { parent, child, relation } of relations) {
    const isBody = relation === 'group' && parent !== null && bodies.get(parent)?.has(child) === true;
    if (!isBody) add(parent, child, relation);
  }
  return [...kept.values()];
}

/** Getters of a host's task may throw. */
export function linksOf(task: Task): Links {
  const { id } = task;
  try {
    return { id, parentId: idOf(task.parentId), groupId: idOf(task.groupId), chordId: idOf(task.chordId) };
  } catch {
    return { id, parentId: null, groupId: null, chordId: null };
  }
}

/** Whether {@link linksOf} this task are those, found out without making them. */
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

/** Bodies of chords by the group of their header, whether tasks or relations tell of them. */
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
