/** Any value as text, of bounded size: what queues hold may be huge, circular or hostile. */

/**
 * Longest id, name or hostname, in characters. They are never cut, and no engine writes one like it: a longer
 * one is a mistake or an attack, and is taken for none.
 */
export const LONGEST_LABEL = 65_536;

const MAX_DEPTH = 8;

// Longer numbers take ever longer to write: a million digits, a second.
const MOST_BITS = 4_096;

/** What is left to write, and which members not to. */
interface Writing {
  left: number;
  readonly above: Set<object>;
  readonly isSecretKey: (key: string) => boolean;
}

/**
 * A text as it is, anything else as JSON: `BigInt` as a string, `NaN` and infinities as `null`, dates in
 * ISO 8601, bytes as `<bytes n>`, maps as entries, sets as arrays, errors as `name: message`, others by
 * `toJSON` where they have it. What cannot be shown reads `[Circular]`, `[Depth]` (below 8 levels) or
 * `[Unreadable]`. What JSON shows as a string stands without quotes when it is the whole value.
 *
 * @param maxLength stop once this many characters are made; the text may be a little longer
 * @param isSecretKey whether the value of a member, of a map's entry or of a pair in an array reads `***`.
 *   Default: none does
 */
export function textOf(
  value: unknown,
  maxLength = 65_536,
  isSecretKey: (key: string) => boolean = () => false,
): string {
  if (typeof value === 'string') return value;
  const json = write(value, 0, { left: maxLength, above: new Set(), isSecretKey }) ?? 'null';
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

/** @returns the JSON of a value; `undefined` for what JSON leaves out */
function write(value: unknown, depth: number, writing: Writing): string | undefined {
  switch (typeof value) {
    case 'string': {
      const most = Math.max(0, writing.left) + 1;
      return spend(JSON.stringify(value.length > most ? value.slice(0, most) : value), writing);
    }
    case 'number':
      return spend(Number.isFinite(value) ? String(value + 0) : 'null', writing);
    case 'bigint':
      return spend(BigInt.asIntN(MOST_BITS, value) === value ? `"${value}"` : '"<bigint>"', writing);
    case 'boolean':
      return spend(String(value), writing);
    case 'object':
      return value === null ? spend('null', writing) : writeObject(value, depth, writing);
    default:
      return undefined;
  }
}

function spend(text: string, writing: Writing): string {
  writing.left -= text.length;
  return text;
}

function writeObject(value: object, depth: number, writing: Writing): string {
  if (writing.above.has(value)) return spend('"[Circular]"', writing);
  if (depth >= MAX_DEPTH) return spend('"[Depth]"', writing);
  writing.above.add(value);
  try {
    return describe(value, depth, writing);
  } catch {
    // A throwing getter or Proxy trap.
    return spend('"[Unreadable]"', writing);
  } finally {
    writing.above.delete(value);
  }
}

function describe(value: object, depth: number, writing: Writing): string {
  if (value instanceof Date) {
    return spend(Number.isNaN(value.getTime()) ? 'null' : `"${value.toISOString()}"`, writing);
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return spend(`"<bytes ${value.byteLength}>"`, writing);
  }
  if (value instanceof Error) return write(`${value.name}: ${value.message}`, depth, writing) ?? 'null';
  if (Array.isArray(value)) return list(withoutSecret(value, writing), depth, writing);
  if (value instanceof Map || value instanceof Set) return list(value, depth, writing);
  // Classes say so what they are (a URL, a decimal), or what they do not show.
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') return write(toJSON.call(value), depth + 1, writing) ?? 'null';
  return members(value, depth, writing);
}

function members(value: object, depth: number, writing: Writing): string {
  const parts: string[] = [];
  for (const key of Object.keys(value)) {
    if (writing.left <= 0) break;
    const member: unknown = writing.isSecretKey(key) ? '***' : memberOf(value, key);
    const name = JSON.stringify(key);
    const text = write(member, depth + 1, writing);
    if (text !== undefined) parts.push(`${spend(name, writing)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

/** One member that throws does not hide the others. */
function memberOf(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return '[Unreadable]';
  }
}

/** A name and its value, as entries of maps and headers are. */
function withoutSecret(items: readonly unknown[], { isSecretKey }: Writing): readonly unknown[] {
  if (items.length !== 2) return items;
  const [key] = items;
  return typeof key === 'string' && isSecretKey(key) ? [key, '***'] : items;
}

function list(items: Iterable<unknown>, depth: number, writing: Writing): string {
  const parts: string[] = [];
  for (const item of items) {
    if (writing.left <= 0) break;
    parts.push(write(item, depth + 1, writing) ?? 'null');
    writing.left--;
  }
  return `[${parts.join(',')}]`;
}
