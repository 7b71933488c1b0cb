/**
 * Decides how a task is related to its parent: as the next step of a chain, the body of a chord, or an errback.
 * No event and no result contains that. It follows from when Celery sends tasks, and from which of them it
 * lists.
 *
 * A task lists all tasks that are sent while it runs, including its callbacks and the next step of its chain,
 * and its stored result contains the list (celery/app/trace.py). Tasks that are sent later are not on the list:
 * the body of a chord, sent by the header task that ends last (celery/backends/redis.py), and errbacks, sent in
 * a group of their own (celery/backends/base.py, `_call_task_errbacks`). But others may be missing too:
 * `on_success` may send tasks, `trail=False` turns the list off, and an earlier attempt had its own list. So
 * each rule needs more evidence, and without it nothing is reported.
 */
import { addBody, decideWithParent } from './chords.ts';
import { groupsOf, hasListed, type LinkedTask } from './pending-links.ts';
import { type Linking, relate } from './relate.ts';

/** @param parent `null`: the task has none */
export function setParent(linking: Linking, task: LinkedTask, parent: LinkedTask | null): void {
  if (parent === null ? task.isRoot || task.parent !== null : task.parent === parent.id) return;
  if (parent === null) task.isRoot = true;
  else task.parent = parent.id;
  decideWithParent(linking, task);
}

/** Reports how a task is related to its parent. To be called whenever something of either has changed. */
export function relateToParent(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  relateStep(linking, task, parent);
  if (parent.announced?.errbacks?.has(task.id) === true) relate(linking, parent.id, task.id, 'link_error');
  if (parent.end === 'open' || parent.children?.isPartial === true || hasListed(parent, task.id)) return;
  // It was sent after the parent had ended.
  if (parent.end === 'failed') relateErrback(linking, task, parent);
  else relateBody(linking, task, parent);
}

/** A stored group names the step before each of its members, or the header whose body the member is. */
function relateStep(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  const { follows } = task;
  if (follows === null) return;
  if (follows === parent.id) relate(linking, parent.id, task.id, 'chain');
  else if (follows === parent.group || groupsOf(parent).has(follows)) addBody(linking, follows, task.id);
}

/**
 * Errbacks are a group that the failed task did not list, and are called with its id. Immutable errbacks are
 * not called with it: they look like the header of a chord that the task replaced itself with.
 */
function relateErrback(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  if (task.group === null || task.group === parent.group) return;
  if (task.namedParent === parent.id) relate(linking, parent.id, task.id, 'link_error');
}

/**
 * The parent of a body is the header task that ended last, or, if a worker sent the chord as a step of a
 * chain, the step before it, which lists the header. Only Celery 5.6 and later tell it from other tasks: they give the
 * body the group id of its header.
 */
function relateBody(linking: Linking, task: LinkedTask, parent: LinkedTask): void {
  const { group } = task;
  if (group !== null && (group === parent.group || groupsOf(parent).has(group)))
    addBody(linking, group, task.id);
}
