/** Finds the workflow of a task: all that is reachable over parents, groups, chords and told relations, nearest first. */
import type { Task, TaskTree } from '../../model.ts';
import type { Edge } from '../table/relation-store.ts';
import type { Tables } from '../table/tables.ts';

/** Most ids of a workflow that are looked at, known as tasks or not: the largest graph that the API shows. */
const MAX_IDS = 20_000;

/** Ids of the tasks that a task sent, or will send: by their parent, and by what is told of it. */
export function childrenOf(id: string, { records, index, relations }: Tables): readonly string[] {
  const children = new Set(index.byParent.list(id).map((child) => records.ids[child] as string));
  for (const { child, relation } of relations.from(id)) {
    if (relation !== 'group' && relation !== 'chord') children.add(child);
  }
  return [...children];
}

/** @param slot the asked task */
export function workflowOf(slot: number, { records, index, relations, roots, rows }: Tables): TaskTree {
  const asked = records.ids[slot] as string;
  const seen = new Set<string>([asked]);
  const edges = new Set<Edge>();
  const tasks: Task[] = [];
  let truncated = false;

  const reach = (id: string): void => {
    if (seen.has(id)) return;
    if (seen.size < MAX_IDS) seen.add(id);
    else truncated = true;
  };
  // Each group once: every member of a large one names it again.
  const done = { parent: new Set<string>(), group: new Set<string>(), chord: new Set<string>() };
  const members = { parent: index.byParent, group: index.byGroup, chord: index.byChord };
  const reachAll = (kind: keyof typeof done, key: string): void => {
    if (done[kind].has(key)) return;
    done[kind].add(key);
    for (const other of members[kind].list(key)) reach(records.ids[other] as string);
    if (kind !== 'group' || !relations.has(key)) return;
    for (const edge of relations.from(key)) {
      if (edge.relation !== 'group') continue;
      edges.add(edge);
      reach(edge.child);
    }
  };
  const follow = (id: string): void => {
    for (const edge of relations.from(id)) {
      edges.add(edge);
      reach(edge.child);
    }
    for (const edge of relations.to(id)) {
      edges.add(edge);
      if (edge.relation === 'group') reachAll('group', edge.parent);
      else reach(edge.parent);
    }
  };

  // A set is walked in the order of insertion, also over what is added on the way.
  for (const id of seen) {
    const current = records.slots.get(id);
    if (current !== undefined) {
      tasks.push(rows.get(current));
      const parent = records.parents[current] ?? null;
      if (parent !== null) reach(parent);
      const more = records.extras.get(current);
      if (more?.groupId != null) reachAll('group', more.groupId);
      if (more?.chordId != null) reach(more.chordId);
    }
    // Relatives hang together also over one that is known by its id alone.
    reachAll('parent', id);
    reachAll('chord', id);
    if (relations.has(id)) follow(id);
  }
  return {
    rootId: records.roots[slot] ?? roots.topmost(slot),
    tasks,
    relations: [...edges].filter((edge) => isListed(edge)),
    truncated,
  };

  /** What the tasks' own fields do not tell, between what is reached. */
  function isListed({ parent, child, relation }: Edge): boolean {
    if (!seen.has(child)) return false;
    const to = records.slots.get(child);
    const more = to === undefined ? undefined : records.extras.get(to);
    if (relation === 'group') return more?.groupId !== parent;
    if (!seen.has(parent)) return false;
    const from = records.slots.get(parent);
    if (from !== undefined && records.extras.get(from)?.chordId === child) return false;
    return !(relation === 'child' && to !== undefined && records.parents[to] === parent);
  }
}
