import { isDone, type TaskRelation, type TaskTree } from '../model.ts';
import type { Steps } from '../scheduler.ts';
import { addTo } from '../values.ts';
import type {
  Graph,
  GraphEdge,
  GraphNode,
  GraphShape,
  Links,
  ReadableTask,
  ShapeEdge,
  ShapeNode,
  StateCounts,
} from './graph-types.ts';
import { each, ITEMS_PER_STEP, type ReadableTree, readTree } from './readable-tree.ts';

/**
 * Builds the graph of a workflow.
 *
 * @param tree the workflow as the source returned it
 * @param askedId the requested task; its closest relatives come first
 * @param most maximum number of nodes
 * @param before shape of an earlier graph of the same task. It is reused when only states have changed
 */
export function* buildGraph(
  tree: TaskTree,
  askedId: string,
  most: number,
  before: GraphShape | null = null,
): Steps<Graph> {
  const readable = yield* readTree(tree);
  const isSame = before !== null && (yield* hasShape(readable, before));
  const shape = isSame ? before : yield* shapeOf(readable, askedId, most);
  const nodes: GraphNode[] = [];
  for (const { id, kind, members } of shape.nodes) {
    const task = members === null ? (readable.tasks.get(id)?.task ?? null) : null;
    const counts =
      members === null
        ? null
        : yield* countStates(members.map((member) => countedState(readable.tasks.get(member))));
    if (nodes.push({ id, kind, task, members: counts }) % ITEMS_PER_STEP === 0) yield;
  }
  return {
    rootId: tree.rootId,
    tasks: readable.tasks,
    nodes,
    counts: yield* countStates(Array.from(readable.tasks.values(), countedState)),
    isPartial: tree.truncated === true,
    isComplete: tree.truncated !== true && (yield* isComplete(readable, shape)),
    shape,
  };
}

/**
 * The state of a task whose end was not seen is unknown; it certainly no longer runs. A task that never ran is not
 * counted as another failure.
 */
function countedState(task: ReadableTask | undefined): string | undefined {
  return task === undefined || task.isEndUnseen || task.isConsequence ? undefined : task.state;
}

function* isComplete({ tasks }: ReadableTree, { unseen }: GraphShape): Steps<boolean> {
  let isOver = true;
  yield* each(tasks.values(), ({ state, isEndUnseen }) => {
    isOver &&= isDone(state) || isEndUnseen;
  });
  if (!isOver) return false;
  const idle = yield* neverRun(tasks, unseen);
  yield* each(unseen, ({ target }) => {
    isOver &&= idle.has(target);
  });
  return isOver;
}

/** Relations after which a task starts only if the previous task has succeeded. */
const ON_SUCCESS: ReadonlySet<string> = new Set(['link', 'chain', 'chord']);

/**
 * Ids of the unseen tasks that can no longer start: all tasks that could have started them did not, or a header task
 * of their chord did not succeed. This includes their own successors.
 *
 * @param unseen edges to tasks that no source has seen
 */
function* neverRun(tasks: ReadableTree['tasks'], unseen: readonly GraphEdge[]): Steps<ReadonlySet<string>> {
  const open = new Map<string, number>();
  const behind = new Map<string, GraphEdge[]>();
  const idle = new Set<string>();
  yield* each(unseen, (edge) => {
    open.set(edge.target, (open.get(edge.target) ?? 0) + 1);
    addTo(behind, edge.source, edge);
  });
  function close({ target, kind }: GraphEdge): void {
    const left = (open.get(target) ?? 0) - 1;
    open.set(target, left);
    if (kind === 'chord' || left === 0) idle.add(target);
  }
  yield* each(unseen, (edge) => {
    if (!mayStillRun(edge.kind, tasks.get(edge.source)?.state)) close(edge);
  });
  let count = 0;
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of idle) {
    for (const edge of behind.get(id) ?? []) {
      if (ON_SUCCESS.has(edge.kind)) close(edge);
      if (++count % ITEMS_PER_STEP === 0) yield;
    }
  }
  return idle;
}

/**
 * Whether an unseen task may still run. A task that ended without success never starts its successors, and a task that
 * did not fail never starts its error callbacks.
 *
 * @param kind relation to the task that refers to it
 * @param state of the task that refers to it, if known
 */
function mayStillRun(kind: string, state: string | undefined): boolean {
  if (state === undefined || !isDone(state)) return true;
  if (kind === 'link_error') return state === 'FAILURE';
  return state === 'SUCCESS' || !ON_SUCCESS.has(kind);
}

const BUCKETS: Readonly<Record<string, keyof StateCounts>> = {
  PENDING: 'pending',
  RECEIVED: 'pending',
  RETRY: 'retry',
  SUCCESS: 'success',
  FAILURE: 'failure',
  REVOKED: 'revoked',
  REJECTED: 'revoked',
};

