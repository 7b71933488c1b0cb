import type { Task } from '../model.ts';
import type { Redactor } from '../redact.ts';
import { label } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

// Excludes the characters that masking, truncation and repair can insert into a text. For ASCII, lower-casing
// a character never depends on its neighbours.
const PLAIN = /^(?:(?![*"'`\\])[\x20-\x7e])*$/;

/**
 * Creates the test of the parameter `q`: whether a task contains it in its name, id, worker, args or kwargs.
 *
 * @param q search text in lower case
 * @param show must show texts as list rows do, because a search in hidden text would reveal secrets to anyone
 * who guesses them
 * @param mostRead number of characters of each text that are searched
 */
export function createMatcher(
  q: string,
  show: ShowText,
  redactor: Redactor,
  mostRead: number,
): (task: Task) => boolean {
  const isPlain = redactor.onlyMasks && PLAIN.test(q);

  function inLabel(value: unknown): boolean {
    return label(value)?.toLowerCase().includes(q) ?? false;
  }

  function inText(value: unknown, field: 'args' | 'kwargs', task: Task): boolean {
    // Masking only removes text, so what the raw text does not contain the shown text does not contain
    // either.
    if (isPlain && typeof value === 'string' && !value.slice(0, mostRead).toLowerCase().includes(q))
      return false;
    const { text } = show(value, field, Array.isArray(task.truncated) && task.truncated.includes(field));
    return text?.toLowerCase().includes(q) ?? false;
  }

  return function matches(task) {
    try {
      return (
        inLabel(task.name) ||
        inLabel(task.id) ||
        inLabel(task.worker) ||
        inText(task.args, 'args', task) ||
        inText(task.kwargs, 'kwargs', task)
      );
    } catch {
      // A throwing getter. The list cannot show this task either.
      return false;
    }
  };
}
