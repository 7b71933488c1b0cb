import type { Task, TaskRelation, TaskTree } from '../model.ts';

/** Of two relations between the same tasks, the one further back says more. */
const TELLING = ['child', 'chunks', 'starmap', 'map', 'chain', 'chord', 'link', 'link_error'];

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
  const kept = new Map<string, TaskRelation>();
  const bodies = bodiesByGroup(tree.tasks);

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    const key = JSON.stringify([parent, child, relation === 'group']);
    const known = kept.get(key);
    if (known !== undefined && weightOf(known.relation) >= weightOf(relation)) return;
    kept.set(key, { parent, child, relation });
  }

  for (const task of tree.tasks) {
    const { id, parentId, groupId, chordId } = task;
    if (parentId != null) add(parentId, id, 'child');
    // Celery 5.6 gives a chord's body the group id of its header; it is no member for that.
    if (groupId != null && bodies.get(groupId)?.has(id) !== true) add(groupId, id, 'group');
    if (chordId != null) add(id, chordId, 'chord');
  }
  for (const { parent, child, relation } of tree.relations ?? []) add(parent, child, relation);
  return [...kept.values()];
}

/** Bodies of chords by the group of their header. */
function bodiesByGroup(tasks: readonly Task[]): Map<string, Set<string>> {
  const bodies = new Map<string, Set<string>>();
  for (const { groupId, chordId } of tasks) {
    if (groupId == null || chordId == null) continue;
    const known = bodies.get(groupId);
    if (known === undefined) bodies.set(groupId, new Set([chordId]));
    else known.add(chordId);
  }
  return bodies;
}
