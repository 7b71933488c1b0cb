/** Reads the values of rows, which drivers return in different types. */
import { momentOf } from '../zones.ts';

/** A row as an object by column. */
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
