/**
 * Finds which tasks of memory and of a store belong to a workflow, in steps: each looks up what the last one has found.
 */
import type { Task, TaskRelation } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { ReadContext } from '../../../source.ts';
import type { StoredLink, StoredRelatives } from '../../store.ts';
import type { ReaderContext } from './reader-context.ts';
import { isStoreAhead } from './stored-tasks.ts';

/** Most tasks of a workflow that are read: those of the largest graph that the API shows. */
const MOST_TASKS = 20_000;
/** Ids of one read. */
const BATCH = 1_000;
/** Ids that are looked up in memory between two pauses. */
const IDS_AT_ONCE = 64;

/** The relations of a task. */
export type WorkflowNode = Pick<Task, 'id' | 'parentId' | 'rootId' | 'groupId' | 'chordId'>;

/** A workflow that is being read. */
export interface WorkflowSearch {
  readonly reader: ReaderContext;
  /** Whether the store knows more of the tasks in memory. */
  readonly isStoreAhead: boolean;
  readonly nodes: Map<string, WorkflowNode>;
  /** The nodes that only the store knows. */
  readonly stored: Set<string>;
  readonly relations: Map<string, TaskRelation>;
  readonly tasks: IdQueue;
  readonly groups: IdQueue;
  readonly roots: IdQueue;
  /** Whether there are more tasks. */
  isCut: boolean;
}

/** Ids that were found, each once, nearest first. */
interface IdQueue {
  readonly known: Set<string>;
  /** To be looked up in memory. */
  readonly fresh: string[];
  /** To be looked up in the store. */
  open: string[];
}

/** @param id of a task of the workflow */
export function createWorkflowSearch(reader: ReaderContext, id: string): WorkflowSearch {
  const search: WorkflowSearch = {
    reader,
    isStoreAhead: isStoreAhead(reader),
    nodes: new Map(),
    stored: new Set(),
    relations: new Map(),
    tasks: newQueue(),
    groups: newQueue(),
    roots: newQueue(),
    isCut: false,
  };
  reachTask(search, id);
  return search;
}

function newQueue(): IdQueue {
  return { known: new Set(), fresh: [], open: [] };
}

/** Whether more has to be read from the store. Once there is too much, nothing more can be added. */
export function hasMore({ tasks, groups, roots, isCut }: WorkflowSearch): boolean {
  return !isCut && [tasks, groups, roots].some(({ fresh, open }) => fresh.length + open.length > 0);
}

/** Looks up all found ids in memory, then a part of them in the store. */
export async function searchOn(search: WorkflowSearch, context: ReadContext): Promise<void> {
  await scheduler.run('workflow', lookUp(search), context);
  const [tasks, groups, roots] = [search.tasks, search.groups, search.roots].map(take) as [
    string[],
    string[],
    string[],
  ];
  const { reads, memory, known } = search.reader;
  const { isStoreAhead, stored } = search;
  const isNewest = (id: string): boolean => !isStoreAhead && memory.has(id);
  const unknown = tasks.filter((id) => !isNewest(id) && !stored.has(id));
  const most = MOST_TASKS + 1;
  const linked = (link: StoredLink, ids: readonly string[]): Promise<readonly StoredRelatives[]> =>
    ids.length === 0
      ? Promise.resolve([])
      : reads.read((session) => session.tasks.linked(link, ids, most), context);
  const ends = [...tasks, ...groups];
  const [own, relations, ...others] = await Promise.all([
    unknown.length === 0 ? [] : reads.read((session) => session.tasks.relatives(unknown), context),
    ends.length === 0 ? [] : reads.read((session) => session.relations.read(ends, most), context),
    linked('parentId', tasks),
    linked('chordId', tasks),
    linked('groupId', groups),
    linked('rootId', roots),
  ]);
  const found = new Set(own.map(({ id }) => id));
  for (const id of unknown) known.set(id, found.has(id));
  if ([relations, ...others].some((list) => list.length >= most)) search.isCut = true;
  await scheduler.run('workflow', addFound(search, [own, ...others], relations), context);
}

function take(queue: IdQueue): string[] {
  return queue.open.splice(0, BATCH);
}

/** Adds what memory knows about all found ids. */
function* lookUp(search: WorkflowSearch): Steps<void> {
  const { tasks, groups, roots, reader } = search;
  roots.open.push(...roots.fresh.splice(0));
  let count = 0;
  for (const queue of [groups, tasks, groups, tasks]) {
    // Ids found meanwhile are appended.
    for (let at = 0; at < queue.fresh.length; at++) {
      const id = queue.fresh[at] as string;
      const node = queue === tasks ? reader.memory.row(id) : null;
      if (node !== null) addNode(search, node);
      for (const other of reader.memory.linked(id)) reachTask(search, other);
      for (const relation of reader.memory.relations(id)) addRelation(search, relation);
      if (++count % IDS_AT_ONCE === 0) yield;
    }
    queue.open.push(...queue.fresh.splice(0));
  }
}

function* addFound(
  search: WorkflowSearch,
  lists: readonly (readonly StoredRelatives[])[],
  relations: readonly TaskRelation[],
): Steps<void> {
  let count = 0;
  for (const task of lists.flat()) {
    addStored(search, task);
    if (++count % IDS_AT_ONCE === 0) yield;
  }
  for (const relation of relations) {
    addRelation(search, relation);
    if (++count % IDS_AT_ONCE === 0) yield;
  }
}

function addStored(search: WorkflowSearch, task: StoredRelatives): void {
  const { reader, isStoreAhead, stored, nodes } = search;
  reachTask(search, task.id);
  if (!search.tasks.known.has(task.id)) return;
  // The data in memory is newer.
  if (!isStoreAhead && reader.memory.has(task.id)) return;
  if (isStoreAhead) nodes.delete(task.id);
  stored.add(task.id);
  addNode(search, task);
}

function addNode(search: WorkflowSearch, node: WorkflowNode): void {
  const { nodes, groups, roots } = search;
  if (nodes.has(node.id)) return;
  nodes.set(node.id, node);
  for (const id of [node.parentId, node.chordId]) if (id != null) reachTask(search, id);
  if (node.groupId != null) reach(groups, node.groupId);
  if (node.rootId != null) reach(roots, node.rootId);
}

function addRelation(search: WorkflowSearch, relation: TaskRelation): void {
  const { parent, child, relation: kind } = relation;
  const key = JSON.stringify([parent, child, kind]);
  if (search.relations.has(key)) return;
  search.relations.set(key, relation);
  reachTask(search, child);
  if (parent === null) return;
  if (kind === 'group') reach(search.groups, parent);
  else reachTask(search, parent);
}

function reachTask(search: WorkflowSearch, id: string): void {
  if (search.tasks.known.size < MOST_TASKS) reach(search.tasks, id);
  else if (!search.tasks.known.has(id)) search.isCut = true;
}

function reach({ known, fresh }: IdQueue, id: string): void {
  if (known.has(id)) return;
  known.add(id);
  fresh.push(id);
}

/** The row of a task of the workflow as it is now; `null`: memory does not have it. */
export function rowIn({ reader, isStoreAhead, stored }: WorkflowSearch, id: string): Task | null {
  return isStoreAhead && stored.has(id) ? null : reader.memory.row(id);
}
