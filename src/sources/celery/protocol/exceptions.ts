import { objectMembers, readString, stringEnd, valueEnd } from './json-text.ts';
import { pythonString, pythonText } from './python-repr.ts';

/**
 * What Celery sends as the exception of a task that hit its hard time limit or lost its worker: the
 * wrapper's repr, which says nothing. The last line of the traceback names the real one.
 */
const WRAPPER = 'ExceptionWithTraceback()';

/** The exception as an event tells it, the real one where the event names only its wrapper. */
export function eventException(exception: string, traceback: string | undefined): string {
  return exception === WRAPPER && traceback !== undefined
    ? (lastException(traceback) ?? exception)
    : exception;
}

/**
 * The repr of the exception that a traceback ends with: `billiard.exceptions.WorkerLostError: Worker
 * exited` is `WorkerLostError('Worker exited')`, as the result backend has it.
 */
function lastException(traceback: string): string | null {
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
 * The exception that the result backend stores as `{"exc_type", "exc_message", "exc_module"}`, as
 * Python's repr shows it: `ValueError('boom')`. Anything else is shown as it is.
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

/** The only argument of a stored exception, such as the `expired` of a `TaskRevokedError`. */
export function storedReason(text: string, start: number): string | null {
  if (text[start] !== '{') return null;
  const at = objectMembers(text, start).get('exc_message');
  if (at === undefined) return null;
  const match = /^\[?\s*"(\w+)"\s*\]?$/.exec(text.slice(at, valueEnd(text, at)));
  return match?.[1] ?? null;
}
