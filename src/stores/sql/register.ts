/** Creates or checks the tables of a store. */
import {
  type LeaseState,
  LONGEST_LEASE_MS,
  type StoreLease,
  type StoreOpening,
} from '../../history/store.ts';
import { pause } from '../../waiting.ts';
import type { TableNames } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import { isStoreError, type SqlDatabase, type SqlRow, StoreError } from './sql-database.ts';
import { fromColumn, toColumn } from './task-row.ts';

/** How tables of the present version are created. */
export interface SchemaScripts {
  readonly version: number;
  /** Creates them, and writes the version. */
  create(): Promise<string>;
}

/** Several instances may start at once: one creates the tables, and the others find them. */
const ATTEMPTS = 5;
/** How long it pauses while another session holds a lock, in milliseconds. */
const PAUSE_MS = 200;

/**
 * Each script is one transaction, and fails as a whole if another instance has run it meanwhile.
 *
 * @throws StoreError when the schema is newer or older than this code, or when it is missing and may not be created
 */
export async function ensureSchema(
  database: SqlDatabase,
  names: TableNames,
  scripts: SchemaScripts,
  isReadOnly: boolean,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const version = await readVersion(database, names);
    if (version === scripts.version) return;
    if (version !== null) throw isOther(version, scripts.version);
    if (isReadOnly) throw isMissing();
    try {
      await database.script(await scripts.create());
    } catch (error) {
      const isRefused = isStoreError(error, 'permission', 'read_only');
      if (isRefused && (await readVersion(database, names)) === null) throw isMissing(error);
      if (attempt === ATTEMPTS) throw error;
      if (isStoreError(error, 'locked')) await pause(PAUSE_MS);
    }
  }
}

/** @returns `null` where there are no tables */
async function readVersion(database: SqlDatabase, names: TableNames): Promise<number | null> {
  try {
    const [row] = await database.read(`SELECT value FROM ${names.meta} WHERE key = $1`, ['schema']);
    return row === undefined ? null : Number(row[0]);
  } catch (error) {
    if (isStoreError(error, 'schema_missing')) return null;
    throw error;
  }
}

function isOther(version: number, known: number): StoreError {
  return new StoreError(
    version > known ? 'schema_newer' : 'schema_older',
    `The tables have version ${version}, and this version of express-task-monitor supports ${known}.`,
  );
}

function isMissing(cause?: StoreError): StoreError {
  if (cause?.code === 'read_only') return cause;
  return new StoreError(
    'schema_missing',
    'The database has no tables of express-task-monitor, and this instance may not create them.',
  );
}

/** Other instances may register other sources at the same time. */
const REGISTER_ATTEMPTS = 10;

/**
 * Finds the number of a source, and registers it first if it is new.
 *
 * @param keptDays for how many days its tasks are kept
 * @throws StoreError when another deployment has this name, or when it is not registered and may not be
 */
export async function registerSource(
  database: SqlDatabase,
  names: TableNames,
  { source, deployment, isReadOnly }: StoreOpening,
  keptDays: number,
): Promise<number> {
  const name = toColumn(source);
  const given = deployment === null ? null : toColumn(deployment);
  for (let attempt = 1; ; attempt++) {
    const [row] = await database.read(`SELECT id, deployment FROM ${names.source} WHERE name = $1`, [name]);
    if (row !== undefined) {
      const [id, known] = row;
      if (known === given || given === null || (known === null && isReadOnly)) return Number(id);
      if (known !== null) {
        throw new StoreError('source_taken', `Another deployment writes under the name '${source}'.`);
      }
      await database.write(
        `UPDATE ${names.source} SET deployment = $2 WHERE name = $1 AND deployment IS NULL`,
        [name, given],
      );
    } else if (isReadOnly) {
      throw new StoreError('source_missing', `The database has no history of the source '${source}'.`);
    } else {
      await insert(database, names, [name, given, keptDays]);
    }
    if (attempt === REGISTER_ATTEMPTS)
      throw new StoreError('conflict', 'Too many instances register sources at once.');
  }
}

async function insert(
  database: SqlDatabase,
  names: TableNames,
  values: readonly [name: string, deployment: string | null, keptDays: number],
): Promise<void> {
  try {
    await database.write(
      `INSERT INTO ${names.source} (name, id, deployment, kept_days)
       SELECT $1, coalesce(max(id), 0) + 1, $2, CAST($3 AS integer) FROM ${names.source} WHERE true
       ON CONFLICT DO NOTHING`,
      values,
    );
  } catch (error) {
    // Another source has got the same number.
    if (!isStoreError(error, 'conflict')) throw error;
  }
}

export function createLease(source: SourceDatabase): StoreLease {
  const table = source.names.lease;
  const { now } = source.database.dialect;
  const isRunning = (end: string, at: string): string =>
    `${end} > ${at} AND ${end} <= ${at} + ${LONGEST_LEASE_MS}`;
  const isFree = `(held.holder = excluded.holder OR NOT (${isRunning('held.expires_at', now)}))`;
  const take = (column: string): string =>
    `${column} = CASE WHEN ${isFree} THEN excluded.${column} ELSE held.${column} END`;
  const read = `holder, CASE WHEN ${isRunning('expires_at', now)} THEN 1 ELSE 0 END, ${now}, contender, contended_at`;
  // One statement: an instance that may not take the lease notes that it wants it.
  const acquire = `INSERT INTO ${table} AS held (source_id, holder, expires_at)
    VALUES ($1, $2, ${now} + CAST($3 AS ${source.database.dialect.type('real')}))
    ON CONFLICT (source_id) DO UPDATE SET ${take('holder')}, ${take('expires_at')},
      contender = CASE WHEN ${isFree} THEN held.contender ELSE excluded.holder END,
      contended_at = CASE WHEN ${isFree} THEN held.contended_at ELSE ${now} END
    RETURNING ${read}`;
  return {
    async acquire(holder, forMs) {
      const [row] = await source.write(acquire, toColumn(holder), forMs);
      return stateOf(row, holder);
    },
    async look() {
      // Without a lease there is still a row, for the clock.
      const text = `SELECT holder, CASE WHEN ${isRunning('expires_at', 'clock.now')} THEN 1 ELSE 0 END, clock.now, contender, contended_at
        FROM (SELECT ${now} AS now) AS clock LEFT JOIN ${table} ON source_id = $1`;
      const [row] = await source.read(text);
      return stateOf(row, null);
    },
    async release(holder) {
      await source.write(
        `UPDATE ${table} SET expires_at = 0 WHERE source_id = $1 AND holder = $2`,
        toColumn(holder),
      );
    },
  };
}

function stateOf(row: SqlRow = [], instance: string | null): LeaseState {
  const [holder, isRunning, now, contender, contendedAt] = row;
  const isHeld = Number(isRunning) === 1;
  const isContended = contendedAt !== null && contendedAt !== undefined && !(isHeld && contender === holder);
  return {
    isHeld: isHeld && fromColumn(String(holder)) === instance,
    now: Number(now),
    holder: isHeld ? fromColumn(String(holder)) : null,
    contendedAt: isContended ? Number(contendedAt) : null,
  };
}
