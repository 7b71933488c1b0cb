import { recordOf } from '../../../values.ts';
import type { ReplyMessage } from '../broker.ts';
import { parsePythonJson } from '../protocol/python-json.ts';
import { isNodeName } from './encoder.ts';

/** One worker's answer (kombu/pidbox.py, `Mailbox._publish_reply`). */
export interface ControlReply {
  /** `null` when the body names no worker that is known. */
  readonly worker: string | null;
  /** What the worker answered; `null` for an error, and for a body that cannot be read. */
  readonly value: unknown;
  /** The worker could not do what was asked. */
  readonly isError: boolean;
  /** The body has another encoding than JSON: it only proves that the worker is alive. */
  readonly isUnreadable: boolean;
}

/**
 * Decodes a reply. Only JSON is decoded: a pickle may run any code.
 *
 * @param known names of workers that may have sent the reply
 * @returns `null` for a body that is no reply
 */
export function decodeReply(
  { contentType, isCompressed, body }: ReplyMessage,
  known: () => readonly string[],
): ControlReply | null {
  if (contentType !== 'application/json' || isCompressed) {
    return { worker: knownNameIn(body, known()), value: null, isError: false, isUnreadable: true };
  }
  const table = tableIn(body.toString('utf8'));
  const worker = table === null ? undefined : Object.keys(table)[0];
  if (table === null || worker === undefined || !isNodeName(worker)) return null;
  const value = table[worker];
  const isError = isErrorReply(value);
  return { worker, value: isError ? null : (value ?? null), isError, isUnreadable: false };
}

/** Every encoding has the worker's name in its body. One name may be the beginning of another: the longer one is meant. */
function knownNameIn(body: Buffer, known: readonly string[]): string | null {
  const found = known.filter((name) => name !== '' && body.includes(name));
  return found.sort((a, b) => b.length - a.length)[0] ?? null;
}

/** `{"error": "KeyError('nosuch')"}`. The text of a worker's exception is not passed on. */
function isErrorReply(value: unknown): boolean {
  const reply = recordOf(value);
  return reply !== null && Object.keys(reply).length === 1 && typeof reply.error === 'string';
}

function tableIn(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return recordOf(parsePythonJson(text));
  } catch {
    return null;
  }
}
