/** One task, and the workflow of a task, from memory and a store. */
import type { Task, TaskDetail, TaskRelation, TaskTextField, TaskTree } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type { Awaitable, ReadContext } from '../../../source.ts';
import { isThenable } from '../../../values.ts';
import { workflowOf } from '../../answers/workflow.ts';
import { createMemoryState, type MemoryState } from '../../memory/memory-state.ts';
import { canvasOf } from '../../memory/tables.ts';
import { emptyRecord } from '../../merge/record-fields.ts';
import { withDetails } from '../../merge/task.ts';
import { type StoredTask, WHOLE_AT_ONCE } from '../../store.ts';
import { allocateSlot, holdRecord } from '../../table/records.ts';
import { ownCopy } from '../../table/redaction.ts';
import { isStoreAway, type ReaderContext } from './reader-context.ts';
import {
  type ColdTask,
  completed,
  FIRST_READ,
  isStoreAhead,
  nextReadSize,
  readStored,
  rowOf,
} from './stored-tasks.ts';
import { createWorkflowSearch, hasMore, rowIn, searchOn, type WorkflowNode } from './workflow-search.ts';

/** Most times that the store is asked. A workflow of so many steps without a common root is listed in part. */
const MOST_ROUNDS = 64;

/** What memory knows if that is enough, else what memory and the store know. */
function knownOrBoth<Known>(
  reader: ReaderContext,
  known: Awaitable<Known | null>,
  isEnough: (known: Known) => boolean,
  readBoth: (known: Known | null) => Promise<Known | null>,
): Awaitable<Known | null> {
  if (isThenable(known)) return known.then((found) => knownOrBoth(reader, found, isEnough, readBoth));
  const isAll = reader.droppedThrough() === Number.NEGATIVE_INFINITY;
  return isAll || (known !== null && isEnough(known)) ? known : readBoth(known);
}

/** Answers without the store if memory knows the whole workflow. */
export function getTaskTree(
  reader: ReaderContext,
  id: string,
  context: ReadContext,
): Awaitable<TaskTree | null> {
  return knownOrBoth(
    reader,
    reader.memory.reader.getTaskTree(id, context),
    (known) => isWhole(reader, known),
    (known) => readTree(reader, id, known, context),
  );
}

/** The consequences of a task happened later, so memory knows all of them if it knows the beginning of the workflow. */
function isWhole(reader: ReaderContext, { rootId, tasks, truncated }: TaskTree): boolean {
  if (truncated === true) return true;
  const ids = new Set(tasks.map(({ id }) => id));
  const isKnown = (id: string | null | undefined): boolean =>
    id == null || ids.has(id) || reader.known.get(id) === false;
  return isKnown(rootId) && tasks.every(({ id, parentId }) => isKnown(parentId) && isRecent(reader, id));
}

async function readTree(
  reader: ReaderContext,
  id: string,
  known: TaskTree | null,
  context: ReadContext,
): Promise<TaskTree | null> {
  const search = createWorkflowSearch(reader, id);
  try {
    for (let round = 0; round < MOST_ROUNDS && hasMore(search); round++) await searchOn(search, context);
    const { nodes, relations, stored, isCut } = search;
    if (!nodes.has(id)) return null;
    const rows = await readRows(reader, [...stored], context);
    const rowOfNode = (other: string): Task | null => rowIn(search, other) ?? rows.get(other) ?? null;
    const work = findWorkflow(id, nodes, relations.values(), rowOfNode);
    const tree = await scheduler.run('workflow', work, context);
    const tasks = await withTracebacks(reader, tree.tasks, (other) => stored.has(other), context);
    return { ...tree, tasks, truncated: tree.truncated === true || isCut || hasMore(search) };
  } catch (error) {
    // Memory has a part of the workflow, and the answer says so.
    if (known !== null && isStoreAway(error)) return { ...known, truncated: true };
    throw error;
  }
}

/** Tasks that are indexed between two pauses. */
const NODES_AT_ONCE = 32;
/** Relations that are added between two pauses. */
const RELATIONS_AT_ONCE = 256;

/**
 * Finds the workflow of a task among others.
 *
 * @param nodes the task is one of them
 * @param rowOf the row of a task as it is now; `null`: it is no longer known
 */
