/** The interface between the schedules and the Redis in which redbeat stores its entries. */
import type { RedbeatEntry } from './redbeat-entry.ts';

/** Reads redbeat's schedule. */
export interface RedbeatReader {
  /**
   * Reads the entries and the lock. Entries that have not changed may be from an earlier call.
   *
   * @throws an error whose `problem` is a `Problem` when Redis is unreachable, late or refuses
   */
  read(): Promise<RedbeatSnapshot>;
}

/** The content of redbeat's keys. */
export interface RedbeatSnapshot {
  /** The entries that are due next come first. */
  readonly entries: readonly RedbeatEntry[];
  /** The number of entries stored. If there are very many, not all are read. */
  readonly total: number;
  /** The number of entries that were read but not understood. */
  readonly unreadable: number;
  /** Milliseconds until the lock expires; `null` if it is free. */
  readonly lockMs: number | null;
}
