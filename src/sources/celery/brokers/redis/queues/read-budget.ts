/** Most characters to read at once, and per second on average. */
const MOST_AT_ONCE = 32 * 1024 * 1024;
const PER_SECOND = 2 * 1024 * 1024;
/** Most memory for all messages, in bytes. */
const MOST_HELD = 32 * 1024 * 1024;

/** Limits the cost of reading queues, so that huge messages fill neither the network nor the memory. */
export interface ReadBudget {
  /**
   * To be called before each reading.
   *
   * @param held memory of the kept messages, in bytes
   */
  begin(held: number, now: number): void;
  /** Whether more may be read. */
  hasRoom(): boolean;
  /**
   * Counts a message that was read.
   *
   * @param bytes the memory that it keeps
   */
  spend(characters: number, bytes: number): void;
  /** How long to wait until this many characters may be read again, in milliseconds. */
  pauseAfter(characters: number): number;
}

/** Creates a full budget. */
export function createReadBudget(): ReadBudget {
  let characters = MOST_AT_ONCE;
  let room = MOST_HELD;
  let refilledAt: number | null = null;
  return {
    begin(held, now) {
      const seconds = refilledAt === null ? 0 : Math.max(0, now - refilledAt) / 1000;
      characters = Math.min(MOST_AT_ONCE, characters + seconds * PER_SECOND);
      refilledAt = now;
      room = MOST_HELD - held;
    },
    hasRoom: () => characters > 0 && room > 0,
    spend(read, bytes) {
      characters -= read;
      room -= bytes;
    },
    pauseAfter: (read) => (read / PER_SECOND) * 1000,
  };
}
