/** Adds tasks that wait in queues to the tasks of a history. */
import type { HistoryReader } from '../../../history/history.ts';
import type { Task, TaskRelation, TaskTree } from '../../../model.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { ReadContext, SourceStatus, TaskQuery, TaskSource } from '../../../source.ts';
import type { WaitingMessage } from '../broker.ts';
import type { Queues } from './queues.ts';
import { listWithWaiting } from './waiting-list.ts';
import type { WaitingIndex, WaitingRows } from './waiting-messages.ts';

/** The part of the history that reads of tasks need. */
type KnownTasks = Pick<HistoryReader, 'listKnown' | 'freshness'>;

/** The part of the waiting messages that reads of tasks need. */
export type Waiting = Pick<Queues, 'asked' | 'ready' | 'held' | 'index' | 'rows' | 'revision' | 'nextEta'>;

/**
 * Adds the tasks that only the queues have. They come after all others, the next to run first, and are PENDING.
 *
 * @param tasks answers from the history
 * @param reader finds out which tasks the history has
 */
export function withWaiting<Source extends TaskSource>(
  tasks: Source,
  queues: Waiting,
  reader: KnownTasks,
): Source {
  const unknownMessages = createUnknownMessages(queues, reader);
  const { getTaskTree } = tasks;
  return {
    ...tasks,
    status: () => statusWith(tasks, queues),
    async listTasks(query, context) {
      const parts = {
        listHistory: async (wanted: TaskQuery, asked: ReadContext) => tasks.listTasks(wanted, asked),
        unknownMessages,
        isComplete: () => queues.held() !== null,
        row: queues.rows.row,
      };
      return listWithWaiting(parts, query, context);
    },
    async getTask(id, context) {
      const known = await tasks.getTask(id, context);
      if (known !== null) return known.state === 'PENDING' ? { ...known, ahead: aheadOf(id, queues) } : known;
      await queues.ready();
      const message = queues.index().get(id);
      const waiting = message === undefined ? null : queues.rows.detail(message);
      return waiting === null ? null : { ...waiting, ahead: aheadOf(id, queues) };
    },
    ...(getTaskTree === undefined
      ? {}
      : { getTaskTree: (id, context) => treeOf(tasks, queues, reader, id, context) }),
  };
}

/** How many messages leave the queue before that of a task; `null`: unknown, since not all messages are known. */
function aheadOf(id: string, queues: Waiting): number | null {
  const own = queues.index().get(id);
  const index = queues.held();
  if (index === null || own === undefined || own.takenAt !== null) return null;
  const queueOf = ({ part }: WaitingMessage): string => part.split('\0', 1)[0] as string;
  const queue = queueOf(own);
  let ahead = 0;
  for (const message of index.messages) {
    if (message === own) return ahead;
    if (message.takenAt === null && queueOf(message) === queue) ahead += 1;
  }
  return null;
}

function statusWith(tasks: TaskSource, queues: Waiting): SourceStatus {
  queues.asked();
  const own: SourceStatus = tasks.status?.() ?? { ok: true, asOf: new Date() };
  const { revision, changesAt = null } = own;
  const next = queues.nextEta();
  return {
    ...own,
    ...(revision === undefined ? {} : { revision: `${revision}.${queues.revision()}` }),
    changesAt: next !== null && (changesAt === null || next < changesAt) ? next : changesAt,
  };
}

/** The messages about tasks that the history does not know: determined once for each state of both. */
function createUnknownMessages(queues: Waiting, reader: KnownTasks) {
  let known: { readonly state: string; readonly messages: readonly WaitingMessage[] } | null = null;
  return async (context: ReadContext): Promise<readonly WaitingMessage[]> => {
    await queues.ready();
    const state = `${queues.revision()}.${reader.freshness('tasks').revision}`;
    if (known?.state === state) return known.messages;
    const { messages } = queues.index();
    const ids = messages.flatMap(({ facts }) => facts?.id ?? []);
    const inHistory = await reader.listKnown(ids, context);
    const unknown = messages.filter(({ facts }) => facts !== null && !inHistory.has(facts.id));
    known = { state, messages: unknown };
    return unknown;
  };
}

/** Most tasks of a workflow: the largest graph that the API shows. */
const MAX_TASKS = 20_000;
/** Workflows of the history that waiting tasks may join to one. */
const MAX_TREES = 20;
/** Waiting tasks whose relatives are looked up in the history. */
const MAX_ASKED = 100;

