/** Finds the cause of a failure in its texts. */
import { createHash } from 'node:crypto';
import { createLruCache } from '../lru-cache.ts';
import { hasFlag, type Task, type TaskCause } from '../model.ts';
import { type ErrorText, normalizeMessage, readError } from './error-text.ts';

/** Longest part of an exception that is examined, in characters. */
const LONGEST = 2_048;
/** Number of digits of an id. */
const ID_LENGTH = 12;
/** Maximum number of cached texts, and maximum length of each. */
const MOST_TEXTS = 1_000;
const LONGEST_REMEMBERED = 512;

/** The texts of a failure. */
interface FailureTexts {
  readonly exception: string | null;
  readonly traceback: string | null;
  /** Whether the end of the text is missing. */
  readonly isExceptionCut: boolean;
  readonly isTracebackCut: boolean;
}

/** Removes the secrets from a part of a text, as `Redactor.text` does. */
type RemoveSecrets = (text: string, field: 'exception' | 'traceback', isCut: boolean) => string;

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
    const text = clean(line, 'traceback', false);
    const frame = readPythonFrame(text) ?? readScriptFrame(text);
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

/** Longest part of a traceback that is examined, in characters. */
const LONGEST_FRAME = 4_096;
/** Number of lines that are examined after the first one that may be a frame. */
const MOST_LINES = 16;
/** Longest name of a file or a function that is shown, in characters. */
const LONGEST_NAME = 80;

/** The parts of a traceback that show where the error was raised. */
interface TracePart {
  /** The line of the innermost frame; `null`: none was found. */
  readonly frame: string | null;
  /** The line with the class of the error; `null`: none was found. */
  readonly error: string | null;
}

const PYTHON_TRACEBACK = 'Traceback (most recent call last):';
const PYTHON_FRAME = 'File "';
/** What Python writes before the lines of an exception group. */
const INDENT = /^[\s|+]*$/;
const JS_FRAME = /^\s*at \S/;

/**
 * Finds the lines at the end of a Python traceback, or at the start of a JavaScript stack.
 *
 * @param isCut whether the end is missing: then the innermost frame of a Python traceback is missing, too
 */
function findTraceParts(traceback: string, isCut: boolean): TracePart {
  if (!traceback.startsWith(PYTHON_TRACEBACK)) {
    const script = scriptParts(traceback.slice(0, LONGEST_FRAME));
    if (script.frame !== null) return script;
  }
  if (isCut) return { frame: null, error: null };
  const tail = traceback.slice(-LONGEST_FRAME).trimEnd();
  return { frame: pythonFrame(tail), error: tail === '' ? null : lineAt(tail, tail.lastIndexOf('\n') + 1) };
}

function pythonFrame(tail: string): string | null {
  let at = tail.lastIndexOf(PYTHON_FRAME);
  for (let count = 0; at >= 0 && count < MOST_LINES; count++) {
    const start = tail.lastIndexOf('\n', at) + 1;
    const line = lineAt(tail, start);
    if (INDENT.test(tail.slice(start, at)) && readPythonFrame(line) !== null) return line;
    at = at === 0 ? -1 : tail.lastIndexOf(PYTHON_FRAME, at - 1);
  }
  return null;
}

/** Frames of Node itself are skipped, unless there are no others. */
function scriptParts(head: string): TracePart {
  const lines = head.split('\n');
  const first = lines.findIndex((line) => JS_FRAME.test(line));
  if (first < 0) return { frame: null, error: null };
  const frames = lines.slice(first, first + MOST_LINES).filter((line) => readScriptFrame(line) !== null);
  const own = frames.find((line) => !line.includes('node:'));
  return { frame: own ?? frames[0] ?? null, error: first === 0 ? null : (lines[0] ?? null) };
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start);
  return text.slice(start, end < 0 ? undefined : end);
}

/** @param line of a frame @returns such as `charge.py in capture`; `null`: it is not a frame */
function readPythonFrame(line: string): string | null {
  const start = line.indexOf(PYTHON_FRAME);
  const end = line.indexOf('"', start + PYTHON_FRAME.length);
  if (start < 0 || end < 0) return null;
  const rest = /^, line \d+, in (\S.*)$/.exec(line.slice(end + 1).trimEnd());
  if (rest === null) return null;
  return frameText(line.slice(start + PYTHON_FRAME.length, end), rest[1] as string);
}

function readScriptFrame(line: string): string | null {
  if (!JS_FRAME.test(line)) return null;
  const text = line
    .trim()
    .slice(3)
    .replace(/^async /, '');
  const open = text.endsWith(')') ? text.lastIndexOf(' (') : -1;
  const place = /^(.*?):\d+(?::\d+)?$/.exec(open < 0 ? text : text.slice(open + 2, -1));
  if (place === null) return null;
  return frameText(place[1] as string, open < 0 ? null : text.slice(0, open));
}

function frameText(path: string, name: string | null): string {
  const file = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).slice(0, LONGEST_NAME);
  return name === null ? file : `${file} in ${name.slice(0, LONGEST_NAME)}`;
}
