/**
 * The body of a task's message as text. Only JSON is read: a pickle is a program, and for it, YAML and
 * the rest the headers say enough.
 */
import { brotliDecompressSync, inflateSync } from 'node:zlib';

/** Longer bodies are not decoded, in characters as they come and in bytes unpacked. */
const MAX_LENGTH = 8 * 1024 * 1024;

/** What a message says of its body. */
export interface BodyForm {
  /** `content-type` of the message. */
  readonly type: unknown;
  /** `body_encoding` of its properties: `base64` unless the transport option says otherwise. */
  readonly encoding: unknown;
  /** `compression` of its headers. */
  readonly compression: unknown;
}

/** @returns `null` when the body is of another content type, too long, or not readable */
export function bodyText(body: string, { type, encoding, compression }: BodyForm): string | null {
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
  // What kombu calls gzip is a zlib stream (kombu/compression.py).
  if (compression === 'application/x-gzip') return inflateSync(bytes, options);
  return compression === 'application/x-brotli' ? brotliDecompressSync(bytes, options) : null;
}

/** How Celery ends the body of a task that nothing follows. */
const NOTHING_FOLLOWS = ', {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]';
/** Characters of base64 that hold this, padding included; a multiple of four. */
const TAIL = 100;

/**
 * Whether the end of a body shows already that nothing follows the task. Most tasks are so, and their
 * bodies, which may be large, need not be decoded.
 */
export function endsPlainly(body: string, { type, encoding, compression }: BodyForm): boolean {
  if (type !== 'application/json' || encoding !== 'base64' || body.length % 4 !== 0) return false;
  if (compression !== undefined && compression !== null) return false;
  return Buffer.from(body.slice(-TAIL), 'base64').toString('latin1').endsWith(NOTHING_FOLLOWS);
}