function* findWorkflow(
  id: string,
  nodes: ReadonlyMap<string, WorkflowNode>,
  relations: Iterable<TaskRelation>,
  rowOf: (id: string) => Task | null,
): Steps<TaskTree> {
  const state = createMemoryState({
    maxTasks: nodes.size + 1,
    maxBytes: Number.MAX_SAFE_INTEGER,
    taskDays: 36_500,
    maxEvents: 1,
    maxWorkers: 1,
    now: Date.now,
  });
  yield* addRelations(state, relations);
  yield* addNodes(state, nodes.values());
  const { records, roots } = state.tables;
  const passing = roots.passing();
  if (passing !== null) yield;
  const tree = yield* workflowOf(records.slots.get(id) as number, state.tables);
  const tasks: Task[] = [];
  for (const [at, node] of tree.tasks.entries()) {
    const row = rowOf(node.id);
    if (row !== null) tasks.push(related(row, node));
    if (at % NODES_AT_ONCE === NODES_AT_ONCE - 1) yield;
  }
  return { ...tree, tasks };
}

function* addRelations({ tables }: MemoryState, relations: Iterable<TaskRelation>): Steps<void> {
  let added = 0;
  for (const { parent, child, relation } of relations) {
    if (parent !== null) tables.relations.add(parent, child, relation);
    if (++added % RELATIONS_AT_ONCE === 0) yield;
  }
}

function* addNodes({ tables }: MemoryState, nodes: Iterable<WorkflowNode>): Steps<void> {
  const { records, relations } = tables;
  let added = 0;
  for (const { id, parentId = null, rootId = null, groupId = null, chordId = null } of nodes) {
    const record = Object.assign(emptyRecord(id), { parentId, rootId, groupId, chordId });
    if (relations.has(id)) {
      const canvas = canvasOf(id, relations);
      record.groupId ??= canvas.groupId;
      record.chordId ??= canvas.chordId;
    }
    holdRecord(records.held, allocateSlot(records, id), record, 0);
    if (++added % NODES_AT_ONCE !== 0) continue;
    tables.catchUp();
    yield;
  }
  tables.catchUp();
}

/** A row with the relatives that only other tasks name. */
function related(row: Task, node: Task): Task {
  const isWhole = RELATIVES.every((field) => row[field] != null || node[field] == null);
  if (isWhole) return row;
  const found = RELATIVES.map((field) => [field, row[field] ?? node[field] ?? null]);
  return Object.freeze({ ...row, ...Object.fromEntries(found) });
}

const RELATIVES = ['rootId', 'groupId', 'chordId'] as const;

/** Rows keep whole texts until this many characters of records have been read for a workflow. */
const WHOLE_CHARACTERS = 16_000_000;
/** Longest text of later rows, in characters: as much as graphs show by default. */
const LONGEST_TEXT = 256;
const SHORTENED = ['args', 'kwargs', 'result', 'exception'] as const satisfies readonly TaskTextField[];
/** Records that are read between two pauses. */
const RECORDS_AT_ONCE = 16;
/** Most tasks whose long texts are read, and most characters of these: the end of a traceback is shown. */
const MOST_WHOLE = 1_000;
const MOST_WHOLE_CHARACTERS = 16_000_000;

/** @returns the rows of these tasks, by id: of those that are stored */
async function readRows(
  reader: ReaderContext,
  ids: readonly string[],
  context: ReadContext,
): Promise<ReadonlyMap<string, Task>> {
  const rows = new Map<string, Task>();
  let characters = 0;
  let size = FIRST_READ;
  for (let at = 0; at < ids.length; ) {
    const asked = ids.slice(at, at + size);
    at += asked.length;
    const tasks = await reader.reads.read((session) => session.tasks.find(asked), context);
    await scheduler.run('workflow', addRows(reader, rows, tasks, characters > WHOLE_CHARACTERS), context);
    characters += tasks.reduce((sum, { record }) => sum + record.length, 0);
    size = nextReadSize(tasks);
  }
  return rows;
}

function* addRows(
  { memory }: ReaderContext,
  rows: Map<string, Task>,
  tasks: readonly StoredTask[],
  isShort: boolean,
): Steps<void> {
  // Two instances may have stored a task on two days.
  const versions = new Map<string, number>();
  for (const [at, task] of tasks.entries()) {
    if (at % RECORDS_AT_ONCE === RECORDS_AT_ONCE - 1) yield;
    if ((versions.get(task.id) ?? 0) >= task.version) continue;
    versions.set(task.id, task.version);
    const cold = readStored(task, task.texts !== null);
    if (cold !== null) rows.set(task.id, rowOf(isShort ? shorten(cold) : cold, memory));
  }
}

function shorten({ record, rootId, shortened }: ColdTask): ColdTask {
  const long = SHORTENED.filter((field) => (record[field]?.length ?? 0) > LONGEST_TEXT);
  if (long.length === 0) return { record, rootId, shortened };
  const texts = long.map((field) => [field, ownCopy(record[field]?.slice(0, LONGEST_TEXT) ?? '')]);
  const truncated = record.truncated.filter((field) => !long.some((one) => one === field));
  return {
    record: { ...record, ...Object.fromEntries(texts), truncated },
    rootId,
    shortened: [...new Set([...shortened, ...long])],
  };
}

