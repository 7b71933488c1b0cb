/** What comes back from one worker (kombu/pidbox.py, `Mailbox._publish_reply`). */
import { parsePythonJson } from '../protocol/python-json.ts';
import { isNodeName } from './encoder.ts';
import { nodeNameOf } from './node-name.ts';

/** A reply as far as it can be read. */
export interface ControlReply {
  /** Says which message it answers. */
  readonly ticket: string;
  /** `null` when the body does not tell. */
  readonly worker: string | null;
  /** What the worker answered; `null` for an error, and for what cannot be read. */
  readonly value: unknown;
  /** The worker could not do what was asked. */
  readonly isError: boolean;
  /** The body is of another encoding than JSON: whoever sent it is alive, and that is all. */
  readonly isUnreadable: boolean;
}

/**
 * @param known names of workers that may have sent it
 * @returns `null` for what is no reply
 */
export function decodeReply(message: string, known: () => readonly string[]): ControlReply | null {
  const envelope = objectOf(parse(message));
  const headers = objectOf(envelope?.headers);
  const ticket = headers?.ticket;
  if (envelope === null || headers === null || typeof ticket !== 'string') return null;
  const { body, 'content-type': type } = envelope;
  if (typeof body !== 'string') return null;
  const encoding = objectOf(envelope.properties)?.body_encoding;
  const bytes = Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');
  if (type !== 'application/json' || typeof headers.compression === 'string') {
    const worker = nodeNameOf(typeof type === 'string' ? type : '', bytes, known);
    return { ticket, worker, value: null, isError: false, isUnreadable: true };
  }
  const table = objectOf(parse(bytes.toString('utf8')));
  if (table === null) return null;
  const worker = Object.keys(table)[0];
  if (worker === undefined || !isNodeName(worker)) return null;
  const value = table[worker];
  const isError = isErrorReply(value);
  return { ticket, worker, value: isError ? null : (value ?? null), isError, isUnreadable: false };
}

/** `{"error": "KeyError('nosuch')"}`. What a worker's exception says is not passed on. */
function isErrorReply(value: unknown): boolean {
  const reply = objectOf(value);
  return reply !== null && Object.keys(reply).length === 1 && typeof reply.error === 'string';
}

function parse(text: string): unknown {
  try {
    return parsePythonJson(text);
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
