/** Writes any value as text of bounded size. Values in queues may be huge, circular or hostile. */

/**
 * Maximum length of an id, name or hostname, in characters. These are never truncated, and no engine writes
 * longer ones: a longer one is a mistake or an attack and counts as missing.
 */
export const LONGEST_LABEL = 65_536;

const MAX_DEPTH = 8;

// The time to format a number grows faster than its length: a number with a million digits takes a second.
const MOST_BITS = 4_096;

/** Remaining length, and the members to mask. */
interface Writing {
  left: number;
  readonly above: Set<object>;
  readonly isSecretKey: (key: string) => boolean;
}

/**
 * Writes a string unchanged and anything else as JSON: `BigInt` as a string, `NaN` and infinities as `null`,
 * dates in ISO 8601, bytes as `<bytes n>`, maps as entries, sets as arrays, errors as `name: message`, other
 * objects by their `toJSON`. Values that cannot be written become `[Circular]`, `[Depth]` (below 8 levels) or
 * `[Unreadable]`. A value that JSON writes as a string has no quotes at the top level.
 *
 * @param maxLength stop after this many characters; the text may be a little longer
 * @param isSecretKey whether to write `***` as the value of a member, of a map entry or of a pair in an
 *   array. Default: never
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

/** @returns the JSON of a value; `undefined` for values that JSON leaves out */
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
    // A getter or a Proxy trap threw.
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
  // `toJSON` returns what an object represents (a URL, a decimal), without what it hides.
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

/** Reads a member. If its getter throws, the other members are still shown. */
function memberOf(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return '[Unreadable]';
  }
}

/** Masks the value of a name-value pair, the form of map entries and headers. */
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

const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** Formats an interval in the largest unit that divides it: `every 30 s`, `every 5 min`, `every 1.5 s`. */
export function everyText(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, 's'];
  return `every ${seconds / size} ${name}`;
}

/**
 * Whether a value is an http(s) URL, or one without a scheme, which browsers read against the page's address. Any other
 * scheme could run a script, an address that begins with `//` is another host's, and everybody who sees a link would see
 * the password in it.
 */
export function isWebLink(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_URL) return false;
  if (/\s|\p{Cc}|\\/u.test(value)) return false;
  const isLocal = !/^[a-z][a-z0-9+.-]*:/i.test(value) && !value.startsWith('//');
  const isWeb = /^https?:\/\//i.test(value);
  if (!(isLocal || isWeb) || !URL.canParse(value, 'http://localhost/')) return false;
  const { username, password } = new URL(value, 'http://localhost/');
  return username === '' && password === '';
}

const LONGEST_URL = 2_048;