interface Workflow {
  readonly waiting: WaitingIndex;
  readonly row: WaitingRows['row'];
  /** Reads a workflow from the history. */
  readonly readTree: (id: string) => Promise<TaskTree | null>;
  /** A task of the history that passes this filter. */
  readonly readOne: (filter: Partial<TaskQuery>) => Promise<string | null>;
  /** Whether the history has a task. */
  readonly isKnown: (id: string) => Promise<boolean>;
  readonly tasks: Map<string, Task>;
  readonly relations: TaskRelation[];
  /** Ids that belong to the workflow, of tasks and of groups. */
  readonly ids: Set<string>;
  truncated: boolean;
  /** Workflows of the history that were read. */
  trees: number;
  /** Waiting tasks whose relatives were looked up. */
  asked: number;
}

/** The workflow of a task, with those of its tasks that still wait in queues. */
async function treeOf(
  source: TaskSource,
  queues: Waiting,
  reader: KnownTasks,
  id: string,
  context: ReadContext,
): Promise<TaskTree | null> {
  const readTree = async (other: string) => (await source.getTaskTree?.(other, context)) ?? null;
  const tree = await readTree(id);
  if (tree === null) await queues.ready();
  const waiting = queues.index();
  const message = tree === null ? (waiting.get(id) ?? null) : null;
  if (tree === null && message === null) return null;
  if (tree !== null && waiting.messages.length === 0) return tree;
  const workflow: Workflow = {
    waiting,
    row: queues.rows.row,
    readTree,
    async readOne(filter) {
      const page = await source.listTasks({ ...ALL_TASKS, limit: 1, scan: 100, ...filter }, context);
      return page.tasks[0]?.id ?? null;
    },
    isKnown: async (other) => (await reader.listKnown([other], context)).has(other),
    tasks: new Map(),
    relations: [],
    ids: new Set([id]),
    truncated: false,
    trees: 0,
    asked: 0,
  };
  if (tree !== null) addTree(workflow, tree);
  if (message !== null) await addMessage(workflow, message);
  // A set is iterated in the order of insertion, including ids added meanwhile.
  for (const current of workflow.ids) await follow(workflow, current);
  const { tasks, relations, truncated } = workflow;
  const rootId = tree?.rootId ?? message?.facts?.rootId ?? id;
  return { rootId, tasks: [...tasks.values()], relations, truncated };
}

/** Adds everything directly related to this id. */
async function follow(workflow: Workflow, id: string): Promise<void> {
  const { waiting } = workflow;
  const own = waiting.get(id);
  if (own !== undefined) {
    await addMessage(workflow, own);
    await reachKnown(workflow, own);
  }
  for (const message of waiting.related(id)) {
    const { parentId, groupId, chordId } = message.facts ?? {};
    // A common root is no relation.
    if (parentId === id || groupId === id || chordId === id) await addMessage(workflow, message);
  }
  if (workflow.truncated || workflow.tasks.has(id) || !(await workflow.isKnown(id))) return;
  if (workflow.trees >= MAX_TREES) {
    workflow.truncated = true;
    return;
  }
  workflow.trees += 1;
  const other = await workflow.readTree(id);
  if (other !== null) addTree(workflow, other);
}

function addTree(workflow: Workflow, { tasks, relations = [], truncated }: TaskTree): void {
  for (const task of tasks) {
    workflow.tasks.set(task.id, task);
    reach(workflow, [task.id, task.parentId, task.groupId, task.chordId]);
  }
  addRelations(workflow, relations);
  workflow.truncated ||= truncated === true;
}

async function addMessage(workflow: Workflow, message: WaitingMessage): Promise<void> {
  const { facts } = message;
  if (facts === null || workflow.tasks.has(facts.id) || (await workflow.isKnown(facts.id))) return;
  const row = workflow.row(message);
  if (row === null) return;
  if (workflow.tasks.size >= MAX_TASKS) {
    workflow.truncated = true;
    return;
  }
  workflow.tasks.set(facts.id, row);
  reach(workflow, [facts.id, facts.parentId, facts.groupId, facts.chordId]);
  addRelations(workflow, message.relations);
}

function addRelations(workflow: Workflow, relations: readonly TaskRelation[]): void {
  for (const relation of relations) {
    workflow.relations.push(relation);
    reach(workflow, [relation.parent, relation.child]);
  }
}

function reach({ ids }: Workflow, more: readonly (string | null | undefined)[]): void {
  for (const other of more) if (other != null && ids.size < 4 * MAX_TASKS) ids.add(other);
}

/** The history connects its tasks, but not across one that it does not know. */
async function reachKnown(workflow: Workflow, { facts }: WaitingMessage): Promise<void> {
  if (facts === null || workflow.asked >= MAX_ASKED || (await workflow.isKnown(facts.id))) return;
  workflow.asked += 1;
  reach(workflow, [await workflow.readOne({ parentId: facts.id })]);
  if (facts.groupId != null) reach(workflow, [await workflow.readOne({ groupId: facts.groupId })]);
}
