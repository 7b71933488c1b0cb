/**
 * Runs statements on the host's function, one at a time, so that it takes at most one connection of a pool. Only
 * statements that begin with SELECT are run, and each has a limit of rows and a deadline.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { settleInTime } from '../../../waiting.ts';
import type { Problem } from '../hint.ts';
import { momentOf } from '../zones.ts';
import { DIALECTS, type SqlDialect, withoutOctetLength } from './sql-dialect.ts';
import type { ResolvedSql } from './sql-options.ts';
import { sqlError, sqlErrorOf } from './sql-problems.ts';

/** How long a statement may take, in milliseconds. */
const TIMEOUT_MS = 5_000;
/**
 * How long other statements are refused after one that was too late, unless it ends before, in milliseconds. It cannot
 * be cancelled.
 */
const LONGEST_MS = 60_000;
/** Most statements that may wait. */
const MOST_WAITING = 200;
/** Most rows of one statement. */
export const MOST_ROWS = 1_000;

/** One statement. */
interface SqlSelect {
  /** Begins with `SELECT`, has no LIMIT, and a `?` for each value and nowhere else. */
  readonly text: string;
  readonly values?: readonly string[];
  /** Most rows, at most {@link MOST_ROWS}. */
  readonly limit: number;
}

/** Reads one database. */
export interface SqlReader {
  readonly dialect: SqlDialect;
  /** Names of tables and the zone of dates. */
  readonly options: ResolvedSql;
  /**
   * Runs one statement.
   *
   * @throws SqlError with a `problem`, when the database is unreachable, late or refuses, or the signal aborts
   */
  select(statement: SqlSelect, signal?: AbortSignal): Promise<readonly SqlRow[]>;
  /** Requests a sign of life. Resolves to the problem, or `null`. Never rejects. */
  check(signal?: AbortSignal): Promise<Problem | null>;
  /** Statements sent so far. */
  requests(): number;
  /** Refuses later statements. The host's client stays open. */
  close(): void;
}

interface Reading {
  readonly options: ResolvedSql;
  readonly timeoutMs: number;
  /** Settles when the statements before have ended. */
  last: Promise<void>;
  waiting: number;
  requests: number;
  /** Whether the last statement was too late, and still runs. */
  isLate: boolean;
  /** Whether this is a SQLite before 3.43. */
  isOldSqlite: boolean;
  isClosed: boolean;
}

/** @param timeoutMs how long a statement may take; for tests. Default 5 s */
export function createSqlReader(options: ResolvedSql, timeoutMs: number = TIMEOUT_MS): SqlReader {
  const reading: Reading = {
    options,
    timeoutMs,
    last: Promise.resolve(),
    waiting: 0,
    requests: 0,
    isLate: false,
    isOldSqlite: false,
    isClosed: false,
  };
  const dialect = DIALECTS[options.dialect];
  const select: SqlReader['select'] = (statement, signal) => run(reading, dialect, statement, signal);
  return {
    dialect,
    options,
    select,
    check: (signal) =>
      select({ text: 'SELECT 1 AS one', limit: 1 }, signal).then(
        () => null,
        (error: unknown) => sqlErrorOf(error).problem,
      ),
    requests: () => reading.requests,
    close() {
      reading.isClosed = true;
    },
  };
}

/** @throws SqlError */
async function run(
  reading: Reading,
  dialect: SqlDialect,
  { text, values = [], limit }: SqlSelect,
  signal: AbortSignal | undefined,
): Promise<readonly SqlRow[]> {
  if (!/^SELECT\b[^;]*$/.test(text) || !Number.isInteger(limit) || limit < 1 || limit > MOST_ROWS)
    throw new TypeError('Only a single SELECT with a limit may be run.');
  if (reading.isClosed) throw sqlError('CLOSED');
  if (reading.isLate) throw sqlError('TimeoutError');
  if (reading.waiting >= MOST_WAITING) throw sqlError('TOOMANY');
  const before = reading.last;
  let free: () => void = () => {};
  reading.last = new Promise((resolve) => {
    free = resolve;
  });
  reading.waiting += 1;
  const statement = (): Promise<unknown> => {
    reading.requests += 1;
    return answerTo(reading, `${dialect.bind(text)} LIMIT ${limit}`, values);
  };
  // Clients of SQLite answer at once: between two statements, the host gets a turn of the event loop.
  const turn = before.then(nextTurn).then(() => {
    reading.waiting -= 1;
    return takeTurn(reading, statement, free, signal);
  });
  // A caller that gives up does not wait; the statement continues.
  const rows = rowsOf(await settleInTime(turn, { signal }, () => sqlError('TimeoutError')));
  return rows.length > limit ? rows.slice(0, limit) : rows;
}

