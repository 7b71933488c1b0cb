/**
 * The envelope of an event (kombu/transport/virtual/base.py): a JSON object around a body that is base64,
 * except in deployments with the transport option `body_encoding`.
 */
import { parsePythonJson } from '../../protocol/python-json.ts';

/**
 * How kombu writes every event: the body first, JSON in base64. A few searches then replace parsing the
 * envelope, which is larger than most bodies and of which nothing else is needed.
 */
const HEAD = '{"body": "';
const JSON_TYPE = '"content-type": "application/json"';
const BASE64 = '"body_encoding": "base64"';
const COMPRESSED = '"compression"';
const CONTENT_TYPE = '"content-type"';

/**
 * The parsed body of a message: one event (an object) or several (an array).
 *
 * @returns `undefined` when the body has another content type, or cannot be read
 */
export function decodeEnvelope(message: string): unknown {
  if (message.startsWith(HEAD)) {
    const end = message.indexOf('"', HEAD.length);
    if (
      end > 0 &&
      message.indexOf(JSON_TYPE, end) > 0 &&
      message.indexOf(BASE64, end) > 0 &&
      message.indexOf(COMPRESSED, end) < 0
    ) {
      return parse(Buffer.from(message.slice(HEAD.length, end), 'base64').toString('utf8'));
    }
  }
  return decodeAnyEnvelope(message);
}

/** The content type in the envelope, after the body; `null` if there is none. */
export function contentTypeOf(message: string): string | null {
  const at = message.indexOf(CONTENT_TYPE);
  if (at < 0) return null;
  const rest = message.slice(at + CONTENT_TYPE.length, at + CONTENT_TYPE.length + 100);
  return /^\s*:\s*"([^"]*)"/.exec(rest)?.[1] ?? null;
}

function parse(text: string): unknown {
  try {
    return parsePythonJson(text);
  } catch {
    return undefined;
  }
}

/** Every other valid form: members in another order, a plain body, other spaces. */
function decodeAnyEnvelope(message: string): unknown {
  const envelope = parse(message);
  if (typeof envelope !== 'object' || envelope === null) return undefined;
  const { body, headers, properties, 'content-type': type } = envelope as Record<string, unknown>;
  if (type !== 'application/json' || typeof body !== 'string') return undefined;
  if (typeof (headers as { compression?: unknown } | null)?.compression === 'string') return undefined;
  const encoding = (properties as { body_encoding?: unknown } | null)?.body_encoding;
  return parse(encoding === 'base64' ? Buffer.from(body, 'base64').toString('utf8') : body);
}
