/** The graph of a workflow, computed in one piece and anew for every limit: what graphs built in steps must equal. */
import { isDone, type Task, type TaskRelation, type TaskTree } from '../../src/model.ts';
import type { LimitedGraph } from './graph-kit.ts';

const KINDS = ['child', 'chunks', 'starmap', 'map', 'flow', 'chain', 'link', 'link_error', 'chord'];
const rank = (kind: string): number => (KINDS.includes(kind) ? KINDS.indexOf(kind) : 0.5);

function relationsOf({ tasks, relations = [] }: TaskTree): TaskRelation[] {
  const groupOf = new Map(
    relations.flatMap((one) => (one.relation === 'group' ? [[one.child, one.parent]] : [])),
  );
  for (const { id, groupId } of tasks) if (groupId != null) groupOf.set(id, groupId);
  const headers = relations.filter(({ relation, parent }) => relation === 'chord' && parent !== null);
  for (const { id, chordId } of tasks)
    if (chordId != null) headers.push({ parent: id, child: chordId, relation: 'chord' });
  const parentOf = new Map(tasks.map(({ id, parentId }) => [id, parentId ?? null]));
  /** Whether it is the body of the chord with this header, or behind that. */
  function isBehind(group: string | null, id: string): boolean {
    const own = headers.filter(({ parent }) => group !== null && groupOf.get(parent ?? '') === group);
    const isBody = (one: string): boolean => own.some(({ child }) => child === one);
    const parents = new Set<string>();
    for (let at = parentOf.get(id) ?? null; at !== null && !parents.has(at); at = parentOf.get(at) ?? null)
      parents.add(at);
    const fieldOf = (one: string): string | null => tasks.find((task) => task.id === one)?.groupId ?? null;
    // Of a chord that nothing names, the last step of the body follows a step that follows a member.
    const isUnnamed = own.length === 0 && !parents.has(id);
    const follows = [...parents].slice(1).some((one) => group !== null && fieldOf(one) === group);
    return (
      isBody(id) ||
      (own.every(({ parent }) => parent !== id) && [...parents].some(isBody)) ||
      (isUnnamed && follows)
    );
  }
  const all: TaskRelation[] = [];
  for (const { id, parentId = null, groupId = null, chordId = null } of tasks) {
    const runsAfter = relations.some(
      (one) => one.relation === 'flow' && one.parent === id && one.child === parentId,
    );
    if (parentId !== null && !runsAfter) all.push({ parent: parentId, child: id, relation: 'child' });
    if (groupId !== null && !isBehind(groupId, id))
      all.push({ parent: groupId, child: id, relation: 'group' });
    if (chordId !== null) all.push({ parent: id, child: chordId, relation: 'chord' });
  }
  all.push(...relations.filter((one) => one.relation !== 'group' || !isBehind(one.parent, one.child)));
  const kept: TaskRelation[] = [];
  for (const { parent, child, relation } of all) {
    const at = kept.findIndex(
      (one) =>
        one.parent === parent && one.child === child && (one.relation === 'group') === (relation === 'group'),
    );
    if (parent === child) continue;
    if (at < 0) kept.push({ parent, child, relation });
    else if (rank(relation) > rank(kept[at]?.relation ?? '')) kept[at] = { parent, child, relation };
  }
  return kept;
}

function countStates(states: readonly string[]) {
  const count = (...of: string[]): number => states.filter((state) => of.includes(state)).length;
  const [pending, retry, success] = [count('PENDING', 'RECEIVED'), count('RETRY'), count('SUCCESS')];
  const [failure, revoked, total] = [count('FAILURE'), count('REVOKED', 'REJECTED'), states.length];
  const running = total - pending - retry - success - failure - revoked;
  return { total, pending, running, retry, success, failure, revoked };
}

export function plainGraph(tree: TaskTree, askedId: string, limit: number): LimitedGraph {
  const tasks = new Map<string, Task>();
  for (const task of tree.tasks) if (!tasks.has(task.id)) tasks.set(task.id, task);
  const relations = relationsOf({ ...tree, tasks: [...tasks.values()] });
  const edges = relations.flatMap(({ parent, child, relation }) =>
    parent === null
      ? []
      : [{ id: `${parent}->${child}:${relation}`, source: parent, target: child, kind: relation }],
  );
  const ids = new Set(
    [askedId].filter((id) => tasks.has(id) || edges.some((edge) => [edge.source, edge.target].includes(id))),
  );
  for (const id of ids) {
    for (const { source, target } of edges) {
      if (source === id) ids.add(target);
      else if (target === id) ids.add(source);
    }
  }
  const stateOf = (id: string): string[] => (tasks.has(id) ? [tasks.get(id)?.state ?? ''] : []);
  const membersOf = (id: string, kind: string): string[] =>
    edges.flatMap(({ source, target, kind: of }) => {
      if (of !== kind || (kind === 'group' ? source : target) !== id) return [];
      return [kind === 'group' ? target : source];
    });
  const listed = [...ids].slice(0, limit);
  const states = [...tasks.values()].map(({ state }) => state);
  const unseen = edges.filter(({ target, kind }) => !tasks.has(target) && kind !== 'flow');
  const idle = new Set<string>();
  const isOver = ({ source, kind }: (typeof edges)[number]): boolean => {
    const isStep = ['link', 'chain', 'chord'].includes(kind);
    if (idle.has(source)) return isStep;
    const [state] = stateOf(source);
    if (state === undefined || !isDone(state)) return false;
    return kind === 'link_error' ? state !== 'FAILURE' : state !== 'SUCCESS' && isStep;
  };
  // Each round finds at least one more, or is the last.
  for (let before = -1; before < idle.size; ) {
    before = idle.size;
    for (const { target } of unseen) {
      const into = unseen.filter((edge) => edge.target === target);
      if (into.every(isOver) || into.some((edge) => edge.kind === 'chord' && isOver(edge))) idle.add(target);
    }
  }
  const between = edges.filter(({ source, target }) => listed.includes(source) && listed.includes(target));
  return {
    rootId: tree.rootId,
    nodes: listed.map((id) => {
      const task = tasks.get(id) ?? null;
      if (task !== null) {
        const isReal = ['map', 'starmap', 'chunks'].includes(task.kind ?? '');
        return { id, task, kind: isReal ? (task.kind ?? null) : null, members: null };
      }
      const kind = (['group', 'chord'] as const).find((one) => membersOf(id, one).length > 0) ?? null;
      const members = kind === null ? null : countStates(membersOf(id, kind).flatMap(stateOf));
      return { id, task, kind, members };
    }),
    edges: between,
    edgeCount: between.length,
    counts: countStates(states),
    isTruncated: tree.truncated === true || ids.size > limit,
    isComplete:
      tree.truncated !== true && states.every(isDone) && unseen.every(({ target }) => idle.has(target)),
  };
}
