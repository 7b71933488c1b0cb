/**
 * The partitions of PostgreSQL: a table for each day. Those of the coming days are created beforehand. Rows of any
 * other day, from an instance whose clock is wrong or that may not create tables, are kept in a table for the rest.
 */
import { pause } from '../../waiting.ts';
import type { DayTables } from '../sql/retention.ts';
import { DAY_TABLES, type DayTable, type TableNames } from '../sql/schema.ts';
import { isStoreError, type SqlDatabase } from '../sql/sql-database.ts';
import { SEARCHED } from '../sql/task-statements.ts';

/** How many days ahead there are tables: each of them costs every read a part of its planning. */
const DAYS_AHEAD = 2;
/** How long a change of the tables waits for others, in milliseconds: meanwhile all other statements wait for it. */
const LOCK_MS = 300;
/** How often it is tried while others hold locks, and how long it pauses in between, in milliseconds. */
const ATTEMPTS = 5;
const PAUSE_MS = 200;

/** The tables of one day. */
interface Day {
  readonly table: DayTable;
  readonly name: string;
  readonly day: number;
}

export function createPostgresDays(database: SqlDatabase, names: TableNames): DayTables {
  let isSearchable = false;
  return {
    async prepare(today) {
      const operators = await readOperators(database);
      const known = new Set((await readDays(database, names)).map(({ name }) => name));
      for (let day = today; day <= today + DAYS_AHEAD; day++) {
        const missing = DAY_TABLES.map((table) => ({ table, name: nameOf(names, table, day), day })).filter(
          ({ name }) => !known.has(name),
        );
        if (missing.length === 0) continue;
        if (
          !(await change(
            database,
            missing.flatMap((one) => createDay(names, one, operators)),
          ))
        )
          break;
      }
      isSearchable = operators !== null && (await areIndexed(database, names));
    },
    async dropBefore(day) {
      const old = (await readDays(database, names)).filter((one) => one.day < day);
      for (const { name } of old) await change(database, [`DROP TABLE ${quoted(names, name)}`]);
    },
    canSearch: () => isSearchable,
  };
}

function nameOf({ prefix }: TableNames, table: string, day: number): string {
  return `${prefix}${table}_d${day}`;
}

/** @returns the day of a table with this name; `null`: it is not one of the store's tables of a day */
function dayOf(names: TableNames, name: string): number | null {
  const day = Number(/_d(\d+)$/.exec(name)?.[1]);
  return DAY_TABLES.some((table) => name === nameOf(names, table, day)) ? day : null;
}

function quoted({ schema }: TableNames, name: string): string {
  return schema === null ? `"${name}"` : `"${schema}"."${name}"`;
}

/** The statements that create a table of a day, with an index for searches if the database supports it. */
function createDay(
  names: TableNames,
  { table, name, day }: Day,
  operators: string | null,
): readonly string[] {
  const create = `CREATE TABLE ${quoted(names, name)} PARTITION OF ${names[table]} FOR VALUES FROM (${day}) TO (${day + 1})`;
  return table === 'task' && operators !== null
    ? [create, `CREATE INDEX "${name}_search" ON ${quoted(names, name)} USING gin (${SEARCHED} ${operators})`]
    : [create];
}

async function readDays(database: SqlDatabase, names: TableNames): Promise<readonly Day[]> {
  const days: Day[] = [];
  for (const table of DAY_TABLES) {
    const rows = await database.read(
      'SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = to_regclass($1)',
      [names[table]],
    );
    for (const [name] of rows) {
      const day = dayOf(names, String(name));
      if (day !== null) days.push({ table, name: String(name), day });
    }
  }
  return days;
}

/**
 * Runs statements in one transaction, which waits for locks only shortly. Several statements without values are one
 * transaction of the server: no connection is left inside of it when one of them fails, as it would be behind `BEGIN`.
 *
 * @returns `false`: this role may not change tables, or rows of that day are in the table for the rest
 */
async function change(database: SqlDatabase, statements: readonly string[]): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await database.script([`SET LOCAL lock_timeout = ${LOCK_MS}`, ...statements].join(';\n'));
      return true;
    } catch (error) {
      // Another instance was faster.
      if (isStoreError(error, 'conflict', 'schema_missing')) return true;
      if (isStoreError(error, 'permission', 'read_only')) return false;
      if (!isStoreError(error, 'locked') || attempt === ATTEMPTS) throw error;
      await pause(PAUSE_MS);
    }
  }
}

/** @returns the operators of `pg_trgm`; `null`: it is not installed, or this role may not use it */
async function readOperators(database: SqlDatabase): Promise<string | null> {
  const [row] = await database.read(
    `SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
     WHERE extname = $1 AND has_schema_privilege(nspname, 'USAGE')`,
    ['pg_trgm'],
  );
  return row === undefined ? null : `${row[0]}.gin_trgm_ops`;
}

/** Whether all tables with rows have the index: without it, a search would read whole days. */
async function areIndexed(database: SqlDatabase, names: TableNames): Promise<boolean> {
  const [row] = await database.read(
    `SELECT count(*) FROM pg_inherits JOIN pg_class AS day ON day.oid = inhrelid
     WHERE inhparent = to_regclass($1) AND day.relpages > 0 AND NOT EXISTS
       (SELECT 1 FROM pg_index JOIN pg_class AS found ON found.oid = indexrelid
        WHERE indrelid = day.oid AND found.relname = day.relname || '_search')`,
    [names.task],
  );
  return Number(row?.[0]) === 0;
}
