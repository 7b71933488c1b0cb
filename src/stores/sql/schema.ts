/** Tables of the store, as data. */
import type { SqlColumn } from './sql-database.ts';

/** The schema that this code writes. */
export const SCHEMA_VERSION = 3;

/** Number of counts of a rollup. */
const ROLLUP_COUNTS = 9;

/** A table: its columns, those of them that may be unknown, and its key. */
export interface Table {
  readonly columns: readonly SqlColumn[];
  readonly optional: readonly string[];
  readonly key: readonly string[];
  /** Whether old days are dropped as a whole. */
  readonly isByDay?: boolean;
  /** Whether rows are read in the order of the key. */
  readonly isClustered?: boolean;
}

/** Counts of a rollup, each in a column of its own, so that the database adds them up. */
export const COUNT_COLUMNS: readonly SqlColumn[] = Array.from(
  { length: ROLLUP_COUNTS },
  (_, at) => [`count_${at}`, 'real'] as const,
);

/** The tables whose rows belong to a source, by the end of their name. */
export const TABLES = {
  lease: {
    columns: [
      ['source_id', 'integer'],
      ['holder', 'text'],
      ['expires_at', 'real'],
      ['contender', 'text'],
      ['contended_at', 'real'],
    ],
    optional: ['contender', 'contended_at'],
    key: ['source_id'],
  },
  task: {
    columns: [
      ['source_id', 'integer'],
      ['id', 'text'],
      ['day', 'integer'],
      ['version', 'integer'],
      ['is_open', 'integer'],
      ['state', 'text'],
      ['name', 'text'],
      ['worker', 'text'],
      ['queue', 'text'],
      ['root_id', 'text'],
      ['parent_id', 'text'],
      ['group_id', 'text'],
      ['chord_id', 'text'],
      ['changed', 'real'],
      ['received', 'real'],
      ['started', 'real'],
      ['finished', 'real'],
      ['runtime', 'real'],
      ['record', 'text'],
      ['texts', 'text'],
      ['cause', 'text'],
    ],
    optional: [
      ...['name', 'worker', 'queue', 'root_id', 'parent_id', 'group_id', 'chord_id'],
      ...['changed', 'received', 'started', 'finished', 'runtime', 'texts', 'cause'],
    ],
    key: ['source_id', 'id', 'day'],
    isByDay: true,
  },
  relation: {
    columns: [
      ['source_id', 'integer'],
      ['child', 'text'],
      ['relation', 'text'],
      // A key may not be unknown: '' stands for an unknown parent, and any other is written behind a '='.
      ['parent', 'text'],
      ['day', 'integer'],
    ],
    optional: [],
    key: ['source_id', 'child', 'relation', 'parent', 'day'],
    isByDay: true,
  },
  feed: {
    columns: [
      ['source_id', 'integer'],
      ['number', 'real'],
      ['instance', 'text'],
      ['items', 'text'],
      ['item_count', 'integer'],
      ['added_at', 'real'],
    ],
    optional: [],
    key: ['source_id', 'number'],
  },
  snapshot: {
    columns: [
      ['source_id', 'integer'],
      ['kind', 'text'],
      ['content', 'text'],
      ['revision', 'real'],
    ],
    optional: [],
    key: ['source_id', 'kind'],
  },
  rollup: {
    columns: [
      ['source_id', 'integer'],
      ['span', 'integer'],
      ['level', 'integer'],
      ['start_at', 'real'],
      ['name', 'text'],
      ['queue', 'text'],
      ['worker', 'text'],
      ['writer', 'text'],
      ['weight', 'real'],
      ...COUNT_COLUMNS,
      ['times', 'text'],
    ],
    optional: ['times'],
    key: ['source_id', 'span', 'level', 'start_at', 'name', 'queue', 'worker', 'writer'],
    isClustered: true,
  },
  cause: {
    columns: [
      ['source_id', 'integer'],
      ['id', 'text'],
      ['exception', 'text'],
      ['message', 'text'],
      ['frame', 'text'],
      ['first_seen', 'real'],
      ['last_seen', 'real'],
    ],
    optional: ['exception', 'message', 'frame'],
    key: ['source_id', 'id'],
  },
} as const satisfies Readonly<Record<string, Table>>;
