/** How many characters may be read at once, and how many in a second on average. */
const MOST_AT_ONCE = 32 * 1024 * 1024;
const PER_SECOND = 2 * 1024 * 1024;
/** Most memory of all messages that are held, in bytes. */
const MOST_HELD = 32 * 1024 * 1024;

/** Limits what reading queues costs, so that huge messages fill neither the network nor the memory. */
export interface ReadBudget {
  /** To be called before each look. @param held memory of the messages that are held, in bytes */
  begin(held: number, now: number): void;
  /** Whether more may be read. */
  hasRoom(): boolean;
  /** Counts what was read. @param bytes memory that is kept of it */
  spend(characters: number, bytes: number): void;
  /** How long to wait before as many characters may be read once more, in milliseconds. */
  pauseAfter(characters: number): number;
}

/** A budget that is full at first. */
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
