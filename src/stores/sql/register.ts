/** Creates or checks the tables of a store. */
import type { StoreOpening } from '../../history/store.ts';
import { pause } from '../../waiting.ts';
import type { TableNames } from './schema.ts';
import type { SqlDatabase } from './sql-database.ts';
import { isStoreError, StoreError } from './store-error.ts';
import { toColumn } from './task-row.ts';

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
