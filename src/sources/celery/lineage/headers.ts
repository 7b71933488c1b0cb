/**
 * Which tasks with the id of a chord's group are its header. Celery 5.3 and later give that id to the body
 * as well, and of a body that is a chain to its last step (celery/canvas.py, `_chord.run`).
 */
import type { Ledger, LinkedGroup, LinkedTask } from './ledger.ts';

/** Longest line of parents that is followed. */
const MAX_STEPS = 64;

/**
 * Whether a member of a group runs before the body of its chord, and not behind it.
 *
 * @returns the task whose parent must be known to tell
 */
export function isHeader(
  ledger: Ledger,
  group: LinkedGroup,
  memberId: string,
  body: LinkedTask,
): boolean | LinkedTask {
  if (memberId === body.id) return false;
  if (group.listed.has(memberId) || body.isBroken) return true;
  let task = ledger.task(memberId);
  for (let step = 0; step < MAX_STEPS; step++) {
    if (task.parent === null) return task.isRoot || task;
    if (task.parent === body.id) return isOwnAncestor(ledger, body) ?? body;
    if (task.parent === memberId) return true;
    task = ledger.task(task.parent);
  }
  return true;
}

/**
 * A task that replaces itself with a chord is the parent of the header and the body, too; its parent is
 * then a header task.
 *
 * @returns `null` when its parent is not known
 */
function isOwnAncestor(ledger: Ledger, body: LinkedTask): boolean | null {
  if (body.parent === null) return null;
  let task: LinkedTask | undefined = body;
  for (let step = 0; step < MAX_STEPS; step++) {
    task = task.parent === null ? undefined : ledger.findTask(task.parent);
    if (task === undefined) return false;
    if (task.id === body.id) return true;
  }
  return false;
}
