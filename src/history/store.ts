/**
 * Where a history is kept beyond the memory of the process: a database that several instances share. The history
 * writes folded tasks to it, a moment after they have changed, and reads what memory no longer holds.
 */
import type { TaskQuery } from './../source.ts';

/** What lists filter and sort by. Times in milliseconds since 1970, `runtime` in seconds; `null`: unknown. */
export interface StoredFields {
  readonly state: string;
  readonly name: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly rootId: string | null;
  readonly parentId: string | null;
  readonly groupId: string | null;
  /** Of the last change. */
  readonly timestamp: number | null;
  readonly received: number | null;
  readonly started: number | null;
  readonly finished: number | null;
  readonly runtime: number | null;
  readonly isOpen: boolean;
}

/** One task as it is stored. */
export interface StoredTask extends StoredFields {
  readonly id: string;
  /** The day of its first write, counted from 1970. With the id, its key: days are dropped as a whole. */
  readonly day: number;
  /** Of this write, 1 for the first. A write succeeds only over the version before. */
  readonly version: number;
  /** The record, as text that only the history reads. */
  readonly record: string;
  /** Its long texts, which lists do not read; `null`: it has none. */
  readonly texts: string | null;
}

/** Which stored tasks to list: the filters of a task query, its order and its position. */
export type StoredQuery = Pick<
  TaskQuery,
  | 'limit'
  | 'after'
  | 'states'
  | 'names'
  | 'workers'
  | 'queues'
  | 'rootId'
  | 'parentId'
  | 'groupId'
  | 'since'
  | 'until'
  | 'sort'
  | 'order'
> & {
  /** Only tasks that have not ended. */
  readonly isOpen: boolean;
};

/** The stored tasks of one source. Every call rejects with a `StoreError` when the database cannot answer. */
export interface TaskStore {
  /** @returns the ids that were written; the others have been written by another instance since they were read */
  write(tasks: readonly StoredTask[]): Promise<ReadonlySet<string>>;
  /** @returns those of the tasks that are stored, in no order, with all texts */
  read(ids: readonly string[]): Promise<readonly StoredTask[]>;
  /** @returns a page, in the order of the query, without long texts */
  list(query: StoredQuery): Promise<readonly StoredTask[]>;
  /** @returns how many tasks match, `most` at most */
  count(query: StoredQuery, most: number): Promise<number>;
  /** Drops the tasks of the days before this one, except those that have not ended. */
  dropBefore(day: number): Promise<void>;
}

/** Who may write for a source: one instance at a time, by the clock of the database. */
export interface StoreLease {
  /**
   * Takes or renews the lease.
   *
   * @param holder identifies this instance
   * @param forMs how long it lasts, in milliseconds
   * @returns whether this instance holds it now
   */
  acquire(holder: string, forMs: number): Promise<boolean>;
  release(holder: string): Promise<void>;
}

/** An open store, for one source. */
export interface StoreSession {
  readonly tasks: TaskStore;
  readonly lease: StoreLease;
  /** Bytes on disk. */
  size(): Promise<number>;
}
