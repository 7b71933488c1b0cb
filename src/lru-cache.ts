/** A bounded cache that drops the least recently used entry. */

/** Bounds of a cache. */
export interface LruBounds<Value> {
  /** Maximum number of entries. */
  readonly entries: number;
  /** Maximum total of {@link LruBounds.sizeOf}. Default: no limit. */
  readonly bytes?: number;
  /** Approximate size of an entry in bytes. Default: the length of its key. */
  sizeOf?(value: Value, key: string): number;
}

/** Values by key. */
export type LruCache<Value> = ReturnType<typeof createLruCache<Value>>;

/** For up to some thousands of entries: the more entries, the longer it takes to find the oldest. */
export function createLruCache<Value>(bounds: LruBounds<Value>) {
  const { bytes: mostBytes = Number.POSITIVE_INFINITY, sizeOf = (_value, key) => key.length } = bounds;
  // A Map lists its keys in insertion order: the least recently used one first.
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
    /** Reading an entry makes it the most recently used one. */
    get(key: string): Value | undefined {
      const entry = entries.get(key);
      if (entry !== undefined && key !== newest) {
        entries.delete(key);
        entries.set(key, entry);
        newest = key;
      }
      return entry?.value;
    },
    /** Stores the value as the most recently used one. A value that alone exceeds `bytes` is not stored. */
    set(key: string, value: Value): void {
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
    clear(): void {
      for (const key of entries.keys()) remove(key);
    },
    /** All values, least recently used first. Listing them does not change the order. */
    *values(): Iterable<Value> {
      for (const { value } of entries.values()) yield value;
    },
  };
}
