/** Limits of reading queues, whose messages may be of any size. */

/** Most characters to read at once, and per second on average. */
const MOST_AT_ONCE = 32 * 1024 * 1024;
const PER_SECOND = 2 * 1024 * 1024;
/** Most memory for all messages, in bytes. */
const MOST_HELD = 32 * 1024 * 1024;

/** Limits the cost of reading queues, so that huge messages fill neither the network nor the memory. */
export type ReadBudget = ReturnType<typeof createReadBudget>;

/** Creates a full budget. */
export function createReadBudget() {
  let characters = MOST_AT_ONCE;
  let room = MOST_HELD;
  let refilledAt: number | null = null;
  return {
    /**
     * To be called before each reading.
     *
     * @param held memory of the kept messages, in bytes
     */
    begin(held: number, now: number) {
      const seconds = refilledAt === null ? 0 : Math.max(0, now - refilledAt) / 1000;
      characters = Math.min(MOST_AT_ONCE, characters + seconds * PER_SECOND);
      refilledAt = now;
      room = MOST_HELD - held;
    },
    /** Whether more may be read. */
    hasRoom: () => characters > 0 && room > 0,
    /**
     * Counts a message that was read.
     *
     * @param bytes the memory that it keeps
     */
    spend(read: number, bytes: number) {
      characters -= read;
      room -= bytes;
    },
    /** How long to wait until this many characters may be read again, in milliseconds. */
    pauseAfter: (read: number) => (read / PER_SECOND) * 1000,
  };
}

/** Elements per reply at first, the factor by which that grows, and at most. */
const FIRST = 1;
const GROWTH = 4;
const MOST = 200;
/** Most characters of a reply. */
const REPLY = 256 * 1024;
/** Factor by which the known largest size shrinks with each reply. */
const FADE = 0.8;

/**
 * How many elements to read at once from a list of unknown sizes: one at first, more while they are small, so
 * that most replies have at most a quarter of a megabyte.
 *
 * @returns the size for the elements of one list, which are likely to be similar
 */
export function createReplySize() {
  let most = FIRST;
  let largest = 0;
  return {
    /** The number of elements to read. @param wanted the most to return */
    next: (wanted: number = MOST) => Math.max(1, Math.min(wanted, most)),
    /** Records the elements of a reply. */
    saw(elements: readonly (string | null)[]) {
      if (elements.length === 0) return;
      const longest = elements.reduce((longest, element) => Math.max(longest, element?.length ?? 0), 0);
      largest = Math.max(longest, largest * FADE);
      const fitting = Math.floor(REPLY / Math.max(largest, 1));
      most = Math.min(MOST, Math.max(1, fitting), Math.max(most, elements.length * GROWTH));
    },
  };
}
