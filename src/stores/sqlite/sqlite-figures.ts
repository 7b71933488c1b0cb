/**
 * The statistics that SQLite assumes about the rows. `ANALYZE` would derive them, but only when there are many rows;
 * without statistics, filters with a position read the index by time and skip rows that do not match.
 */

import { DAY_TABLES, type DayTable, type TableNames } from '../sql/schema.ts';

/** The index of the key, whose name SQLite makes of that of its table. */
const KEY = null;

/** By index: all rows, and for each of its columns, how many rows have the same values up to it. */
const FIGURES: Readonly<Record<DayTable, readonly (readonly [index: string | null, figures: string])[]>> = {
  task: [
    [KEY, '1000000 1000000 1 1'],
    ['task_changed', '1000000 1000000 1'],
    ['task_state', '1000000 1000000 100000 1'],
    ['task_name', '1000000 1000000 20000 1 1 1'],
    ['task_worker', '1000000 1000000 50000 1 1'],
    ['task_queue', '1000000 1000000 100000 1 1'],
    ['task_root', '1000000 1000000 10 1'],
    ['task_parent', '500000 500000 10 1'],
    ['task_cause', '100000 100000 1000 1 1 1'],
    ['task_group', '500000 500000 10 1'],
    ['task_chord', '10000 10000 10'],
    ['task_open', '10000 10000 1'],
    ['task_received', '1000000 1000000 1'],
    ['task_started', '1000000 1000000 1'],
    ['task_finished', '1000000 1000000 1'],
    ['task_runtime', '1000000 1000000 10'],
    ['task_day', '1000000 1000000 150000'],
  ],
  relation: [
    [KEY, '100000 100000 2 2 1 1'],
    ['relation_parent', '100000 100000 5'],
    ['relation_day', '100000 100000 15000'],
  ],
};

/** The statements that set the statistics. */
export function figureStatements({ prefix }: TableNames): readonly string[] {
  const rows = DAY_TABLES.flatMap((table) =>
    FIGURES[table].map(([index, figures]) => {
      const name = index === KEY ? `sqlite_autoindex_${prefix}${table}_1` : prefix + index;
      return `('${prefix}${table}', '${name}', '${figures}')`;
    }),
  );
  return [
    // Creates the table for the figures, and reads none of the app's own tables.
    `ANALYZE ${prefix}lease`,
    `INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ${rows.join(', ')}`,
    // Loads them.
    'ANALYZE sqlite_schema',
  ];
}
