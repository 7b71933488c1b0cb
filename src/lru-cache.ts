/** A bounded cache that drops what was used longest ago. */

/** Bounds of a cache. */
export interface LruBounds<Value> {
  /** Most entries. */
  readonly entries: number;
  /** Most of what {@link LruBounds.sizeOf} counts, in sum. Default: no bound. */
  readonly bytes?: number;
  /** What an entry takes, in bytes, roughly. Default: the length of its key. */
  sizeOf?(value: Value, key: string): number;
}

/** Values by key. */
export interface LruCache<Value> {
  readonly size: number;
  /** Sum of what the entries take. */
  readonly bytes: number;
  /** Reading an entry makes it the most recently used one. */
  get(key: string): Value | undefined;
  /** Keeps the value as the most recently used one. One that exceeds `bytes` by itself is not kept. */
  set(key: string, value: Value): void;
  delete(key: string): boolean;
  clear(): void;
  /** All values, the least recently used first. Listing them does not change that order. */
  values(): Iterable<Value>;
}

/** For some thousands of entries: finding the oldest takes longer the more entries there are. */
export function createLruCache<Value>(bounds: LruBounds<Value>): LruCache<Value> {
  const { bytes: mostBytes = Number.POSITIVE_INFINITY, sizeOf = (_value, key) => key.length } = bounds;
  // A Map lists its keys in the order in which they were set: the least recently used one first.
  const entries = new Map<string, { readonly value: Value; readonly size: number }>();
  let newest: string | null = null;
  let bytes = 0;

  function remove(key: string): boolean {
    const entry = entries.get(key);
    if (entry === undefined) return false;
    bytes -= entry.size;
    return entries.delete(key);
  }

  return {
    get size() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
    get(key) {
      const entry = entries.get(key);
      if (entry !== undefined && key !== newest) {
        entries.delete(key);
        entries.set(key, entry);
        newest = key;
      }
      return entry?.value;
    },
    set(key, value) {
      remove(key);
      const size = sizeOf(value, key);
      if (size > mostBytes) return;
      entries.set(key, { value, size });
      newest = key;
      bytes += size;
      for (const oldest of entries.keys()) {
        if (entries.size <= bounds.entries && bytes <= mostBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    clear() {
      entries.clear();
      newest = null;
      bytes = 0;
    },
    *values() {
      for (const { value } of entries.values()) yield value;
    },
  };
}
