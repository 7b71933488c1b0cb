/** Creates or checks the tables of a store. */
import { pause } from '../../waiting.ts';
import type { TableNames } from './names.ts';
import type { SqlDatabase } from './sql-database.ts';
import { isStoreError, StoreError } from './store-error.ts';

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
