/** The workflow of a task: all tasks reachable through parents, groups, chords and reported relations. */
import { type AwaitedTasks, isDone, type Task, type TaskTree } from '../../model.ts';
import type { Steps } from '../../scheduler.ts';
import type { Roots } from '../index/roots.ts';
import type { Relatives } from '../index/task-index.ts';
import type { Records } from '../table/records.ts';
import type { Edge, RelationStore, SlotGroups } from '../table/relation-store.ts';
import type { Rows } from './rows.ts';
import { createStretch } from './task-list.ts';

/**
 * Maximum number of ids of a workflow that are visited, whether or not their tasks are known: the largest graph that
 * the API shows.
 */
const MAX_IDS = 20_000;
/** Cheap steps between two pauses. */
const EDGES_AT_ONCE = 256;

/** Where workflows are searched. */
export interface WorkflowTables {
  readonly records: Records;
  readonly index: Relatives;
  readonly relations: RelationStore;
  readonly roots: Roots;
  readonly rows: Rows;
}

/** Ids of the tasks that a task sent or will send, by their parent and by reported relations. */
export function childrenOf(id: string, { records, index, relations }: WorkflowTables): readonly string[] {
  const children = new Set(index.byParent.list(id).map((child) => records.ids[child] as string));
  for (const { child, relation } of relations.from(id)) {
    if (relation !== 'group' && relation !== 'chord') children.add(child);
  }
  return [...children];
}

/** The header of the chord whose body a task is; `null`: it is none, or no member of the header is known. */
export function headerOf(id: string, { records, index }: WorkflowTables): AwaitedTasks | null {
  const header = index.byChord.list(id);
  if (header.length === 0) return null;
  const done = header.filter((slot) => isDone(records.states.text(records.state[slot] as number)));
  return { relation: 'chord', done: done.length, total: header.length };
}

/** A visit of a workflow. */
interface Visit {
  readonly tables: WorkflowTables;
  /** Ids reached so far, nearest first. */
  readonly ids: Set<string>;
  /** Relations found so far. */
  readonly edges: Set<Edge>;
  /** Groups of relatives that have been visited completely: each member of a large group names it again. */
  readonly reached: Map<SlotGroups, Set<string>>;
  truncated: boolean;
}

/**
 * Finds the workflow of a task. Messages that arrive meanwhile may not be included.
 *
 * @param slot the requested task
 */
export function* workflowOf(slot: number, tables: WorkflowTables): Steps<TaskTree> {
  const { records, relations, roots, rows } = tables;
  // Read first, because the slot may get another task while the work pauses.
  const rootId = records.roots[slot] ?? roots.topmost(slot);
  const ids = new Set<string>([records.ids[slot] as string]);
  const visit: Visit = { tables, ids, edges: new Set(), reached: new Map(), truncated: false };
  const tasks: Task[] = [];
  let isOver = createStretch({ isSearch: true });
  // Iterating a Set also visits items that are added during the iteration.
  for (const id of ids) {
    const known = records.slots.get(id);
    if (known !== undefined) {
      tasks.push(rows.get(known));
      reachNamed(visit, known);
    }
    // Tasks may be related through the id of an unknown task.
    reachMembers(visit, tables.index.byParent, id);
    reachMembers(visit, tables.index.byChord, id);
    if (relations.has(id)) reachRelated(visit, id);
    if (!isOver()) continue;
    yield;
    isOver = createStretch({ isSearch: true });
  }
  return {
    rootId,
    tasks,
    relations: yield* listedEdges(visit),
    truncated: visit.truncated,
  };
}

function* listedEdges(visit: Visit): Steps<readonly Edge[]> {
  const listed: Edge[] = [];
  let examined = 0;
  for (const edge of visit.edges) {
    if (isListed(visit, edge)) listed.push(edge);
    if (++examined % EDGES_AT_ONCE === 0) yield;
  }
  return listed;
}

function reach(visit: Visit, id: string): void {
  if (visit.ids.has(id)) return;
  if (visit.ids.size < MAX_IDS) visit.ids.add(id);
  else visit.truncated = true;
}

/** Reaches the relatives that a task's own record names. */
function reachNamed(visit: Visit, slot: number): void {
  const { records } = visit.tables;
  const parent = records.parents[slot] ?? null;
  if (parent !== null) reach(visit, parent);
  const extra = records.extras.get(slot);
  if (extra?.groupId != null) reachGroup(visit, extra.groupId);
  if (extra?.chordId != null) reach(visit, extra.chordId);
}

/** Reaches all tasks that name this id. @returns false when they have been reached before */
function reachMembers(visit: Visit, groups: SlotGroups, id: string): boolean {
  const reached = visit.reached.get(groups) ?? new Set();
  if (reached.has(id)) return false;
  visit.reached.set(groups, reached.add(id));
  for (const member of groups.list(id)) {
    // Nothing more can be added, and a group may have very many members.
    if (visit.truncated) break;
    reach(visit, visit.tables.records.ids[member] as string);
  }
  return true;
}

/** Reaches the members of a group, including those that relations name. */
function reachGroup(visit: Visit, group: string): void {
  const { index, relations } = visit.tables;
  if (!reachMembers(visit, index.byGroup, group) || !relations.has(group)) return;
  for (const edge of relations.from(group)) {
    if (edge.relation !== 'group') continue;
    visit.edges.add(edge);
    reach(visit, edge.child);
  }
}

/** Follows the relations of an id, in both directions. */
function reachRelated(visit: Visit, id: string): void {
  const { relations } = visit.tables;
  for (const edge of relations.from(id)) {
    visit.edges.add(edge);
    reach(visit, edge.child);
  }
  for (const edge of relations.to(id)) {
    visit.edges.add(edge);
    if (edge.relation === 'group') reachGroup(visit, edge.parent);
    else reach(visit, edge.parent);
  }
}

/** Whether a relation leads to a task of the workflow and says more than the fields of the tasks. */
function isListed({ ids, tables: { records } }: Visit, { parent, child, relation }: Edge): boolean {
  if (!ids.has(child)) return false;
  const to = records.slots.get(child);
  const extra = to === undefined ? undefined : records.extras.get(to);
  if (relation === 'group') return extra?.groupId !== parent;
  if (!ids.has(parent)) return false;
  const from = records.slots.get(parent);
  if (from !== undefined && records.extras.get(from)?.chordId === child) return false;
  return !(relation === 'child' && to !== undefined && records.parents[to] === parent);
}
