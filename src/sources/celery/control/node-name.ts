/**
 * The name of a worker in a reply that is not JSON. Such a reply is never decoded: a pickle may run any
 * code. But every reply is a table of one entry whose key is the worker's name, and each encoding has
 * that key at a fixed position.
 */
import { isNodeName } from './encoder.ts';

/** Longest name that is read. */
const MAX_LENGTH = 255;

/**
 * @param type content type of the body, as kombu writes it (kombu/serialization.py)
 * @param known names of workers that may have sent it, for any other encoding
 * @returns `null` when the name cannot be found
 */
export function nodeNameOf(type: string, body: Buffer, known: () => readonly string[]): string | null {
  const name = firstKey(type, body);
  if (name !== null && isNodeName(name)) return name;
  // One name may be the beginning of another: the longer one is meant.
  const found = known().filter((candidate) => candidate !== '' && body.includes(candidate));
  return found.sort((a, b) => b.length - a.length)[0] ?? null;
}

function firstKey(type: string, body: Buffer): string | null {
  switch (type) {
    case 'application/x-python-serialize':
      return pickledKey(body);
    case 'application/x-msgpack':
      return packedKey(body);
    case 'application/x-yaml':
      return yamlKey(body);
    default:
      return null;
  }
}

/** Opcodes of Python's `pickletools`: header, frame, an empty dict, memo, then the key. */
function pickledKey(body: Buffer): string | null {
  let at = 0;
  while (at < body.length) {
    switch (body[at]) {
      case 0x80: // PROTO
      case 0x71: // BINPUT
        at += 2;
        break;
      case 0x95: // FRAME
        at += 9;
        break;
      case 0x7d: // EMPTY_DICT
      case 0x94: // MEMOIZE
      case 0x28: // MARK
        at += 1;
        break;
      case 0x8c: // SHORT_BINUNICODE
        return at + 2 > body.length ? null : textAt(body, at + 2, body.readUInt8(at + 1));
      case 0x58: // BINUNICODE
        return at + 5 > body.length ? null : textAt(body, at + 5, body.readUInt32LE(at + 1));
      default:
        return null;
    }
  }
  return null;
}

/** https://github.com/msgpack/msgpack/blob/master/spec.md: a map of one entry, then a string. */
function packedKey(body: Buffer): string | null {
  if (body[0] !== 0x81 || body.length < 3) return null;
  const kind = body.readUInt8(1);
  if (kind >= 0xa0 && kind <= 0xbf) return textAt(body, 2, kind - 0xa0);
  return kind === 0xd9 ? textAt(body, 3, body.readUInt8(2)) : null;
}

/** `w1@host:`, with quotes around what YAML would read as something else, or long, behind a question mark. */
function yamlKey(body: Buffer): string | null {
  const start = body.toString('utf8', 0, 2 * MAX_LENGTH);
  const match =
    /^(?:\? |\{)?(?:'([^'\n]+)'|"([^"\\\n]+)"|([^\s'"{}[\],#&*!|>%@`][^\s]*?))(?:\n?:)(?:\s|$)/.exec(start);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? null;
}

function textAt(body: Buffer, start: number, length: number): string | null {
  return length > 4 * MAX_LENGTH || start + length > body.length
    ? null
    : body.toString('utf8', start, start + length);
}
