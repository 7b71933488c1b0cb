/**
 * Splits a message into fields, arguments and announced tasks: from the headers by protocol 2, from the body by
 * protocol 1.
 */

import { brotliDecompressSync, inflateSync } from 'node:zlib';
import { filledString, isRecord } from '../../../values.ts';
import { objectMembers, parseBounded, skipSpace, valueEnd } from './python-json.ts';
import { pythonText, pythonTupleText } from './python-repr.ts';

/** Longest id that a history accepts, and longest of all other names. */
export const MAX_NAME = 512;
/** Longest text of arguments, in characters. By default, Celery cuts them at 1,024. */
export const MAX_TEXT = 65_536;
/** Most characters outside strings of long signatures: a chain may have thousands, whose members have the same names. */
const MOST_OF_SIGNATURES = 200_000;
/** Longest message in an unusual form to read, in characters. */
const MAX_UNUSUAL = 16 * 1024 * 1024;

/** An object that another process wrote: any field may be missing or of any type. */
type Fields = Readonly<Record<string, unknown>>;

/**
 * Takes the body out of a message before the rest is parsed. kombu writes it first, and it may be large.
 *
 * @throws SyntaxError when the rest is not JSON, or takes too long to read
 * @param head how the text begins
 */
export function splitMessage(raw: string, head: string): { value: unknown; body: string | null } {
  const start = head.length + BODY.length;
  if (raw.startsWith(BODY, head.length) && raw.startsWith(head)) {
    const end = raw.indexOf('"', start);
    const body = raw.slice(start, end);
    if (end > 0 && raw.startsWith(', "', end + 1) && !body.includes('\\')) {
      return { value: parseBounded(head + raw.slice(end + 3)), body };
    }
  }
  if (raw.length > MAX_UNUSUAL) throw new SyntaxError('The message is too long.');
  return { value: parseBounded(raw), body: null };
}

const BODY = '"body": "';

/** @param packed the body as it is in the message */
export function readParts(headers: Fields, packed: string, form: BodyForm): MessageContent {
  return name(headers.id) === null ? readFirst(packed, form) : readSecond(headers, packed, form);
}

/** The content of a message, whatever the protocol. */
export interface MessageContent {
  /** Under the names of the headers of protocol 2. */
  readonly fields: Fields;
  readonly args: string | undefined;
  readonly kwargs: string | undefined;
  /** `callbacks`, `errbacks`, `chain` and `chord`. */
  readonly embed: Fields;
}

const PLAIN: Fields = { callbacks: null, errbacks: null, chain: null, chord: null };

/** Reads protocol 2, whose body is `[args, kwargs, embed]`. */
function readSecond(headers: Fields, packed: string, form: BodyForm): MessageContent {
  const args = filledString(headers.argsrepr) ?? undefined;
  const kwargs = filledString(headers.kwargsrepr) ?? undefined;
  if (args !== undefined && kwargs !== undefined && endsPlainly(packed, form)) {
    return { fields: headers, args, kwargs, embed: PLAIN };
  }
  const body = bodyText(packed, form);
  if (body === null) return { fields: headers, args, kwargs, embed: {} };
  try {
    const [argsAt, kwargsAt, embedAt] = itemsOf(body);
    const embed = embedAt === undefined ? {} : parseAt(body, embedAt);
    return {
      fields: headers,
      args: args ?? (argsAt === undefined ? undefined : pythonTupleText(body, argsAt, MAX_TEXT)),
      kwargs: kwargs ?? (kwargsAt === undefined ? undefined : pythonText(body, kwargsAt, MAX_TEXT)),
      embed: isRecord(embed) ? embed : {},
    };
  } catch {
    return { fields: headers, args, kwargs, embed: {} };
  }
}

