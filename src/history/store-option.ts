/** The option `store` of the sources. */
import { wrongOption } from '../check-options.ts';
import { isRecord } from '../values.ts';
import type { StoreEngine } from './store.ts';

const SQLITE = "sqliteStore('monitor.db') of express-task-monitor/sqlite";
const POSTGRES = 'postgresStore(pool) of express-task-monitor/postgres';

/**
 * @param caller the function that was called, such as `celerySources`
 * @returns `null` without a store
 * @throws TypeError that says what to write; it never contains the given value
 */
export function readStore(caller: string, value: unknown): StoreEngine | null {
  if (value === undefined || value === null) return null;
  if (isStore(value)) return value;
  throw wrongOption(caller, 'store', expectedFor(value), value);
}

/**
 * The store of a source, which must redact what it writes.
 *
 * @throws TypeError that says what to write
 */
export function readSourceStore(
  caller: string,
  { store, redact }: { readonly store?: unknown; readonly redact?: unknown },
): StoreEngine | null {
  const read = readStore(caller, store);
  if (read === null || redact !== false) return read;
  throw new TypeError(
    `${caller}: texts are redacted before they are written to a 'store'. Remove redact: false, or write ` +
      'redact: (text) => text to store them as they are.',
  );
}

/** Entries have their own copies of the library: a store is recognized by its members. */
function isStore(value: unknown): value is StoreEngine {
  return isRecord(value) && typeof value.engine === 'string' && typeof value.open === 'function';
}

function expectedFor(value: unknown): string {
  if (typeof value === 'string') return /^postgres(?:ql)?:/i.test(value) ? POSTGRES : SQLITE;
  const isClient =
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    ('query' in value || 'unsafe' in value);
  return isClient ? POSTGRES : `${SQLITE}, or ${POSTGRES}`;
}
