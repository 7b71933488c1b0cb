/**
 * What SQLite assumes about the rows. It would learn it from the rows themselves, but only if somebody ran `ANALYZE` at a
 * time when there are many; without it, filters with a position read the index by time, and skip what does not match.
 */
import type { TableNames } from '../sql/names.ts';

/** By index: all rows, and for each of its columns, how many rows have the same values up to it. */
const FIGURES: readonly (readonly [table: 'task' | 'relation', index: string, figures: string])[] = [
  ['task', 'sqlite_autoindex_*task_1', '1000000 1000000 1 1'],
  ['task', '*task_changed', '1000000 1000000 1'],
  ['task', '*task_state', '1000000 1000000 100000 1'],
  ['task', '*task_name', '1000000 1000000 20000 1 1 1'],
  ['task', '*task_worker', '1000000 1000000 50000 1 1'],
  ['task', '*task_queue', '1000000 1000000 100000 1 1'],
  ['task', '*task_root', '1000000 1000000 10 1'],
  ['task', '*task_parent', '500000 500000 10 1'],
  ['task', '*task_group', '500000 500000 10 1'],
  ['task', '*task_chord', '10000 10000 10'],
  ['task', '*task_open', '10000 10000 1'],
  ['task', '*task_received', '1000000 1000000 1'],
  ['task', '*task_started', '1000000 1000000 1'],
  ['task', '*task_finished', '1000000 1000000 1'],
  ['task', '*task_runtime', '1000000 1000000 10'],
  ['task', '*task_day', '1000000 1000000 100000'],
  ['relation', 'sqlite_autoindex_*relation_1', '100000 100000 2 2 1 1'],
  ['relation', '*relation_parent', '100000 100000 5'],
  ['relation', '*relation_day', '100000 100000 10000'],
];

/** The statements that tell SQLite, once the tables exist. */
export function figureStatements({ prefix }: TableNames): readonly string[] {
  return [
    'ANALYZE',
    ...FIGURES.map(
      ([table, index, figures]) =>
        `INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('${prefix}${table}', '${index.replace('*', prefix)}', '${figures}')`,
    ),
    'ANALYZE sqlite_schema',
  ];
}
