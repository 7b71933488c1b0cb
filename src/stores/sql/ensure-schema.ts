/** Creates, migrates or checks the tables of a store. */
import { pause } from '../../waiting.ts';
import type { TableNames } from './names.ts';
import type { SqlDatabase } from './sql-database.ts';
import { isStoreError, StoreError } from './store-error.ts';

/** How tables of the present version are created. */
export interface SchemaScripts {
  readonly version: number;
  /** Creates them, and writes the version. */
  create(): Promise<string>;
  /** By version: makes the statements that change it to the next one. */
  readonly upgrades: ReadonlyMap<number, () => Promise<readonly string[]>>;
}

/** Several instances may start at once: one creates the tables, and the others find them. */
const ATTEMPTS = 5;
/** How long it pauses while another session holds a lock, in milliseconds. */
const PAUSE_MS = 200;

/**
 * Each script is one transaction, and fails as a whole if another instance has run it meanwhile.
 *
 * @throws StoreError when the schema is newer than this code, or when it is missing or older and may not be changed
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
    if (version !== null && version > scripts.version) throw isNewer(version, scripts.version);
    if (isReadOnly) throw isMissing(version, scripts.version);
    const script = version === null ? await scripts.create() : await upgradeFrom(version, names, scripts);
    if (script === undefined) throw isMissing(version, scripts.version);
    try {
      await database.script(script);
    } catch (error) {
      const isRefused = isStoreError(error, 'permission', 'read_only');
      if (isRefused && (await readVersion(database, names)) === version)
        throw isMissing(version, scripts.version, error);
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

async function upgradeFrom(
  version: number,
  names: TableNames,
  scripts: SchemaScripts,
): Promise<string | undefined> {
  const statements = await scripts.upgrades.get(version)?.();
  return statements === undefined ? undefined : upgradeScript(version, names, statements).join(';\n');
}

/** The row of an upgrade is written first: its key lets only one instance run it. */
export function upgradeScript(
  version: number,
  { meta }: TableNames,
  statements: readonly string[],
): readonly string[] {
  return [
    `INSERT INTO ${meta} (key, value) VALUES ('upgrade_${version}', '${version + 1}')`,
    ...statements,
    `UPDATE ${meta} SET value = '${version + 1}' WHERE key = 'schema'`,
  ];
}

function isNewer(version: number, known: number): StoreError {
  return new StoreError(
    'schema_newer',
    `The tables have version ${version}, and this version of express-task-monitor supports ${known}.`,
  );
}

function isMissing(version: number | null, known: number, cause?: StoreError): StoreError {
  if (cause?.code === 'read_only') return cause;
  const state =
    version === null
      ? 'The database has no tables of express-task-monitor'
      : `The tables have version ${version} instead of ${known}`;
  return new StoreError('schema_missing', `${state}, and this instance may not create them.`);
}