/** Counts states per bucket. @param states `undefined` for a task without a known state */
function* countStates(states: Iterable<string | undefined>): Steps<StateCounts> {
  const counts = { total: 0, pending: 0, running: 0, retry: 0, success: 0, failure: 0, revoked: 0 };
  yield* each(states, (state) => {
    if (state === undefined) return;
    const bucket = Object.hasOwn(BUCKETS, state) ? (BUCKETS[state] as keyof StateCounts) : 'running';
    counts[bucket]++;
    counts.total++;
  });
  return counts;
}

/**
 * The shape of a workflow. The same tree always has the same shape; cycles are followed once.
 *
 * @param askedId the requested task; its closest relatives come first
 * @param most maximum number of nodes. A larger group keeps its first members
 */
function* shapeOf(tree: ReadableTree, askedId: string, most: number): Steps<GraphShape> {
  const relations = yield* relationsOf(tree);
  const { tasks } = tree;
  const edges: GraphEdge[] = [];
  const neighbours = new Map<string, string[]>();
  const groups = new Map<string, string[]>();
  const chords = new Map<string, string[]>();
  yield* each(relations, ({ parent, child, relation }) => {
    if (parent === null) return;
    edges.push({ id: `${parent}->${child}:${relation}`, source: parent, target: child, kind: relation });
    addTo(neighbours, parent, child);
    addTo(neighbours, child, parent);
    if (relation === 'group') addTo(groups, parent, child);
    else if (relation === 'chord') addTo(chords, child, parent);
  });
  const isKnown = tasks.has(askedId) || neighbours.has(askedId);
  const { ids, isCut } = yield* nearestFirst(isKnown ? [askedId] : [], neighbours, most);

  function nodeOf(id: string): ShapeNode {
    const task = tasks.get(id);
    if (task !== undefined) return { id, kind: task.links.kind, members: null };
    const group = groups.get(id);
    const members = group ?? chords.get(id) ?? null;
    const kind = members === null ? null : group === undefined ? 'chord' : 'group';
    return { id, kind, members };
  }

  const between = yield* edgesBetween(ids, edges);
  return {
    links: new Map(Array.from(tasks, ([id, { links }]) => [id, links])),
    listedRelations: tree.relations,
    relations,
    nodes: ids.map(nodeOf),
    edges: between,
    edgeCounts: countByLimit(between, ids.length),
    isCut,
    // A missing parent does not count: it has ended and was evicted.
    unseen: edges.filter(({ target, kind }) => kind !== FLOW && !tasks.has(target)),
  };
}

/** Whether a tree still has this shape, in whichever order its source lists the tasks. */
function* hasShape(tree: ReadableTree, { links, listedRelations }: GraphShape): Steps<boolean> {
  const { tasks, relations } = tree;
  if (tasks.size !== links.size || relations.length !== listedRelations.length) return false;
  let isSame = true;
  yield* each(tasks.values(), (task) => {
    const before = links.get(task.links.id);
    isSame &&= before !== undefined && areSameLinks(task.links, before);
  });
  yield* each(relations.entries(), ([index, relation]) => {
    isSame &&= areSameRelations(relation, listedRelations[index] as TaskRelation);
  });
  return isSame;
}

function areSameLinks(one: Links, other: Links): boolean {
  return (
    one.id === other.id &&
    one.parentId === other.parentId &&
    one.groupId === other.groupId &&
    one.chordId === other.chordId &&
    one.kind === other.kind
  );
}

function areSameRelations(one: TaskRelation, other: TaskRelation): boolean {
  return one.parent === other.parent && one.child === other.child && one.relation === other.relation;
}

/** Ids of the nodes that are connected to the first ones, breadth first. */
function* nearestFirst(
  first: readonly string[],
  neighbours: ReadonlyMap<string, readonly string[]>,
  most: number,
): Steps<{ readonly ids: readonly string[]; readonly isCut: boolean }> {
  const seen = new Set(first);
  let count = 0;
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of seen) {
    for (const next of neighbours.get(id) ?? []) {
      if (seen.size === most && !seen.has(next)) return { ids: [...seen], isCut: true };
      seen.add(next);
      if (++count % ITEMS_PER_STEP === 0) yield;
    }
  }
  return { ids: [...seen], isCut: false };
}

/** The edges whose ends are both among these nodes. */
function* edgesBetween(ids: readonly string[], edges: readonly GraphEdge[]): Steps<readonly ShapeEdge[]> {
  const ranks = new Map(ids.map((id, index) => [id, index]));
  const between: ShapeEdge[] = [];
  yield* each(edges, (edge) => {
    const [source, target] = [ranks.get(edge.source), ranks.get(edge.target)];
    if (source === undefined || target === undefined) return;
    between.push({ ...edge, limit: Math.max(source, target) + 1 });
  });
  return between;
}

/** Number of edges at each node limit, from 0 to the number of nodes. */
function countByLimit(edges: readonly ShapeEdge[], nodeCount: number): Uint32Array {
  const counts = new Uint32Array(nodeCount + 1);
  for (const { limit } of edges) counts[limit] = (counts[limit] ?? 0) + 1;
  for (let limit = 1; limit <= nodeCount; limit += 1) {
    counts[limit] = (counts[limit] ?? 0) + (counts[limit - 1] ?? 0);
  }
  return counts;
}

