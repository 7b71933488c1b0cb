/**
 * Converts JSON text to the Python repr of the value. Events carry reprs, so values from the result backend
 * look the same.
 */

import type { TaskChange } from '../../../history/history.ts';
import { objectMembers, readString, skipSpace, stringEnd, valueEnd } from './python-json.ts';

/** What Python's repr escapes in a string besides quotes and backslashes: everything that is not printable. */
const NOT_PLAIN = /['\\]|(?! )[\p{C}\p{Z}]/u;
const NOT_PRINTABLE = /\\|(?! )[\p{C}\p{Z}]/gu;

/** A string as Python's `repr` writes it: single quotes, double ones when that saves escapes. */
function pythonString(value: string): string {
  if (!NOT_PLAIN.test(value)) return `'${value}'`;
  const escaped = value.replace(NOT_PRINTABLE, escapeCharacter);
  if (!value.includes("'")) return `'${escaped}'`;
  return value.includes('"') ? `'${escaped.replaceAll("'", "\\'")}'` : `"${escaped}"`;
}

function escapeCharacter(char: string): string {
  if (char === '\\') return '\\\\';
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  if (char === '\t') return '\\t';
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/** Python's words for those of JSON. All other words are numbers, which stay as they are. */
const WORDS: Readonly<Record<string, string>> = {
  true: 'True',
  false: 'False',
  null: 'None',
  NaN: 'nan',
  Infinity: 'inf',
  '-Infinity': '-inf',
};

/**
 * The Python repr of the JSON value that begins at `start`. Numbers keep their digits, so big integers and
 * `1.0` are exact. kombu's typed values (`{"__type__": "datetime", …}`) are written as Python would write them.
 *
 * @param limit stop soon after this many characters; the result is then longer than `limit`
 * @throws SyntaxError when the value does not end
 */
export function pythonText(text: string, start: number, limit = Number.POSITIVE_INFINITY): string {
  const end = valueEnd(text, start);
  let out = '';
  let at = start;
  while (at < end && out.length <= limit) {
    const char = text.charAt(at);
    if (char === '"') {
      const stop = stringEnd(text, at);
      // Do not convert a string of many megabytes to show its beginning.
      const value = readString(text, at, stop);
      out += pythonString(value.length > limit ? value.slice(0, limit + 1) : value);
      at = stop;
    } else if (char === '{' && text.startsWith('{"__type__"', at)) {
      const stop = valueEnd(text, at);
      const typed = typedValueRepr(text, objectMembers(text, at));
      out += typed ?? char;
      at = typed === null ? at + 1 : stop;
    } else if (char === ',' || char === ':') {
      out += `${char} `;
      at += 1;
    } else if ('{}[]'.includes(char)) {
      out += char;
      at += 1;
    } else if (char === ' ' || char === '\n' || char === '\r' || char === '\t') {
      at += 1;
    } else {
      const stop = Math.max(valueEnd(text, at), at + 1);
      const word = text.slice(at, stop);
      out += Object.hasOwn(WORDS, word) ? WORDS[word] : word;
      at = stop;
    }
  }
  return out;
}

/** Like {@link pythonText}, for a list that is a tuple in Python, such as positional arguments. */
export function pythonTupleText(text: string, start: number, limit = Number.POSITIVE_INFINITY): string {
  const list = pythonText(text, start, limit);
  if (!list.startsWith('[')) return list;
  if (list.length > limit) return `(${list.slice(1)}`;
  return `(${list.slice(1, -1)}${hasOneItem(text, start) ? ',' : ''})`;
}

function hasOneItem(text: string, start: number): boolean {
  const first = skipSpace(text, start + 1);
  return text[first] !== ']' && text[skipSpace(text, valueEnd(text, first))] === ']';
}

/**
 * The Python repr of such an object.
 *
 * @param members where the values of its members begin
 * @returns `null` for other types: the object is then shown as it is
 */
function typedValueRepr(text: string, members: ReadonlyMap<string, number>): string | null {
  const type = stringAt(text, members.get('__type__'));
  const start = members.get('__value__');
  if (type === null || start === undefined || members.size !== 2) return null;
  if (type === 'uuid') return uuidRepr(text.slice(start, valueEnd(text, start)));
  const value = stringAt(text, start);
  if (value === null) return null;
  if (type === 'decimal') return DECIMAL.test(value) ? `Decimal('${value}')` : null;
  if (type === 'datetime' || type === 'date' || type === 'time') return momentRepr(type, value);
  if (type === 'bytes') return bytesRepr(Buffer.from(value, 'utf8'));
  return type === 'base64' ? bytesRepr(Buffer.from(value, 'base64')) : null;
}

/** A decimal, `NaN` and `Infinity` included. */
const DECIMAL = /^[\w.+-]+$/;

function stringAt(text: string, start: number | undefined): string | null {
  return start !== undefined && text[start] === '"' ? readString(text, start, stringEnd(text, start)) : null;
}

function uuidRepr(text: string): string | null {
  const hex = /"hex"\s*:\s*"([0-9a-f]{32})"/.exec(text)?.[1];
  const dashed = hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return dashed === undefined ? null : `UUID('${dashed}')`;
}

function bytesRepr(bytes: Buffer): string {
  let out = '';
  for (const byte of bytes) {
    if (byte === 0x5c || byte === 0x27) out += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) out += String.fromCharCode(byte);
    else out += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `b'${out}'`;
}

/** `datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)`: Python leaves out zero seconds. */
function momentRepr(type: 'datetime' | 'date' | 'time', value: string): string | null {
  const match = MOMENT.exec(value);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const numbers: number[] = type === 'time' ? [] : [Number(year), Number(month), Number(day)];
  if (type !== 'date') {
    numbers.push(Number(hour ?? 0), Number(minute ?? 0));
    const micros = Number((fraction ?? '').padEnd(6, '0'));
    if (Number(second ?? 0) > 0 || micros > 0) numbers.push(Number(second ?? 0));
    if (micros > 0) numbers.push(micros);
  }
  if (numbers.some(Number.isNaN)) return null;
  const tz = zoneRepr(zone);
  return tz === null ? null : `datetime.${type}(${numbers.join(', ')}${tz})`;
}

const MOMENT =
  /^(?:(\d{4})-(\d\d)-(\d\d))?(?:T|$|^)(?:(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?)?$/;

function zoneRepr(zone: string | undefined): string | null {
  if (zone === undefined) return '';
  if (zone === 'Z' || zone === '+00:00') return ', tzinfo=datetime.timezone.utc';
  const seconds = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))) * 60;
  const delta = zone[0] === '-' ? `days=-1, seconds=${86_400 - seconds}` : `seconds=${seconds}`;
  return `, tzinfo=datetime.timezone(datetime.timedelta(${delta}))`;
}

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
