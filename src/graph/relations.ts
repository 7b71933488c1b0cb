import type { Task, TaskRelation, TaskTree } from '../model.ts';
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
  const bodies = bodiesByGroup(links);

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    const key = JSON.stringify([parent, child, relation === 'group']);
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
  for (const { parent, child, relation } of relations) add(parent, child, relation);
  return [...kept.values()];
}

/** What a task says of its place in the workflow. */
interface Links {
  readonly id: string;
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
}

function linksOf(task: Task): Links {
  const { id } = task;
  try {
    return { id, parentId: idOf(task.parentId), groupId: idOf(task.groupId), chordId: idOf(task.chordId) };
  } catch {
    return { id, parentId: null, groupId: null, chordId: null };
  }
}

/** Bodies of chords by the group of their header. */
function bodiesByGroup(links: readonly Links[]): Map<string, Set<string>> {
  const bodies = new Map<string, Set<string>>();
  for (const { groupId, chordId } of links) {
    if (groupId === null || chordId === null) continue;
    const known = bodies.get(groupId);
    if (known === undefined) bodies.set(groupId, new Set([chordId]));
    else known.add(chordId);
  }
  return bodies;
}
