/** Counts over time, as a store keeps them, and its failures by cause. Times are milliseconds since 1970. */
import type { TaskCause } from '../model.ts';

/** Seconds of a minute, an hour or a day (of UTC): the lengths of time for which counts are kept. */
export type RollupSpan = 60 | 3_600 | 86_400;

/**
 * What a cell counts: 0 everything, 1 one name, 2 one queue, 3 one worker, 4 one name in one queue on one worker,
 * 5 the depth of one queue.
 */
export type RollupLevel = 0 | 1 | 2 | 3 | 4 | 5;

/** Counts of one span of time. Source, span, level, start, name, queue, worker and writer are its key. */
export interface StoredRollup {
  readonly span: RollupSpan;
  /** Its start. */
  readonly start: number;
  readonly level: RollupLevel;
  /** The instance that counted; `''` if one at a time receives everything. Cells of several writers are added. */
  readonly writer: string;
  /** This one and the next two are `''` where the level does not tell them apart. */
  readonly name: string;
  readonly queue: string;
  readonly worker: string;
  /** Of two cells with the same key, the one with the larger weight is kept. Of an added one, the number of the addition. */
  readonly weight: number;
  /** Nine numbers, 0 or more, which are in columns of their own. */
  readonly counts: readonly number[];
  /** Histograms of run and wait times, as text that only the history reads; `null` on levels 0, 2, 3 and 5. */
  readonly times: string | null;
}

/** Which rollups to read. */
export interface RollupQuery {
  readonly level: RollupLevel;
  readonly span: RollupSpan;
  /** Inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Any of them; empty: all. */
  readonly names: readonly string[];
  readonly queues: readonly string[];
  readonly workers: readonly string[];
}

/** Sums of all cells with the same name, queue and worker. */
export type RollupTotal = Pick<StoredRollup, 'name' | 'queue' | 'worker' | 'counts' | 'times'>;

/** Sums of all cells that start together. */
interface RollupSum {
  readonly start: number;
  readonly counts: readonly number[];
}

/** Steps of time: whole minutes. */
export interface RollupSteps {
  /** When the first one begins; no cell that is read starts before. */
  readonly first: number;
  /** Length in milliseconds. */
  readonly ms: number;
}

/** The counts of one queue in one step. */
interface RollupOfQueue {
  readonly queue: string;
  /** 0 for the first. */
  readonly step: number;
  readonly sums: readonly number[];
  /** The largest of each count. */
  readonly peaks: readonly number[];
}

/**
 * Counts over time. For the worst case, 50 names in 5 queues on 20 workers, there are 1,000 to 5,000 cells of level 4
 * for each minute of two days, each hour and each day of 90 days; charts read levels 0 to 3, and level 4 by name.
 */
export interface RollupStore {
  /**
   * Adds cells to those under the same keys: their counts, and their texts at the end of the stored ones. A cell to which
   * an addition of this weight or a larger one was made before stays as it is.
   */
  add(cells: readonly StoredRollup[]): Promise<void>;
  /** Writes cells. Where a heavier cell is stored under the key, it stays; an equal one may be replaced. */
  write(cells: readonly StoredRollup[]): Promise<void>;
  /** @returns cells, oldest first, `most` at most */
  read(query: RollupQuery, most: number): Promise<readonly StoredRollup[]>;
  /**
   * Adds up the oldest `most` cells of a query over starts and writers: a chart needs a few hundred sums of ten thousand
   * cells.
   *
   * @returns sums by name, queue and worker, in no order. `times` contains the concatenated texts of all cells
   */
  totals(query: RollupQuery, most: number): Promise<readonly RollupTotal[]>;
  /** @returns sums over names, queues, workers and writers of each start, oldest first */
  sums(query: RollupQuery): Promise<readonly RollupSum[]>;
  /** @returns sum and maximum of each count over names, workers and writers, by queue and step */
  byQueue(query: RollupQuery, steps: RollupSteps): Promise<readonly RollupOfQueue[]>;
  /** Drops the cells of a span that begin before a time, in short transactions. */
  dropBefore(span: RollupSpan, start: number): Promise<void>;
}

/** A cause, and when tasks failed because of it. */
export interface StoredCause extends TaskCause {
  /** The first recorded failure, even if its task was dropped or has succeeded since. */
  readonly firstSeen: number;
  /** The last recorded failure: not every failure is recorded. */
  readonly lastSeen: number;
}

/** Which failures to add up. */
export interface FailureQuery {
  /** Inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Any of them; empty: all. */
  readonly names: readonly string[];
  readonly queues: readonly string[];
  readonly workers: readonly string[];
}

/** How many tasks failed because of a cause. */
export interface CauseCount {
  readonly cause: string;
  readonly count: number;
}

/** Failures of one cause with one name on one worker. */
export interface CausePart extends CauseCount {
  /** `null`: unknown. */
  readonly name: string | null;
  readonly worker: string | null;
  /** When the last of them failed. */
  readonly last: number;
  /** The id of that task. */
  readonly sample: string;
}

/** Failures of one cause in one step. */
export interface CauseStep extends CauseCount {
  /** 0 for the first. */
  readonly step: number;
}

/**
 * The causes of failures. The stored tasks are summed up as they are: a task that succeeds later, or is dropped, no longer
 * counts.
 */
export interface CauseStore {
  /** Keeps the texts of causes, and the earlier first and the later last time. */
  note(causes: readonly StoredCause[]): Promise<void>;
  /** @returns those of the causes that were noted, in no order */
  describe(ids: readonly string[]): Promise<readonly StoredCause[]>;
  /** @returns the most frequent causes, `most` at most */
  counts(query: FailureQuery, most: number): Promise<readonly CauseCount[]>;
  /** @returns failures of these causes by name and worker, `most` at most */
  parts(query: FailureQuery, causes: readonly string[], most: number): Promise<readonly CausePart[]>;
  /** @returns failures of these causes by step, in any order */
  steps(query: FailureQuery, causes: readonly string[], steps: RollupSteps): Promise<readonly CauseStep[]>;
  /** Drops the causes that were not seen since a time. */
  dropBefore(time: number): Promise<void>;
}
