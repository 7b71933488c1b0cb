/**
 * Which tasks with the id of a chord's group are its header. Celery 5.6 and later give that id to the body
 * as well, and to the last step of a body that is a chain (celery/canvas.py, `_chord.run`).
 */
import { type LinkedGroup, type LinkedTask, linkedTask, type PendingLinks } from './pending-links.ts';

/** Longest line of parents that is followed. */
const MAX_STEPS = 64;

/**
 * Whether a member of a group runs before the body of its chord, and not after it.
 *
 * @returns the task whose parent must be known first
 */
export function isHeader(
  links: PendingLinks,
  group: LinkedGroup,
  memberId: string,
  body: LinkedTask,
): boolean | LinkedTask {
  if (memberId === body.id) return false;
  if (group.listed.has(memberId) || body.isBrokenBody) return true;
  let task = linkedTask(links, memberId);
  for (let step = 0; step < MAX_STEPS; step++) {
    if (task.parent === null) return task.isRoot || task;
    if (task.parent === body.id) return isOwnAncestor(links, body) ?? body;
    if (task.parent === memberId) return true;
    task = linkedTask(links, task.parent);
  }
  return true;
}

/**
 * Whether the body is among its own ancestors. A task that replaces itself with a chord is the parent of the
 * header and of the body, whose id it has; the parent of the body is then a header task.
 *
 * @returns `null` when its parent is not known
 */
function isOwnAncestor(links: PendingLinks, body: LinkedTask): boolean | null {
  if (body.parent === null) return null;
  let task: LinkedTask | undefined = body;
  for (let step = 0; step < MAX_STEPS; step++) {
    task = task.parent === null ? undefined : links.tasks.get(task.parent);
    if (task === undefined) return false;
    if (task.id === body.id) return true;
  }
  return false;
}