/** Reads protocol 1, and messages with even less information. */
function readFirst(packed: string, form: BodyForm): MessageContent {
  const body = bodyText(packed, form);
  // Of a pickle, only the id is known: it is also the `correlation_id`.
  if (body === null) {
    const isOther = typeof form.type === 'string' && form.type !== 'application/json';
    return { fields: isOther || form.compression != null ? {} : { id: null }, ...NOTHING };
  }
  const members = objectMembers(body);
  const fields: Record<string, unknown> = Object.create(null);
  for (const field of FIRST) {
    const at = members.get(field);
    if (at !== undefined) fields[field] = parseAt(body, at);
  }
  if (filledString(fields.task) === null) return { fields: { id: null }, ...NOTHING };
  const args = members.get('args');
  const kwargs = members.get('kwargs');
  return {
    fields: { ...fields, group: fields.taskset ?? fields.group },
    args: args === undefined ? undefined : pythonTupleText(body, args, MAX_TEXT),
    kwargs: kwargs === undefined ? undefined : pythonText(body, kwargs, MAX_TEXT),
    embed: { callbacks: fields.callbacks, errbacks: fields.errbacks, chord: fields.chord },
  };
}

const NOTHING = { args: undefined, kwargs: undefined, embed: {} };
/** The members to read of a body of protocol 1. */
const FIRST = [
  ...['task', 'id', 'group', 'taskset', 'retries', 'eta', 'expires', 'root_id', 'parent_id'],
  ...['callbacks', 'errbacks', 'chord'],
];

/** Where the first three items of a list begin. */
function itemsOf(body: string): number[] {
  const items: number[] = [];
  let at = skipSpace(body, 0);
  if (body[at] !== '[') throw new SyntaxError('The body is no list.');
  at = skipSpace(body, at + 1);
  while (items.length < 3 && body[at] !== ']') {
    items.push(at);
    at = skipSpace(body, valueEnd(body, at));
    if (body[at] === ',') at = skipSpace(body, at + 1);
  }
  return items;
}

function parseAt(body: string, at: number): unknown {
  return parseBounded(body.slice(at, valueEnd(body, at)), MOST_OF_SIGNATURES);
}

/** The string if it can be a name or an id; `null` for anything else. */
export function name(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME ? value : null;
}

/** Longest body to decode, in characters as received and in bytes uncompressed. */
const MAX_LENGTH = 4 * 1024 * 1024;

/** The format of a message's body. */
export interface BodyForm {
  /** `content-type` of the message. */
  readonly type: unknown;
  /** `body_encoding` of its properties: `base64` unless the transport option says otherwise. */
  readonly encoding: unknown;
  /** `compression` of its headers. */
  readonly compression: unknown;
}

/**
 * The body of a task's message as text. Only JSON is read. Unpickling would run code, and for pickle, YAML and
 * other formats the headers have enough.
 *
 * @returns `null` if the body has another content type, is too long or is invalid
 */
function bodyText(body: string, { type, encoding, compression }: BodyForm): string | null {
  if (type !== 'application/json' || body.length > MAX_LENGTH) return null;
  const isPacked = compression !== undefined && compression !== null;
  if (encoding !== 'base64') return isPacked ? null : body;
  const bytes = Buffer.from(body, 'base64');
  if (!isPacked) return bytes.toString('utf8');
  try {
    return unpack(bytes, compression)?.toString('utf8') ?? null;
  } catch {
    return null;
  }
}

function unpack(bytes: Buffer, compression: unknown): Buffer | null {
  const options = { maxOutputLength: MAX_LENGTH };
  // kombu's `gzip` is a zlib stream (kombu/compression.py).
  if (compression === 'application/x-gzip') return inflateSync(bytes, options);
  return compression === 'application/x-brotli' ? brotliDecompressSync(bytes, options) : null;
}

/** The end of a body that announces no other tasks. */
const NOTHING_FOLLOWS = ', {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]';
/** The number of base64 characters that contain it, with padding; a multiple of four. */
const TAIL = 100;

/**
 * Whether the end of a body shows that it announces no other tasks. This is so for most tasks, and saves
 * decoding bodies, which may be large.
 */
function endsPlainly(body: string, { type, encoding, compression }: BodyForm): boolean {
  if (type !== 'application/json' || encoding !== 'base64' || body.length % 4 !== 0) return false;
  if (compression !== undefined && compression !== null) return false;
  return Buffer.from(body.slice(-TAIL), 'base64').toString('latin1').endsWith(NOTHING_FOLLOWS);
}
