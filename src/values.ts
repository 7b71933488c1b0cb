/** Narrows values of unknown type, such as parsed JSON. */

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object; `null` for anything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return isRecord(value) ? value : null;
}

/** The string; `null` for an empty one and for anything else. */
export function filledString(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whether a value is a moment that a `Date` can hold, in milliseconds since 1970. */
export function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15;
}

/** A `Date` in milliseconds since 1970; `NaN` for anything else, and where a Proxy or a subclass of the host throws. */
export function timeOf(value: unknown): number {
  try {
    return value instanceof Date ? value.getTime() : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** Whether a value is a promise or behaves like one. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  const kind = typeof value;
  return (
    (kind === 'object' || kind === 'function') &&
    value !== null &&
    typeof (value as PromiseLike<T>).then === 'function'
  );
}

/** Compares texts by code unit, for sorting. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Adds an item to the list of a key. */
export function addTo<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** Freezes plain data deeply. @returns the same object */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}
