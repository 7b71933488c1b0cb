/** What routes have answered, of bounded size: to answer the same again, and to have something left in an outage. */

/** Something kept, and what it takes. */
export interface Kept {
  /** Bytes, roughly. */
  readonly size: number;
}

/** The latest answers by key. */
export interface AnswerCache<Entry extends Kept> {
  get(key: string): Entry | undefined;
  /** Keeps it as the newest. What is too large on its own is not kept. */
  set(key: string, entry: Entry): void;
  clear(): void;
}

/** @param bounds the entry used longest ago goes first */
export function createAnswerCache<Entry extends Kept>(bounds: {
  readonly entries: number;
  readonly bytes: number;
}): AnswerCache<Entry> {
  // A Map keeps the order in which keys came.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    bytes -= entry.size + key.length;
  }

  return {
    get: (key) => entries.get(key),
    set(key, entry) {
      drop(key);
      if (entry.size + key.length > bounds.bytes) return;
      entries.set(key, entry);
      bytes += entry.size + key.length;
      for (const oldest of entries.keys()) {
        if (entries.size <= bounds.entries && bytes <= bounds.bytes) break;
        drop(oldest);
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
  };
}
