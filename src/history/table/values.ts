/**
 * A separate store for values longer than 1,024 characters. It has its own bound in bytes, so a few huge
 * arguments do not evict tasks. When the store drops a value, the first 1,024 characters remain.
 */

/** Longest value that is held without the store, and length of what remains of a dropped one, in characters. */
const INLINE = 1024;

/** A large value. */
export interface StoredValue {
  /** The first 1,024 characters. */
  head: string;
  /** The complete value; `null` after the store has dropped it. */
  whole: string | null;
  /** Whether the value arrived longer than the longest that is kept. */
  cut: boolean;
  newer: StoredValue | null;
  older: StoredValue | null;
}

/** A short value itself, or a reference to a long one. */
export type Text = string | StoredValue;

/** The store of large values. */
export interface ValueStore {
  readonly bytes: number;
  keep(text: string): Text;
  drop(text: Text | null): void;
  /**
   * Replaces the content of a text that is held, keeping its age and whether its end is missing.
   *
   * @returns what is held in place of it
   */
  replace(held: Text, content: string): Text;
  /** Notes that the end of a text that is held is missing. @returns what is held in place of it */
  cut(held: Text): Text;
  /** @returns the text, and whether its end is missing */
  read(text: Text | null): { text: string | null; cut: boolean };
}

/**
 * @param maxBytes most bytes held, two per character
 * @param maxLength longest single value, in characters
 */
export function createValueStore(maxBytes: number, maxLength: number): ValueStore {
  let oldest: StoredValue | null = null;
  let newest: StoredValue | null = null;

  function unlink(value: StoredValue): void {
    if (value.whole === null) return;
    store.bytes -= value.whole.length * 2;
    value.whole = null;
    if (value.older === null) oldest = value.newer;
    else value.older.newer = value.newer;
    if (value.newer === null) newest = value.older;
    else value.newer.older = value.older;
    value.newer = null;
    value.older = null;
  }

  function keep(text: string): Text {
    if (text.length <= INLINE && text.length <= maxLength) return text;
    const cut = text.length > maxLength;
    const whole = cut ? copyOf(text, maxLength) : text;
    if (whole.length <= INLINE && !cut) return whole;
    const value: StoredValue = { head: copyOf(whole, INLINE), whole, cut, newer: null, older: newest };
    if (newest === null) oldest = value;
    else newest.newer = value;
    newest = value;
    store.bytes += whole.length * 2;
    while (store.bytes > maxBytes && oldest !== null) unlink(oldest);
    return value;
  }

  const store: ValueStore & { bytes: number } = {
    bytes: 0,
    keep,
    drop(text) {
      if (text !== null && typeof text !== 'string') unlink(text);
    },
    replace(held, content) {
      if (typeof held === 'string') return keep(content);
      held.head = copyOf(content, INLINE);
      if (held.whole === null) return held;
      store.bytes -= held.whole.length * 2;
      held.cut ||= content.length > maxLength;
      held.whole = content.length > maxLength ? copyOf(content, maxLength) : content;
      store.bytes += held.whole.length * 2;
      while (store.bytes > maxBytes && oldest !== null) unlink(oldest);
      return held;
    },
    cut(held) {
      if (typeof held === 'string') return { head: held, whole: null, cut: true, newer: null, older: null };
      held.cut = true;
      return held;
    },
    read(text) {
      if (text === null || typeof text === 'string') return { text, cut: false };
      return { text: text.whole ?? text.head, cut: text.cut || text.whole === null };
    },
  };
  return store;
}

/** Copies the first characters. A slice would keep the whole original in memory. */
function copyOf(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const whole = last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
  return Buffer.from(text.slice(0, whole), 'utf16le').toString('utf16le');
}
