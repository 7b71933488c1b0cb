import type { TaskChange } from '../../../history/history.ts';
import { objectMembers, readString, stringEnd, valueEnd } from './python-json.ts';
import { pythonString, pythonText } from './python-repr.ts';

/**
 * Celery reports this exception for a task that hit its hard time limit or lost its worker. It is only a
 * wrapper: the last line of the traceback names the real exception.
 */
const WRAPPER = 'ExceptionWithTraceback()';

/** The exception of an event; if that is the wrapper, the real exception. */
export function eventException(exception: string, traceback: string | undefined): string {
  return exception === WRAPPER && traceback !== undefined
    ? (lastException(traceback) ?? exception)
    : exception;
}

/**
 * The exception at the end of a traceback, in the form that results have: `WorkerLostError('Worker exited')`
 * for `billiard.exceptions.WorkerLostError: Worker exited`.
 */
export function lastException(traceback: string): string | null {
  const end = traceback.trimEnd();
  const line = end.slice(end.lastIndexOf('\n') + 1);
  const colon = line.indexOf(': ');
  const path = colon < 0 ? line : line.slice(0, colon);
  if (path === '' || path.includes(' ')) return null;
  const type = path.slice(path.lastIndexOf('.') + 1);
  if (colon < 0) return `${type}()`;
  const message = line.slice(colon + 2);
  return message.startsWith(`${type}(`) ? message : `${type}(${pythonString(message)})`;
}

/**
 * Formats the exception of a result, `{"exc_type", "exc_message", "exc_module"}`, like Python's repr:
 * `ValueError('boom')`. Any other value is formatted as it is.
 *
 * @param start where the value of `result` begins
 * @param limit stop soon after this many characters
 */
export function storedException(text: string, start: number, limit: number): string | undefined {
  if (text.startsWith('null', start)) return undefined;
  if (text[start] === '"') return readString(text, start, stringEnd(text, start));
  if (text[start] !== '{') return pythonText(text, start, limit);
  const members = objectMembers(text, start);
  const typeAt = members.get('exc_type');
  if (typeAt === undefined || text[typeAt] !== '"') return pythonText(text, start, limit);
  const type = readString(text, typeAt, stringEnd(text, typeAt));
  const messageAt = members.get('exc_message');
  if (messageAt === undefined) return `${type}()`;
  const message = pythonText(text, messageAt, limit);
  if (text[messageAt] !== '[') return `${type}(${message})`;
  return message.length > limit ? `${type}(${message.slice(1)}` : `${type}(${message.slice(1, -1)})`;
}

/** The argument of a stored exception if it is one word, such as `expired` of a `TaskRevokedError`. */
export function storedReason(text: string, start: number): string | null {
  if (text[start] !== '{') return null;
  const at = objectMembers(text, start).get('exc_message');
  if (at === undefined) return null;
  const match = /^\[?\s*"(\w+)"\s*\]?$/.exec(text.slice(at, valueEnd(text, at)));
  return match?.[1] ?? null;
}

const DEPENDENCY = /^ChordError\(["']Dependency (.{1,512}?) raised /s;
/** Characters of the exception that are examined. */
const LONGEST = 1024;

/** Where Celery joins the results of a header: in Redis, by a task of its own, and in django-celery-results. */
const JOINED =
  /, in on_chord_part_return\n|celery[/\\]app[/\\]builtins\.py", line \d+, in unlock_chord\n|django_celery_results[/\\]backends[/\\]database\.py", line \d+, in trigger_callback\n/;

/**
 * The failed header task, if a stored failure is that of the body of its chord, which then never runs:
 * `ChordError("Dependency <id> raised …")`. A task that waits for the result of a chord raises the same exception, from
 * another place.
 *
 * @returns `null` for any other failure
 */
export function failedHeaderTask({ exception, traceback }: TaskChange): string | null {
  if (exception == null || !exception.startsWith('ChordError(')) return null;
  if (traceback == null || !JOINED.test(traceback)) return null;
  return DEPENDENCY.exec(exception.slice(0, LONGEST))?.[1] ?? null;
}
