/**
 * Where a history is kept beyond the memory of the process: a database that several instances may share. These are the
 * interfaces between the history (`stored/`), which handles records but no SQL, and the stores (`src/stores/`), which
 * handle SQL but not the meaning of a record. Times are milliseconds since 1970, by the clock of the instance that
 * writes unless it says otherwise.
 */
import type { TaskRelation } from '../model.ts';
import type { TaskFilter, TaskQuery } from '../source.ts';
import type { CauseStore, RollupStore } from './rollup-store.ts';

export type {
  CauseStore,
  RollupQuery,
  RollupStore,
  RollupTotal,
  StoredCause,
  StoredRollup,
} from './rollup-store.ts';

/** What lists filter and sort by. `runtime` in seconds; `null`: unknown. */
export interface StoredFields {
  readonly state: string;
  readonly name: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly rootId: string | null;
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly chordId: string | null;
  /** Of the last change. */
  readonly timestamp: number | null;
  readonly received: number | null;
  readonly started: number | null;
  readonly finished: number | null;
  readonly runtime: number | null;
  /**
   * Id of the cause of its failure; `''`: its texts do not show one; `null`: it has not failed, or its cause was not
   * searched yet.
   */
  readonly cause: string | null;
  readonly isOpen: boolean;
}

/** One task as it is stored. */
export interface StoredTask extends StoredFields {
  readonly id: string;
  /** The day of its first write, counted from 1970. With the id, its key: days are dropped as a whole. */
  readonly day: number;
  /** Of this write, 1 for the first. A later one succeeds only over the version before, and the first over none. */
  readonly version: number;
  /** The record, as text that only the history reads. */
  readonly record: string;
  /** Its long texts, which lists do not read; `null`: it has none. */
  readonly texts: string | null;
}

/** The part of a stored task that memory absorbs: the rest is in its record. */
export type StoredRecord = Pick<StoredTask, 'id' | 'rootId' | 'timestamp' | 'record' | 'texts'>;

/** What relates a stored task to others, and its name. */
export type StoredRelatives = Pick<StoredTask, 'id' | 'name' | 'rootId' | 'parentId' | 'groupId' | 'chordId'>;

/**
 * Which stored tasks to list: the filters of a task query, its order and its position. Only conditions that a store can
 * decide, see `isStoredCondition`.
 */
export type StoredQuery = Pick<
  TaskQuery,
  Exclude<TaskFilter, 'engineStates'> | 'limit' | 'after' | 'sort' | 'order'
> & {
  /** Only tasks that have not ended. */
  readonly isOpen: boolean;
  /**
   * Only tasks whose stored texts or names may contain this lower-case text. Others may pass, since the history
   * decides; `null`: all.
   */
  readonly hint: string | null;
  /** Ids of tasks to leave out, some thousands at most. Default: none. */
  readonly except?: readonly string[];
};

/** By what tasks of one workflow name each other. */
export type StoredLink = 'rootId' | 'parentId' | 'groupId' | 'chordId';

/** Most tasks that are read with their long texts at once. */
export const WHOLE_AT_ONCE = 50;

/** The stored tasks of one source. Every call rejects with a `StoreError` when the database cannot answer. */
export interface TaskStore {
  /**
   * @returns the ids that were written; the others have been written by another instance since they were read, have
   *   moved to another day, or were dropped. Reading them again shows which.
   */
  write(tasks: readonly StoredTask[]): Promise<ReadonlySet<string>>;
  /** @returns those of the tasks that are stored, in no order, without long texts. A record may take 15 kB */
  find(ids: readonly string[]): Promise<readonly StoredTask[]>;
  /** The same with all texts. These may take a third of a megabyte each: ask for {@link WHOLE_AT_ONCE} at most. */
  read(ids: readonly string[]): Promise<readonly StoredTask[]>;
  /** @returns the ids of those that are stored */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** @returns what relates those of the tasks that are stored, in no order */
  relatives(ids: readonly string[]): Promise<readonly StoredRelatives[]>;
  /** @returns the tasks that name one of these ids, `most` at most, in no order, and what relates them */
  linked(link: StoredLink, ids: readonly string[], most: number): Promise<readonly StoredRelatives[]>;
  /** @returns the ids of the tasks that name one of these, `most` at most, in no order */
  linkedIds(link: StoredLink, ids: readonly string[], most: number): Promise<readonly string[]>;
  /** @returns a page, in the order of the query, without long texts */
  list(query: StoredQuery): Promise<readonly StoredTask[]>;
  /** @returns the same page, with what memory takes in alone */
  records(query: StoredQuery): Promise<readonly StoredRecord[]>;
  /** @returns how many tasks match, `most` at most */
  count(query: StoredQuery, most: number): Promise<number>;
  /**
   * Drops the tasks and relations of the days before this one. Tasks that have not ended are kept: they move to the
   * present day. Also prepares what coming days need, such as partitions.
   *
   * @param today the present day, by the same clock as `day`
   */
  dropBefore(day: number, today: number): Promise<void>;
}

