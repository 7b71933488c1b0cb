/** Any value as text, of bounded size: what queues hold may be huge, circular or hostile. */

const MAX_DEPTH = 8;

/**
 * A text as it is, anything else as JSON: `BigInt` as a string, `NaN` and infinities as `null`, dates in
 * ISO 8601, bytes as `<bytes n>`, maps as entries, sets as arrays, errors as `name: message`. What cannot
 * be shown reads `[Circular]`, `[Depth]` (below 8 levels) or `[Unreadable]`.
 *
 * @param maxLength stop once this many characters are made; the text may be a little longer
 */
export function textOf(value: unknown, maxLength = 65_536): string {
  if (typeof value === 'string') return value;
  const budget = { left: maxLength };
  return write(value, 0, new Set(), budget) ?? 'null';
}

/** @returns the JSON of a value; `undefined` for what JSON leaves out */
function write(
  value: unknown,
  depth: number,
  above: Set<object>,
  budget: { left: number },
): string | undefined {
  switch (typeof value) {
    case 'string':
      return spend(
        JSON.stringify(value.length > budget.left + 1 ? value.slice(0, budget.left + 1) : value),
        budget,
      );
    case 'number':
      return spend(Number.isFinite(value) ? String(value) : 'null', budget);
    case 'bigint':
      return spend(`"${value}"`, budget);
    case 'boolean':
      return spend(String(value), budget);
    case 'object':
      return value === null ? spend('null', budget) : writeObject(value, depth, above, budget);
    default:
      return undefined;
  }
}

function spend(text: string, budget: { left: number }): string {
  budget.left -= text.length;
  return text;
}

function writeObject(value: object, depth: number, above: Set<object>, budget: { left: number }): string {
  if (above.has(value)) return spend('"[Circular]"', budget);
  if (depth >= MAX_DEPTH) return spend('"[Depth]"', budget);
  above.add(value);
  try {
    return describe(value, depth, above, budget);
  } catch {
    // A throwing getter, toJSON or Proxy trap.
    return spend('"[Unreadable]"', budget);
  } finally {
    above.delete(value);
  }
}

function describe(value: object, depth: number, above: Set<object>, budget: { left: number }): string {
  if (value instanceof Date) {
    return spend(Number.isNaN(value.getTime()) ? 'null' : `"${value.toISOString()}"`, budget);
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return spend(`"<bytes ${value.byteLength}>"`, budget);
  }
  if (value instanceof Error) return spend(JSON.stringify(`${value.name}: ${value.message}`), budget);
  if (Array.isArray(value)) return list(value, depth, above, budget);
  if (value instanceof Set || value instanceof Map) return list(value, depth, above, budget);
  const parts: string[] = [];
  for (const key of Object.keys(value)) {
    if (budget.left <= 0) break;
    const text = write((value as Record<string, unknown>)[key], depth + 1, above, budget);
    if (text !== undefined) parts.push(`${spend(JSON.stringify(key), budget)}:${text}`);
  }
  return `{${parts.join(',')}}`;
}

function list(items: Iterable<unknown>, depth: number, above: Set<object>, budget: { left: number }): string {
  const parts: string[] = [];
  for (const item of items) {
    if (budget.left <= 0) break;
    parts.push(write(item, depth + 1, above, budget) ?? 'null');
    budget.left--;
  }
  return `[${parts.join(',')}]`;
}
