/** Celery's stamps: small plain data that a host puts on its tasks. */
import { type Redactor, redactValue } from '../../redact.ts';
import { isRecord } from '../../values.ts';

const MOST_CHARACTERS = 4_096;
/** The only key of an object that represents such a number. */
const MARK = '~';
/** Deepest nesting that is read. */
const DEEPEST = 200;

/** Stamps as they are kept. */
export interface Stamps {
  readonly value: unknown;
  /** Estimate in bytes. */
  readonly size: number;
  /** Whether the secrets were removed. */
  readonly isRedacted?: boolean;
}

/** @returns a copy; `null` if they are too large, not plain data, or absent */
export function keepStamps(given: unknown): Stamps | null {
  if (given === undefined || given === null) return null;
  let left = MOST_CHARACTERS;
  const weigh = (key: string, value: unknown): unknown => {
    left -= key.length + (typeof value === 'string' ? value.length : 8);
    if (left < 0) throw new RangeError('too large');
    return typeof value === 'bigint' ? '' : value;
  };
  try {
    if (JSON.stringify(given, weigh) === undefined) return null;
    return { value: structuredClone(given), size: 2 * (MOST_CHARACTERS - left) };
  } catch {
    return null;
  }
}

/** The same without secrets. */
export function redactedStamps(stamps: Stamps | null, redactor: Redactor): Stamps | null {
  if (stamps === null || stamps.isRedacted === true) return stamps;
  const { value, size } = stamps;
  return { value: redactValue(value, 'stamps', redactor), size, isRedacted: true };
}

/** Stamps as JSON, which lacks integers of any length and some other numbers. */
export const STAMPS_TEXT = { write: writeStamps, read: readStamps };

function writeStamps({ value, size, isRedacted }: Stamps): unknown {
  return [encode(value), size, isRedacted === true ? 1 : 0];
}

function readStamps(written: unknown): Stamps | null {
  if (!Array.isArray(written) || typeof written[1] !== 'number') return null;
  const [value, size, isRedacted] = written as [unknown, number, unknown];
  try {
    return { value: decode(value, 0), size, ...(isRedacted === 1 && { isRedacted: true }) };
  } catch {
    return null;
  }
}

function encode(value: unknown): unknown {
  if (typeof value === 'bigint') return { [MARK]: `n${value}` };
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) {
    return { [MARK]: `f${Object.is(value, -0) ? '-0' : value}` };
  }
  if (value instanceof Date) return { [MARK]: `d${value.getTime()}` };
  if (value === undefined) return { [MARK]: 'u' };
  if (Array.isArray(value)) return Array.from(value, encode);
  if (!isRecord(value)) return value;
  const object = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, encode(member)]));
  return Object.hasOwn(object, MARK) ? { [MARK]: [object] } : object;
}

function decode(written: unknown, depth: number): unknown {
  if (depth > DEEPEST) throw new RangeError('too deep');
  if (Array.isArray(written)) return written.map((member) => decode(member, depth + 1));
  if (!isRecord(written)) return written;
  const mark = Object.hasOwn(written, MARK) ? written[MARK] : undefined;
  if (typeof mark === 'string') return decodeMark(mark);
  const object = Array.isArray(mark) && isRecord(mark[0]) ? mark[0] : written;
  return Object.fromEntries(Object.entries(object).map(([key, member]) => [key, decode(member, depth + 1)]));
}

function decodeMark(mark: string): unknown {
  const text = mark.slice(1);
  if (mark.startsWith('n')) return BigInt(text);
  if (mark.startsWith('f')) return Number(text);
  return mark.startsWith('d') ? new Date(Number(text)) : undefined;
}
