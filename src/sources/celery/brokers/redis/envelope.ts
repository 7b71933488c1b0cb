/**
 * The envelope of an event (kombu/transport/virtual/base.py): a JSON object around a body that is base64,
 * except in deployments with the transport option `body_encoding`.
 */
import type { Steps } from '../../../../scheduler.ts';
import { LONGEST_BODY, parseBody, parseInSteps } from '../../protocol/event-body.ts';
import { parseBounded } from '../../protocol/python-json.ts';

/**
 * How kombu writes every event: the body first, JSON in base64. A few searches then replace parsing the
 * envelope, which is larger than most bodies and of which nothing else is needed.
 */
const HEAD = '{"body": "';
// Without the quote in front: the envelope is full of quotes, and V8 tries a match at each of them.
const JSON_TYPE = 'content-type": "application/json"';
const BASE64 = 'body_encoding": "base64"';
const COMPRESSED = 'compression"';
const CONTENT_TYPE = '"content-type"';

/** Characters of base64, a multiple of four, that are decoded between two pauses. */
const DECODED_AT_ONCE = 256 * 1024;

/** Longest message, and longest body in base64, in characters. */
const LONGEST_MESSAGE = 16 * 1024 * 1024;
const LONGEST_ENCODED = Math.ceil((LONGEST_BODY * 4) / 3);

/** Bytes of the body that is decoded now. Reused: a buffer for each message takes longer than decoding it. */
const decoded = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * The parsed body of a message: one event (an object) or several (an array).
 *
 * @returns `undefined` when the body has another content type, or cannot be read
 */
export function decodeEnvelope(message: string): unknown {
  const body = encodedBody(message);
  const text = body === null ? bodyOfAnyEnvelope(message) : decodeBase64(body);
  return text === null ? undefined : parseBody(text);
}

function decodeBase64(text: string): string {
  if (text.length > decoded.length) return Buffer.from(text, 'base64').toString('utf8');
  return decoded.toString('utf8', 0, decoded.write(text, 'base64'));
}

/** The body in base64, if the envelope has the usual form. */
function encodedBody(message: string): string | null {
  if (!message.startsWith(HEAD)) return null;
  const end = message.indexOf('"', HEAD.length);
  const isUsual =
    end > 0 &&
    message.indexOf(JSON_TYPE, end) > 0 &&
    message.indexOf(BASE64, end) > 0 &&
    message.indexOf(COMPRESSED, end) < 0;
  return isUsual ? message.slice(HEAD.length, end) : null;
}

/**
 * Decodes a long message in steps: an array of events a few at a time, and everything else as a whole.
 *
 * @param take receives what {@link decodeEnvelope} would return, or one part of the array after the other
 */
export function* decodeInSteps(message: string, take: (body: unknown) => void): Steps<void> {
  if (message.length > LONGEST_MESSAGE) return take(undefined);
  const encoded = encodedBody(message);
  if (encoded !== null && encoded.length > LONGEST_ENCODED) return take(undefined);
  const text = encoded === null ? bodyOfAnyEnvelope(message) : yield* decodedInSteps(encoded);
  yield;
  if (text === null || text.length > LONGEST_BODY) return take(undefined);
  yield* parseInSteps(text, take);
}

function* decodedInSteps(encoded: string): Steps<string> {
  const bytes = Buffer.allocUnsafe(Math.ceil((encoded.length * 3) / 4));
  let length = 0;
  for (let at = 0; at < encoded.length; at += DECODED_AT_ONCE) {
    length += bytes.write(encoded.slice(at, at + DECODED_AT_ONCE), length, 'base64');
    yield;
  }
  return bytes.toString('utf8', 0, length);
}

/** The content type in the envelope, after the body; `null` if there is none. */
export function contentTypeOf(message: string): string | null {
  const at = message.indexOf(CONTENT_TYPE);
  if (at < 0) return null;
  const rest = message.slice(at + CONTENT_TYPE.length, at + CONTENT_TYPE.length + 100);
  return /^\s*:\s*"([^"]*)"/.exec(rest)?.[1] ?? null;
}

/** The body of every other valid form: members in another order, a plain body, other spaces. */
function bodyOfAnyEnvelope(message: string): string | null {
  const envelope = parseEnvelope(message);
  if (typeof envelope !== 'object' || envelope === null) return null;
  const { body, headers, properties, 'content-type': type } = envelope as Record<string, unknown>;
  if (type !== 'application/json' || typeof body !== 'string') return null;
  if (typeof (headers as { compression?: unknown } | null)?.compression === 'string') return null;
  const encoding = (properties as { body_encoding?: unknown } | null)?.body_encoding;
  if (encoding !== 'base64') return body;
  return body.length > LONGEST_ENCODED ? null : decodeBase64(body);
}

function parseEnvelope(message: string): unknown {
  try {
    return parseBounded(message);
  } catch {
    return null;
  }
}
