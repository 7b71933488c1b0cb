import type { Task } from '../model.ts';
import type { TaskMatchBody } from '../wire.ts';
import { label, wellFormed } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

/** Fields that are searched, in this order, by their names in the body. */
const FIELDS = ['name', 'task_id', 'worker', 'args', 'kwargs', 'exception', 'result'] as const;

/** Characters of an excerpt before the match, and from its start on. */
const BEFORE = 24;
const BEHIND = 96;

/**
 * Creates the test of the parameter `q`: which field of a task contains it, in the text that list rows show.
 *
 * Each text is redacted and cut before it is compared, whether or not it contains `q`: if the work depended on the
 * unredacted text, its duration would confirm guesses of a masked secret.
 *
 * @param q search text in lower case
 * @param show must show texts as list rows do, because a search in hidden text would reveal secrets to anyone
 * who guesses them
 */
export function createFinder(q: string, show: ShowText): (task: Task) => TaskMatchBody | null {
  return function find(task) {
    for (const field of FIELDS) {
      const text = textOf(task, field, show);
      const at = text?.toLowerCase().indexOf(q) ?? -1;
      if (text !== null && at !== -1) return { field, text: excerpt(text, at, q.length) };
    }
    return null;
  };
}

/**
 * Creates the test of several searches together: whether a task contains all of some texts and none of others. Each
 * field is converted once for all of them.
 *
 * @param all in lower case, like `none`
 */
export function createMatcher(
  all: readonly string[],
  none: readonly string[],
  show: ShowText,
): (task: Task) => boolean {
  return function matches(task) {
    let missing = all;
    for (const field of FIELDS) {
      if (missing.length + none.length === 0) return true;
      const text = textOf(task, field, show)?.toLowerCase();
      if (text === undefined) continue;
      if (none.some((q) => text.includes(q))) return false;
      missing = missing.filter((q) => !text.includes(q));
    }
    return missing.length === 0;
  };
}

function textOf(task: Task, field: (typeof FIELDS)[number], show: ShowText): string | null {
  if (field === 'task_id') return label(task.id);
  if (field === 'name' || field === 'worker') return label(task[field]);
  const isCut = Array.isArray(task.truncated) && task.truncated.includes(field);
  return show(task[field], field, isCut, task.redacted === true).text;
}

/** The match with some text around it. @param at start of the match in the lower-case text */
function excerpt(text: string, at: number, length: number): string {
  const match = indexIn(text, at);
  const from = Math.max(0, match - BEFORE);
  const to = Math.min(text.length, Math.max(match + BEHIND, indexIn(text, at + length)));
  return wellFormed(`${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`);
}

/** Converts an index in the lower-case text to one in the original: in lower case, some letters become two. */
function indexIn(text: string, position: number): number {
  let index = Math.min(position, text.length);
  while (index > 0 && text.slice(0, index).toLowerCase().length > position) index -= 1;
  return index;
}
