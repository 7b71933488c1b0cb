/**
 * The message that kombu's Redis transport publishes (kombu/transport/virtual/base.py): a JSON object
 * around a body that is base64 for all but deployments with the transport option `body_encoding`.
 */
import { parsePythonJson } from './python-json.ts';

/**
 * How kombu writes every event: the body first, JSON in base64. Two searches then replace parsing the
 * envelope, which is larger than most bodies and of which nothing else is needed.
 */
const HEAD = '{"body": "';
const JSON_TYPE = '"content-type": "application/json"';
const BASE64 = '"body_encoding": "base64"';
const COMPRESSED = '"compression"';

/**
 * The decoded body of a message: one event (an object) or several (an array).
 *
 * @returns `undefined` when the body is of another content type, or not readable
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
      return parseBody(Buffer.from(message.slice(HEAD.length, end), 'base64').toString('utf8'));
    }
  }
  return decodeAnyEnvelope(message);
}

function parseBody(text: string): unknown {
  try {
    return parsePythonJson(text);
  } catch {
    return undefined;
  }
}

/** Any other form that is valid: members in another order, a plain body, other spaces. */
function decodeAnyEnvelope(message: string): unknown {
  const envelope = parseBody(message);
  if (typeof envelope !== 'object' || envelope === null) return undefined;
  const { body, headers, properties, 'content-type': type } = envelope as Record<string, unknown>;
  if (type !== 'application/json' || typeof body !== 'string') return undefined;
  if (typeof (headers as { compression?: unknown } | null)?.compression === 'string') return undefined;
  const encoding = (properties as { body_encoding?: unknown } | null)?.body_encoding;
  return parseBody(encoding === 'base64' ? Buffer.from(body, 'base64').toString('utf8') : body);
}
