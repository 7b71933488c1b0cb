/**
 * A history that outlives the process and is shared by all instances: one in memory, kept in a store. These are its
 * interfaces; `stored/` implements them.
 */
import type { Awaitable, ReadContext, SharedNotes, TaskStats, TaskStatsQuery } from '../source.ts';
import type { History } from './history.ts';
import type { StoreEngine } from './store.ts';

/**
 * Which messages this instance receives itself.
 * - `all`: everything, so that memory alone answers what changed lately
 * - `part`: messages of this process; other instances receive the rest, so answers read the store, too
 * - `nothing`: everything is read from the store
 */
export type Hearing = 'all' | 'part' | 'nothing';

/** Where a history is kept. */
export interface StoredHistoryOptions {
  readonly store: StoreEngine;
  /** Name of the source. */
  readonly source: string;
  /** Identifies the deployment that the source watches; `null`: it cannot be told. */
  readonly deployment: string | null;
  /** At the start. */
  readonly hearing: Hearing;
  /** Nothing is created or written, and the lease is never taken. */
  readonly isReadOnly: boolean;
}

/** How a store is doing. Times in milliseconds since 1970. */
export interface StoreStatus {
  readonly engine: StoreEngine['engine'];
  /** `opening`: not reached yet. `loading`: memory is being filled. */
  readonly phase: 'opening' | 'loading' | 'ready';
  /** Whether this instance holds the lease; `null`: unknown, because the store is unreachable. */
  readonly isHolder: boolean | null;
  /** Changed tasks that are not written yet. */
  readonly waiting: number;
  /** Since when the oldest of them waits; `null`: none does. */
  readonly waitingSince: number | null;
  readonly lastWrite: number | null;
  /** The error of the last attempt to read or write, as a sentence without secrets; `null`: it succeeded. */
  readonly error: string | null;
  /** The kind of that error, such as `schema_newer`; `null`: none, or another. */
  readonly code: string | null;
  /** What to do about it, as a sentence; `null`: nothing, or unknown. */
  readonly remedy: string | null;
  /** Tasks, relations and feed items that were dropped before they could be written. */
  readonly lost: number;
  /** When a loss was last noticed; `null`: nothing was lost. */
  readonly lostAt: number | null;
  /** Bytes on disk; `null`: not known. */
  readonly bytes: number | null;
  /** Whether the clocks of this process and of the database differ by more than a day: nothing is deleted then. */
  readonly areClocksApart: boolean;
  /** Stored tasks that could not be read when memory was filled: another version or another program wrote them. */
  readonly unreadable: number;
}

/** Texts that the collecting instance keeps for the others, by kind. Reads are of a copy in memory. */
export interface SharedTexts {
  /** Replaces a text; it is written within a second. Only while this instance holds the lease. */
  publish(kind: string, text: string): void;
  /** At most 2 seconds old; `null`: not published. */
  read(kind: string): string | null;
  /** Grows with each change that {@link SharedTexts.read} shows. */
  revision(): number;
}

/** A history in memory and in a store. Reads wait for the store only if memory does not know enough. */
export interface StoredHistory extends Omit<History, 'close'> {
  readonly texts: SharedTexts;
  /**
   * Statistics from the counts if there are too many tasks or they are too old; otherwise from tasks, made by
   * `ofTasks`, which also gets the time since when there are counts (`null`: there are none). Statistics of `reader`
   * sum up its own tasks.
   */
  readStats(
    query: TaskStatsQuery,
    context: ReadContext,
    ofTasks: (query: TaskStatsQuery, context: ReadContext, since: Date | null) => Awaitable<TaskStats>,
  ): Awaitable<TaskStats>;
  status(): StoreStatus;
  /** Whether this instance holds the lease now. */
  isHolder(): boolean;
  /** Whether another instance that holds the lease, or wants it, was noticed in the last half minute. */
  hasOthers(): boolean;
  /**
   * Whether this instance wants the lease: only an instance that receives messages should collect and write. Default:
   * true.
   */
  wantLease(wanted: boolean): void;
  /** Opens a text of the host's own, which only the holder of the lease writes. */
  openNotes(): SharedNotes;
  /** Called when the lease is taken or lost. @returns ends the calls */
  onLease(listener: (isHolder: boolean) => void): () => void;
  /** Changes the hearing. From `all` to `nothing`, the tasks in memory are written and dropped. */
  setHearing(hearing: Hearing): Promise<void>;
  /** Writes what has changed and was counted so far, if this instance is the one that writes. */
  flush(): Promise<void>;
  /** Writes what has changed so far, waits 2 seconds at most, and gives the lease back. */
  close(): Promise<void>;
}
