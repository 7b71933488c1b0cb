/**
 * The body of a task's message as text. Only JSON is read. Unpickling would run code, and for pickle, YAML and
 * other formats the headers have enough.
 */
import { brotliDecompressSync, inflateSync } from 'node:zlib';

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

/** @returns `null` if the body has another content type, is too long or is invalid */
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
export function endsPlainly(body: string, { type, encoding, compression }: BodyForm): boolean {
  if (type !== 'application/json' || encoding !== 'base64' || body.length % 4 !== 0) return false;
  if (compression !== undefined && compression !== null) return false;
  return Buffer.from(body.slice(-TAIL), 'base64').toString('latin1').endsWith(NOTHING_FOLLOWS);
}
