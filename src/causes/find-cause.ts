/** Finds the cause of a failure in its texts. */
import { createHash } from 'node:crypto';
import { createLruCache } from '../lru-cache.ts';
import { hasFlag, type Task, type TaskCause } from '../model.ts';
import { findTraceParts, readFrame } from './innermost-frame.ts';
import { normalizeMessage } from './normalize-message.ts';
import { type ErrorText, readError } from './read-error.ts';

/** Longest part of an exception that is examined, in characters. */
const LONGEST = 2_048;
/** Number of digits of an id. */
const ID_LENGTH = 12;
/** Maximum number of cached texts, and maximum length of each. */
const MOST_TEXTS = 1_000;
const LONGEST_REMEMBERED = 512;

/** The texts of a failure. */
export interface FailureTexts {
  readonly exception: string | null;
  readonly traceback: string | null;
  /** Whether the end of the text is missing. */
  readonly isExceptionCut: boolean;
  readonly isTracebackCut: boolean;
}

/** Removes the secrets from a part of a text, as `Redactor.text` does. */
export type RemoveSecrets = (text: string, field: 'exception' | 'traceback', isCut: boolean) => string;

/** Finds causes, and caches them by text. `null`: the texts contain no cause. */
export type FindCause = (texts: FailureTexts) => TaskCause | null;

/**
 * Examines the first 2,048 characters of the exception, and the innermost frame in the traceback.
 *
 * @param removeSecrets is applied first: failures that differ only in a secret have one cause. `null`: no secrets
 */
export function createCauseFinder(removeSecrets: RemoveSecrets | null): FindCause {
  const errors = createLruCache<ErrorText>({ entries: MOST_TEXTS });
  const frames = createLruCache<string | null>({ entries: MOST_TEXTS });
  const causes = createLruCache<TaskCause>({ entries: MOST_TEXTS });

  const clean = (text: string, field: 'exception' | 'traceback', isCut: boolean): string =>
    removeSecrets === null ? text : removeSecrets(text, field, isCut);

  function errorIn(text: string, field: 'exception' | 'traceback', isCut: boolean): ErrorText {
    const isLong = text.length > LONGEST;
    const part = isLong ? text.slice(0, LONGEST) : text;
    const key = `${field === 'exception' ? '=' : '-'}${isCut || isLong ? '1' : '0'}${part}`;
    const known = errors.get(key);
    if (known !== undefined) return known;
    const { exception, message } = readError(clean(part, field, isCut || isLong));
    const error = { exception, message: normalizeMessage(message) };
    if (key.length <= LONGEST_REMEMBERED) errors.set(key, error);
    return error;
  }

  function frameIn(line: string): string | null {
    const known = frames.get(line);
    if (known !== undefined) return known;
    const frame = readFrame(clean(line, 'traceback', false));
    if (line.length <= LONGEST_REMEMBERED) frames.set(line, frame);
    return frame;
  }

  return ({ exception: text, traceback, isExceptionCut, isTracebackCut }) => {
    const trace = traceback === null ? NO_TRACE : findTraceParts(traceback, isTracebackCut);
    const frame = trace.frame === null ? null : frameIn(trace.frame);
    let error = text === null ? NO_ERROR : errorIn(text, 'exception', isExceptionCut);
    if (error.exception === null && trace.error !== null) {
      const named = errorIn(trace.error, 'traceback', false);
      error = text === null ? named : { ...error, exception: named.exception };
    }
    const { exception, message } = error;
    if (exception === null && message === '' && frame === null) return null;
    const key = JSON.stringify([exception, message, frame]);
    const known = causes.get(key);
    if (known !== undefined) return known;
    const id = createHash('sha256').update(key).digest('hex').slice(0, ID_LENGTH);
    const cause = Object.freeze({ id, exception, message: message === '' ? null : message, frame });
    causes.set(key, cause);
    return cause;
  };
}

const NO_TRACE = { frame: null, error: null };
const NO_ERROR: ErrorText = { exception: null, message: '' };

/**
 * The cause of a task: the one from its source, otherwise the one in its texts. `null`: it has not failed, it failed
 * because another task did, or its texts contain no cause.
 *
 * @param textOf converts a value to text; `null`: it has none
 */
export function causeOfTask(
  task: Task,
  find: FindCause,
  textOf: (value: unknown) => string | null = stringOf,
): TaskCause | null {
  if (task.state !== 'FAILURE' || hasFlag(task, 'consequence')) return null;
  if (task.cause !== undefined) return task.cause;
  const { exception, traceback, truncated } = task;
  const isCut = (field: 'exception' | 'traceback'): boolean =>
    Array.isArray(truncated) && truncated.includes(field);
  return find({
    exception: textOf(exception),
    traceback: textOf(traceback),
    isExceptionCut: isCut('exception'),
    isTracebackCut: isCut('traceback'),
  });
}

function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
