/** Failures of PostgreSQL and its clients as failures of the store. */
import { StoreError, type StoreErrorCode } from '../sql/store-error.ts';

type Row = readonly [code: StoreErrorCode, sentence: string, remedy?: string];

/** By SQLSTATE, or the beginning of it. The longest match is used. */
const BY_STATE: Readonly<Record<string, Row>> = {
  '08': ['unreachable', 'The connection to PostgreSQL has failed.'],
  '22': ['refused', 'PostgreSQL cannot store a value.'],
  '22021': ['refused', 'PostgreSQL cannot store a character of a text.'],
  '23505': ['conflict', 'Another instance has written this row.'],
  '23514': ['conflict', 'Rows of this day are in the table for other days.'],
  '25006': ['read_only', 'PostgreSQL is read-only: it is a standby, or its transactions are read-only.'],
  '28': ['unreachable', 'PostgreSQL refuses the login.', 'Check the role and its password.'],
  '3D000': ['unreachable', 'PostgreSQL has no database with this name.', 'Create it.'],
  '3F000': ['schema_missing', 'PostgreSQL has no schema with this name.'],
  '40': ['conflict', 'Another instance has changed the same rows.'],
  '42501': ['permission', 'The PostgreSQL role lacks a right.'],
  '42704': ['schema_missing', 'Part of the schema is missing.'],
  '42P01': ['schema_missing', 'PostgreSQL has no tables of express-task-monitor.'],
  '42P06': ['conflict', 'Another instance has created the schema.'],
  '42P07': ['conflict', 'Another instance has created the tables.'],
  '42P17': ['conflict', 'Another table has this day.'],
  '53': ['unreachable', 'PostgreSQL lacks resources.', 'Check its memory and its limit of connections.'],
  '53100': ['disk_full', 'The disk of PostgreSQL is full.'],
  '53300': ['unreachable', 'PostgreSQL has no free connection.', 'Raise max_connections, or use PgBouncer.'],
  '54': ['refused', 'PostgreSQL cannot store such a large value.'],
  '55P03': ['locked', 'Another connection holds a lock in PostgreSQL.'],
  '57014': ['timeout', 'PostgreSQL has cancelled a statement.', 'Check statement_timeout and its load.'],
  '57P': ['unreachable', 'PostgreSQL is starting, or has been shut down.'],
  '58': ['disk_full', 'PostgreSQL cannot write its files.', 'Check its disk and its log.'],
  '58000': ['failed', 'PostgreSQL reports a system error.'],
  XX001: ['corrupt', 'The data of PostgreSQL is damaged.'],
  XX002: ['corrupt', 'An index of PostgreSQL is damaged.', 'Run REINDEX.'],
};

/** Codes of Node and of postgres.js, and sentences of pg, which has no codes for them. */
const NO_CONNECTION =
  /^(?:E(?:CONN|HOST|NET|AI_|PIPE|TIMEDOUT|NOTFOUND)|CONNECT|SASL)|connect|terminated|pool|socket|client (?:has|was)|getaddrinfo/i;

/** @param error what the client of the host rejected with */
export function describePostgresError(error: unknown): StoreError {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  const state = typeof code === 'string' ? code : '';
  if (/^[0-9A-Z]{5}$/.test(state)) {
    const key = [5, 3, 2].map((length) => state.slice(0, length)).find((part) => part in BY_STATE);
    const row = key === undefined ? undefined : BY_STATE[key];
    return row === undefined
      ? new StoreError('failed', `PostgreSQL has failed with SQLSTATE ${state}.`)
      : new StoreError(...row);
  }
  if (NO_CONNECTION.test(state) || NO_CONNECTION.test(String(message)))
    return new StoreError('unreachable', 'There is no connection to PostgreSQL.');
  return new StoreError('failed', 'The client of PostgreSQL has failed.');
}
