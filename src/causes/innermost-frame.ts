/** Finds where an error was raised: the innermost frame of a Python traceback or of a JavaScript stack. */

/** Longest part of a traceback that is examined, in characters. */
const LONGEST = 4_096;
/** Number of lines that are examined after the first one that may be a frame. */
const MOST_LINES = 16;
/** Longest name of a file or a function that is shown, in characters. */
const LONGEST_NAME = 80;

/** The parts of a traceback that show where the error was raised. */
export interface TracePart {
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
export function findTraceParts(traceback: string, isCut: boolean): TracePart {
  if (!traceback.startsWith(PYTHON_TRACEBACK)) {
    const script = scriptParts(traceback.slice(0, LONGEST));
    if (script.frame !== null) return script;
  }
  if (isCut) return { frame: null, error: null };
  const tail = traceback.slice(-LONGEST).trimEnd();
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
export function readFrame(line: string): string | null {
  return readPythonFrame(line) ?? readScriptFrame(line);
}

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