/** Reads the whole tracebacks of stored tasks that failed with a long one. */
async function withTracebacks(
  { memory, reads }: ReaderContext,
  tasks: readonly Task[],
  isStored: (id: string) => boolean,
  context: ReadContext,
): Promise<readonly Task[]> {
  const cut = tasks.filter(({ id, truncated }) => isStored(id) && truncated?.includes('traceback') === true);
  const ids = cut.slice(0, MOST_WHOLE).map(({ id }) => id);
  const whole = new Map<string, Task>();
  let characters = 0;
  for (let at = 0; at < ids.length && characters < MOST_WHOLE_CHARACTERS; at += WHOLE_AT_ONCE) {
    const batch = ids.slice(at, at + WHOLE_AT_ONCE);
    for (const task of await reads.read((session) => session.tasks.read(batch), context)) {
      characters += task.texts?.length ?? 0;
      const cold = readStored(task, true);
      if (cold !== null) whole.set(task.id, rowOf(cold, memory));
    }
  }
  if (whole.size === 0) return tasks;
  return tasks.map((task) => {
    const { rootId = null, groupId = null, chordId = null } = task;
    const row = whole.get(task.id);
    return row === undefined ? task : Object.freeze({ ...row, rootId, groupId, chordId });
  });
}

/** Most children of a task that are listed: those of the largest graph. */
const MOST_CHILDREN = 20_000;
/** Longest wait for the stored children of a task that memory knows, in milliseconds. */
const CHILDREN_MS = 1_000;
/** Maximum difference between the clocks of senders, in milliseconds. */
const CLOCKS_MS = 60_000;

/** Answers at once where memory knows enough. */
export function getTask(
  reader: ReaderContext,
  id: string,
  context: ReadContext,
): Awaitable<TaskDetail | null> {
  return knownOrBoth(
    reader,
    reader.memory.reader.getTask(id, context),
    () => isRecent(reader, id),
    (known) => readDetail(reader, id, known, context),
  );
}

/** Whether a task began so late that memory knows everything that it led to. */
function isRecent({ memory, droppedThrough }: ReaderContext, id: string): boolean {
  const first = memory.firstTime(id);
  return first !== null && first - CLOCKS_MS > droppedThrough();
}

async function readDetail(
  reader: ReaderContext,
  id: string,
  known: TaskDetail | null,
  context: ReadContext,
): Promise<TaskDetail | null> {
  const { reads } = reader;
  const isWhole = known !== null && !isStoreAhead(reader);
  const isInMemory = isWhole || (known === null && reader.memory.readTask(id) !== null);
  const ms = known === null ? undefined : CHILDREN_MS;
  try {
    const [stored, sent, relations] = await Promise.all([
      isInMemory ? [] : reads.read((session) => session.tasks.read([id]), context),
      reads.read((session) => session.tasks.linkedIds('parentId', [id], MOST_CHILDREN), context, ms),
      reads.read((session) => session.relations.read([id], MOST_CHILDREN), context, ms),
    ]);
    const children = childrenIn(reader, id, sent, relations);
    // Memory may not know all that it waits for.
    if (isWhole) return { ...known, children, ...(known.waitsFor && { waitsFor: null }) };
    // It may be in memory by now. Two instances that first wrote it at midnight have stored it twice.
    const last = stored.toSorted((a, b) => a.version - b.version || a.day - b.day).at(-1);
    const cold = (last === undefined ? null : completed(reader, last, true)) ?? reader.memory.readTask(id);
    return cold === null ? null : detailOf(cold, children, reader);
  } catch (error) {
    if (known !== null && isStoreAway(error)) return known;
    throw error;
  }
}

function detailOf(cold: ColdTask, children: readonly string[], { memory }: ReaderContext): TaskDetail {
  return withDetails(rowOf(cold, memory), cold.record, children);
}

function childrenIn(
  reader: ReaderContext,
  id: string,
  sent: readonly string[],
  relations: readonly TaskRelation[],
): readonly string[] {
  const { memory } = reader;
  const children = new Set(memory.children(id));
  // What memory knows whole is newer.
  const isNewer = isStoreAhead(reader) ? () => false : memory.has;
  for (const child of sent) if (!isNewer(child)) children.add(child);
  for (const { parent, child, relation } of relations) {
    if (parent === id && relation !== 'group' && relation !== 'chord') children.add(child);
  }
  return [...children];
}