/** Relations that no record contains, as found by collectors. */
export interface RelationStore {
  /** Each relation is kept once. */
  write(relations: readonly TaskRelation[]): Promise<void>;
  /** @returns the relations that lead from or to one of these ids, `most` at most */
  read(ids: readonly string[], most: number): Promise<readonly TaskRelation[]>;
  /** @returns whether there is none at all */
  isEmpty(): Promise<boolean>;
}

/** The items that one instance adds to the feed at once. */
export interface FeedChunk {
  /** Grows with each chunk of the source, whichever instance adds it. */
  readonly number: number;
  /** The instance that received the items. */
  readonly instance: string;
  /** The items, as text that only the history reads. */
  readonly items: string;
  /** How many there are. */
  readonly count: number;
  /** When the chunk was added, by the clock of the database. */
  readonly addedAt: number;
}

/** The feed of one source, in chunks. */
export interface FeedStore {
  /** @returns the number of the new chunk */
  append(instance: string, items: string, count: number): Promise<number>;
  /** @returns the chunks after a number, oldest first, `most` at most */
  read(after: number, most: number): Promise<readonly FeedChunk[]>;
  /** @returns the newest chunks that together have at least `count` items, oldest first */
  newest(count: number): Promise<readonly FeedChunk[]>;
  /** Drops the oldest chunks beyond the newest `count` items. */
  trim(count: number): Promise<void>;
}

/** Texts that the collecting instance keeps up to date for the others: workers, queues, components and so on. */
export interface SnapshotStore {
  /** Replaces the texts of these kinds. */
  write(texts: ReadonlyMap<string, string>): Promise<void>;
  /** @returns the number of the last write of each kind; it grows with each write */
  revisions(): Promise<ReadonlyMap<string, number>>;
  read(kinds: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/**
 * The longest time for which a lease is taken, in milliseconds. One that would last longer is free: the clock of the
 * database was set back after it was taken.
 */
export const LONGEST_LEASE_MS = 10_000;

/** The holder of the lease of a source, after an attempt to take it. */
export interface LeaseState {
  /** Whether it is this instance. */
  readonly isHeld: boolean;
  /** The clock of the database. */
  readonly now: number;
  /** `null`: nobody holds it. */
  readonly holder: string | null;
  /** When another instance than the holder last tried to take it, by the clock of the database; `null`: none did. */
  readonly contendedAt: number | null;
}

/** Selects the instance that collects and writes for a source: one at a time, by the clock of the database. */
export interface StoreLease {
  /**
   * Takes or renews the lease, or notes that this instance wants it.
   *
   * @param holder identifies this instance
   * @param forMs how long it lasts, in milliseconds: {@link LONGEST_LEASE_MS} at most
   */
  acquire(holder: string, forMs: number): Promise<LeaseState>;
  /** Reads the holder, without taking the lease. */
  look(): Promise<LeaseState>;
  release(holder: string): Promise<void>;
}

/** An open store, for one source. */
export interface StoreSession {
  readonly isReadOnly: boolean;
  readonly tasks: TaskStore;
  readonly relations: RelationStore;
  readonly feed: FeedStore;
  readonly snapshots: SnapshotStore;
  readonly rollups: RollupStore;
  readonly causes: CauseStore;
  readonly lease: StoreLease;
  /** Bytes on disk. */
  size(): Promise<number>;
}

/** For how long a store keeps what is written, in days. */
export interface StoreRetention {
  /** Tasks, relations. Default 7. */
  readonly taskDays: number;
  /** Rollups. Default 90. */
  readonly rollupDays: number;
}

/** What a source requires of a store. */
export interface StoreOpening {
  /** Name of the source, under which its rows are kept. */
  readonly source: string;
  /** Identifies the deployment that the source watches; `null`: it cannot be told. */
  readonly deployment: string | null;
  /** Nothing is created or written. */
  readonly isReadOnly: boolean;
}

/**
 * Where sources keep their history. Made by `sqliteStore` or `postgresStore`; several sources may share one. How sources
 * use it is not public.
 */
export interface HistoryStore {
  readonly engine: 'sqlite' | 'postgres';
  readonly retention: StoreRetention;
  /** Nothing is created or written, whatever a source requests. */
  readonly isReadOnly: boolean;
  /** Identifies the deployment, in place of the identity that its source determines; `null`: the source decides. */
  readonly deployment: string | null;
}

/** A {@link HistoryStore} as sources use it. */
export interface StoreEngine extends HistoryStore {
  /**
   * Opens it for one source, and creates or migrates its tables first.
   *
   * @throws StoreError when the database cannot be reached, has a newer schema, or keeps another deployment under this
   *   name
   */
  open(opening: StoreOpening): Promise<StoreSession>;
  /** Ends what was opened for a source; after the last one, closes what the store itself opened. */
  close(session: StoreSession): Promise<void>;
}
