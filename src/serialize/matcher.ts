import type { Task } from '../model.ts';
import { label } from './scalars.ts';
import type { ShowText } from './shown-text.ts';

/**
 * Creates the test of the parameter `q`: whether a task contains it in its name, id, worker, args or kwargs.
 *
 * Each text is shown before it is compared, whether or not it contains `q`: if the work depended on what the
 * unredacted text contains, its duration would confirm guesses of a masked secret.
 *
 * @param q search text in lower case
 * @param show must show texts as list rows do, because a search in hidden text would reveal secrets to anyone
 * who guesses them
 */
export function createMatcher(q: string, show: ShowText): (task: Task) => boolean {
  function inLabel(value: unknown): boolean {
    return label(value)?.toLowerCase().includes(q) ?? false;
  }

  function inText(value: unknown, field: 'args' | 'kwargs', task: Task): boolean {
    const isCut = Array.isArray(task.truncated) && task.truncated.includes(field);
    const { text } = show(value, field, isCut, task.redacted === true);
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
