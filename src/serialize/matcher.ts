import type { Task } from '../model.ts';
import type { Redactor } from '../redact.ts';
import { label } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

// What masking, cutting and mending of characters put into a text; lower-casing of ASCII looks at no neighbour.
const PLAIN = /^(?:(?![*"'`\\])[\x20-\x7e])*$/;

/**
 * @param show as list rows show texts: a search in anything else would be an oracle for secrets
 * @param mostRead how many characters of a text it looks at
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
    // Masks only take away: what the raw text does not have, the shown one has not.
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
      // A throwing getter: the list cannot show it either.
      return false;
    }
  };
}
