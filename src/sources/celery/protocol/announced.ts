/**
 * The tasks that a task's message announces (celery/app/amqp.py, `as_task_v2`): the next steps of its chain,
 * its callbacks, its errbacks and the body of its chord. Most of them already have their ids. Ids of groups may
 * change: when a chord is a step of a chain, Celery 5.2 gives its header another id as it sends the header.
 */
import type { TaskRelation, TaskRelationKind } from '../../../model.ts';
import type { QueuedTask, Signature } from './messages.ts';

/** Most relations to read from one message. */
const MAX_RELATIONS = 10_000;

/** The state of reading one message. */
interface Reading {
  readonly groups: { id: string; groupId: string }[];
  readonly errbacks: { parent: string; child: string }[];
  readonly names: { id: string; name: string }[];
  /** The list that relations are added to. */
  relations: TaskRelation[];
  /** How many more relations may be added. */
  left: number;
}

/** Reads the relations that a message announces. */
export function readAnnounced(task: QueuedTask) {
  const relations: TaskRelation[] = [];
  const behindChord: TaskRelation[] = [];
  const reading: Reading = { relations, groups: [], errbacks: [], names: [], left: MAX_RELATIONS };
  const { id } = task.facts;
  readSteps(reading, [id], task.chain, 0);
  readCallbacks(reading, [id], task.callbacks, 0);
  addErrbacks(reading, id, task.errbacks, 0);
  if (task.chord !== null) {
    addBody(reading, [id], task.chord, 0);
    reading.relations = behindChord;
    readCanvas(reading, task.chord, 1);
  }
  const { groups, errbacks, names } = reading;
  return {
    /** Relations between tasks with the same root as the task of the message. */
    relations /** Relations that follow the body of its chord. Their root is the root of the header task that ends last. */,
    behindChord /** Bodies of chords that belong to the group of their header, as in Celery 5.6 and later. */,
    groups,
    errbacks /** Names of the tasks that will be sent. */,
    names,
  };
}

/** Adds the steps that follow these tasks, one after the other. */
function readSteps(
  reading: Reading,
  from: readonly string[],
  steps: readonly Signature[],
  depth: number,
): void {
  let before = from;
  for (const step of steps) {
    addRelations(reading, before, firstTasks(step, depth), 'chain');
    readCanvas(reading, step, depth + 1);
    before = lastTasks(step, depth);
  }
}

function readCallbacks(
  reading: Reading,
  parents: readonly string[],
  callbacks: readonly Signature[],
  depth: number,
): void {
  const ids = callbacks.flatMap((callback) => firstTasks(callback, depth));
  addRelations(reading, parents, ids, 'link');
  for (const callback of callbacks) readCanvas(reading, callback, depth + 1);
}

/** Adds the tasks that run inside and after a task or canvas that is not sent yet. */
function readCanvas(reading: Reading, signature: Signature, depth: number): void {
  if (depth > MAX_CANVAS_DEPTH) return;
  const { type, tasks, body, taskId, name } = signature;
  const isTask = type === null && taskId !== null && name !== null;
  if (isTask && reading.names.length < MAX_RELATIONS) reading.names.push({ id: taskId, name });
  const ends = lastTasks(signature, depth);
  readCallbacks(reading, ends, signature.callbacks, depth);
  for (const end of ends) addErrbacks(reading, end, signature.errbacks, depth);
  if (signature.chord !== null) addBody(reading, ends, signature.chord, depth);
  if (type === 'chain') {
    const [first, ...rest] = tasks;
    if (first === undefined) return;
    readCanvas(reading, first, depth + 1);
    readSteps(reading, lastTasks(first, depth), rest, depth);
  } else for (const member of tasks) readCanvas(reading, member, depth + 1);
  if (body === null) return;
  const header = tasks.flatMap((member) => lastTasks(member, depth));
  addBody(reading, header, body, depth);
  readCanvas(reading, body, depth + 1);
}

function addBody(reading: Reading, header: readonly string[], body: Signature, depth: number): void {
  const bodyIds = firstTasks(body, depth);
  addRelations(reading, header, bodyIds, 'chord');
  const [id] = bodyIds;
  if (id !== undefined && body.type === null && body.groupId !== null) {
    reading.groups.push({ id, groupId: body.groupId });
  }
}

function addRelations(
  reading: Reading,
  parents: readonly string[],
  children: readonly string[],
  relation: TaskRelationKind,
): void {
  for (const parent of parents) {
    for (const child of children) {
      if (reading.left <= 0) return;
      reading.left -= 1;
      reading.relations.push({ parent, child, relation });
    }
  }
}

function addErrbacks(reading: Reading, parent: string, errbacks: readonly Signature[], depth: number): void {
  for (const child of errbacks.flatMap((errback) => firstTasks(errback, depth))) {
    if (reading.left <= 0) return;
    reading.left -= 1;
    reading.errbacks.push({ parent, child });
  }
}

/** Deepest nesting that is read. */
const MAX_CANVAS_DEPTH = 32;

/** Ids of the tasks of a canvas that run first; for a chord, of its header. Tasks without an id are left out. */
export function firstTasks(signature: Signature, depth = 0): string[] {
  const { type, tasks, taskId } = signature;
  if (depth > MAX_CANVAS_DEPTH) return [];
  if (type === 'chain') return tasks[0] === undefined ? [] : firstTasks(tasks[0], depth + 1);
  if (type === 'group' || type === 'chord') return tasks.flatMap((task) => firstTasks(task, depth + 1));
  return taskId === null ? [] : [taskId];
}

/** Ids of the tasks of a canvas that run last; for a chord, of its body. Tasks without an id are left out. */
function lastTasks(signature: Signature, depth: number): string[] {
  const { type, tasks, body, taskId } = signature;
  if (depth > MAX_CANVAS_DEPTH) return [];
  if (type === 'chord') return body === null ? [] : lastTasks(body, depth + 1);
  if (type === 'group') return tasks.flatMap((task) => lastTasks(task, depth + 1));
  const last = tasks.at(-1);
  if (type === 'chain') return last === undefined ? [] : lastTasks(last, depth + 1);
  return taskId === null ? [] : [taskId];
}