/** Relation kinds from least to most specific. */
const BY_SPECIFICITY = ['child', 'chunks', 'starmap', 'map', 'flow', 'chain', 'link', 'link_error', 'chord'];

/** From a task to the one that runs after it and had created it, as in flows of BullMQ. */
const FLOW = 'flow';

/** Longest line of parents that is followed. */
const MAX_STEPS = 64;

/** What is known of a group that is the header of a chord. */
interface Chord {
  readonly header: Set<string>;
  /** One, unless the body is itself a group. */
  readonly bodies: Set<string>;
}

/**
 * How specific a kind of relation is. Of two relations between the same tasks, the more specific one is kept.
 * Kinds that only the engine knows rank just above `child`.
 */
export function specificityOf(relation: string): number {
  const at = BY_SPECIFICITY.indexOf(relation);
  return at < 0 ? 0.5 : at;
}

/**
 * Every relation of a workflow, without duplicates: those that the source lists, and those that follow from
 * the parents, groups and chords of the tasks. Of several relations between the same two tasks the most
 * specific one is kept. Group membership, whose parent is the group id, is kept in addition. A `flow` from a task to
 * its parent, which runs after it, replaces the relation from that parent.
 */
function* relationsOf(tree: ReadableTree): Steps<readonly TaskRelation[]> {
  const chords = yield* chordsByGroup(tree);
  const flows = yield* flowsOf(tree);
  const kept = new Map<string, TaskRelation>();

  function add(parent: string | null, child: string, relation: string): void {
    if (parent === child) return;
    // The length keeps the key unique when an id contains the separator.
    const key = `${relation === 'group'}${parent?.length}:${parent}\n${child}`;
    const known = kept.get(key);
    if (known !== undefined && specificityOf(known.relation) >= specificityOf(relation)) return;
    kept.set(key, { parent, child, relation });
  }

  yield* each(tree.tasks.values(), ({ links: { id, parentId, groupId, chordId } }) => {
    if (parentId !== null && flows.get(id)?.has(parentId) !== true) add(parentId, id, 'child');
    if (groupId !== null && !isBehindHeader(tree, chords, groupId, id)) add(groupId, id, 'group');
    if (chordId !== null) add(id, chordId, 'chord');
  });
  yield* each(tree.relations, ({ parent, child, relation }) => {
    const isBehind = relation === 'group' && parent !== null && isBehindHeader(tree, chords, parent, child);
    if (!isBehind) add(parent, child, relation);
  });
  return [...kept.values()];
}

/**
 * Whether a task with the id of a chord's group is not a member of that group: Celery 5.6 gives the id to the body as
 * well, and to the last step of a body that is a chain.
 */
function isBehindHeader(
  { tasks }: ReadableTree,
  chords: ReadonlyMap<string, Chord>,
  groupId: string,
  id: string,
): boolean {
  const chord = chords.get(groupId);
  if (chord?.bodies.has(id)) return true;
  // The header of a task that replaced itself with the chord has the body as its parent.
  if (chord?.header.has(id)) return false;
  const first = tasks.get(id)?.links.parentId ?? null;
  let isBehindMember = false;
  let parent = first;
  for (let step = 0; parent !== null && step < MAX_STEPS; step++) {
    if (parent === id) return false;
    if (chord?.bodies.has(parent)) return true;
    const links = tasks.get(parent)?.links;
    // Nothing names the body: the last step follows a step that follows a member of the header.
    if (chord === undefined && parent !== first && links?.groupId === groupId) isBehindMember = true;
    parent = links?.parentId ?? null;
  }
  return isBehindMember;
}

/** By task: its parents that run after it. */
function* flowsOf({ relations }: ReadableTree): Steps<ReadonlyMap<string, ReadonlySet<string>>> {
  const flows = new Map<string, Set<string>>();
  yield* each(relations, ({ parent, child, relation }) => {
    if (relation !== FLOW || parent === null) return;
    const known = flows.get(parent);
    if (known === undefined) flows.set(parent, new Set([child]));
    else known.add(child);
  });
  return flows;
}

/** Chords by the group id of their header, from both task fields and listed relations. */
function* chordsByGroup({ tasks, relations }: ReadableTree): Steps<ReadonlyMap<string, Chord>> {
  const groups = new Map<string, string>();
  const headers: (readonly [header: string, body: string])[] = [];
  yield* each(relations, ({ parent, child, relation }) => {
    if (parent === null) return;
    if (relation === 'group') groups.set(child, parent);
    else if (relation === 'chord') headers.push([parent, child]);
  });
  yield* each(tasks.values(), ({ links: { id, groupId, chordId } }) => {
    if (groupId !== null) groups.set(id, groupId);
    if (chordId !== null) headers.push([id, chordId]);
  });
  const chords = new Map<string, Chord>();
  yield* each(headers, ([header, body]) => {
    const group = groups.get(header);
    if (group === undefined) return;
    const known = chords.get(group) ?? { header: new Set(), bodies: new Set() };
    chords.set(group, known);
    known.header.add(header);
    known.bodies.add(body);
  });
  return chords;
}
