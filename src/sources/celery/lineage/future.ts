/**
 * What the message of a task tells of tasks that are still to be sent (celery/app/amqp.py, `as_task_v2`):
 * the steps that follow it in its chain, its callbacks, its errbacks and the body of its chord. Most have
 * their ids already. Groups do not always keep theirs: Celery 5.2 gives the header of a chord that is a
 * step of a chain another one when it is sent.
 */
import type { TaskRelationKind } from '../../../model.ts';
import type { QueuedTask, Signature } from '../protocol/messages.ts';

/** Takes in what a message announces. */
export interface FutureListener {
  relate(parent: string, child: string, relation: TaskRelationKind): void;
  /**
   * A task that follows: the parent that it will have, and whether its root will be that of this message.
   * What runs behind a chord has the root of the header task that ends last.
   */
  expect(id: string, parent: string, hasSameRoot: boolean): void;
  /** The body of a chord that will have the group of its header, as in Celery 5.3 and later. */
  expectGroup(id: string, groupId: string): void;
  errback(parent: string, child: string): void;
}

/** Deeper nesting is not read, and more relations not taken of one message. */
const MAX_DEPTH = 32;
const MAX_RELATIONS = 10_000;

/** Tells of all tasks that a message announces. */
export function readFuture(task: QueuedTask, listener: FutureListener): void {
  let left = MAX_RELATIONS;
  let hasSameRoot = true;

  function relateAll(
    parents: readonly string[],
    children: readonly string[],
    relation: TaskRelationKind,
  ): void {
    for (const parent of parents) {
      for (const child of children) {
        if (left <= 0) return;
        left -= 1;
        listener.relate(parent, child, relation);
        if (relation !== 'chord') listener.expect(child, parent, hasSameRoot);
      }
    }
  }

  /** The steps that follow these tasks, one after the other. */
  function follow(from: readonly string[], steps: readonly Signature[], depth: number): void {
    let before = from;
    for (const step of steps) {
      relateAll(before, firstOf(step, depth), 'chain');
      enter(step, depth + 1);
      before = lastOf(step, depth);
    }
  }

  /** What runs within a task, or a canvas, that is to be sent, or after it. */
  function enter(signature: Signature, depth: number): void {
    if (depth > MAX_DEPTH) return;
    const { type, tasks, body } = signature;
    const ends = lastOf(signature, depth);
    relateAll(
      ends,
      signature.callbacks.flatMap((callback) => firstOf(callback, depth)),
      'link',
    );
    for (const callback of signature.callbacks) enter(callback, depth + 1);
    for (const end of ends) errbacks(end, signature.errbacks, depth);
    if (signature.chord !== null) waitFor(ends, signature.chord, depth);
    if (type === 'chain') {
      const [first, ...rest] = tasks;
      if (first === undefined) return;
      enter(first, depth + 1);
      follow(lastOf(first, depth), rest, depth);
    } else for (const member of tasks) enter(member, depth + 1);
    if (body === null) return;
    waitFor(
      tasks.flatMap((member) => lastOf(member, depth)),
      body,
      depth,
    );
    enter(body, depth + 1);
  }

  function waitFor(header: readonly string[], body: Signature, depth: number): void {
    const bodyIds = firstOf(body, depth);
    relateAll(header, bodyIds, 'chord');
    const [id] = bodyIds;
    if (id !== undefined && body.type === null && body.groupId !== null) {
      listener.expectGroup(id, body.groupId);
    }
  }

  function errbacks(parent: string, signatures: readonly Signature[], depth: number): void {
    for (const id of signatures.flatMap((errback) => firstOf(errback, depth))) {
      if (left <= 0) return;
      left -= 1;
      listener.errback(parent, id);
    }
  }

  const { id } = task.facts;
  follow([id], task.chain, 0);
  relateAll(
    [id],
    task.callbacks.flatMap((callback) => firstOf(callback, 0)),
    'link',
  );
  for (const callback of task.callbacks) enter(callback, 1);
  errbacks(id, task.errbacks, 0);
  if (task.chord !== null) {
    waitFor([id], task.chord, 0);
    hasSameRoot = false;
    enter(task.chord, 1);
  }
}

/** The tasks that run first: of a chord its header. */
export function firstOf(signature: Signature, depth = 0): string[] {
  const { type, tasks, taskId } = signature;
  if (depth > MAX_DEPTH) return [];
  if (type === 'chain') return tasks[0] === undefined ? [] : firstOf(tasks[0], depth + 1);
  if (type === 'group' || type === 'chord') return tasks.flatMap((task) => firstOf(task, depth + 1));
  return taskId === null ? [] : [taskId];
}

/** The tasks that run last: of a chord its body. */
function lastOf(signature: Signature, depth: number): string[] {
  const { type, tasks, body, taskId } = signature;
  if (depth > MAX_DEPTH) return [];
  if (type === 'chord') return body === null ? [] : lastOf(body, depth + 1);
  if (type === 'group') return tasks.flatMap((task) => lastOf(task, depth + 1));
  const last = tasks.at(-1);
  if (type === 'chain') return last === undefined ? [] : lastOf(last, depth + 1);
  return taskId === null ? [] : [taskId];
}