async function answerTo(reading: Reading, text: string, values: readonly string[]): Promise<unknown> {
  const { options } = reading;
  if (reading.isOldSqlite) return asked(options, withoutOctetLength(text), values);
  try {
    return await asked(options, text, values);
  } catch (error) {
    if (options.dialect !== 'sqlite' || !/no such function: octet_length/i.test(messageOf(error)))
      throw error;
    reading.isOldSqlite = true;
    return asked(options, withoutOctetLength(text), values);
  }
}

function messageOf(error: unknown): string {
  const message: unknown = error instanceof Object && 'message' in error ? error.message : null;
  return typeof message === 'string' ? message : '';
}

/** A function of the host may throw, and may answer at once. */
async function asked({ query }: ResolvedSql, text: string, values: readonly string[]): Promise<unknown> {
  return query(text, [...values]);
}

/** @param free lets the next statement run */
async function takeTurn(
  reading: Reading,
  statement: () => Promise<unknown>,
  free: () => void,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (reading.isClosed || reading.isLate || signal?.aborted === true) {
    free();
    throw sqlError(reading.isClosed ? 'CLOSED' : 'TimeoutError');
  }
  const answer = statement();
  let isSettled = false;
  const end = (): void => {
    clearTimeout(longest);
    isSettled = true;
    reading.isLate = false;
    free();
  };
  const longest = setTimeout(end, LONGEST_MS).unref();
  answer.then(end, end);
  try {
    return await settleInTime(answer, { ms: reading.timeoutMs }, () => sqlError('TimeoutError'));
  } catch (error) {
    // Waiting statements are given up at once.
    reading.isLate = !isSettled;
    free();
    throw sqlErrorOf(error);
  }
}

/** @throws SqlError when these are no rows as objects */
function rowsOf(answer: unknown): readonly SqlRow[] {
  const isRow = (row: unknown): boolean => typeof row === 'object' && row !== null && !Array.isArray(row);
  if (!Array.isArray(answer) || !answer.every(isRow)) throw sqlError('BADROWS');
  return answer as readonly SqlRow[];
}

/** A row as an object by column. Drivers return its values in different types. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** A text; `null` for NULL. Bytes are read as UTF-8, since MySQL returns some texts as such. */
export function textOf(row: SqlRow, column: string): string | null {
  const value = row[column];
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : null;
}

/** A number; `null` for NULL and anything else. */
export function numberOf(row: SqlRow, column: string): number | null {
  const text = textOf(row, column);
  const value = text === null || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

/** A boolean, which MySQL and SQLite store as a number; `null` for NULL and anything else. */
export function flagOf(row: SqlRow, column: string): boolean | null {
  const value = row[column];
  if (typeof value === 'boolean') return value;
  const text = textOf(row, column);
  if (text === null || text === '') return null;
  return text !== '0' && text !== 'f' && text !== 'false';
}

/** Bytes that were selected in hexadecimal, as UTF-8; `null` for NULL and invalid UTF-8. */
export function hexTextOf(row: SqlRow, column: string): string | null {
  const hex = textOf(row, column);
  if (hex === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(hex, 'hex'));
  } catch {
    return null;
  }
}

/**
 * A date that was selected by `SqlDialect.time`.
 *
 * @param zone of a date without one
 * @returns milliseconds since 1970; `null` for NULL and anything else
 */
export function timeOf(row: SqlRow, column: string, zone: string): number | null {
  const text = textOf(row, column);
  return text === null ? null : parseSqlTime(text, zone);
}

/** The moment of a date such as `2026-11-23T01:02:03.456789`, which may end in `Z`; `null` if it is not one. */
export function parseSqlTime(text: string, zone: string): number | null {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d{1,6})?(Z|[+-]\d\d:?\d\d)?$/.exec(text);
  if (match === null) return null;
  const [, day, time, fraction = '', offset] = match;
  const moment = Date.parse(`${day}T${time}${fraction.slice(0, 4)}${offset ?? 'Z'}`);
  if (Number.isNaN(moment)) return null;
  return offset !== undefined || zone === 'UTC' ? moment : momentOf(moment, zone);
}
