/** Stamps as JSON, which lacks integers of any length and some other numbers. */
import { isRecord } from '../../values.ts';
import type { Stamps } from '../merge/stamps.ts';

/** The only key of an object that represents such a number. */
const MARK = '~';
/** Deepest nesting that is read. */
const DEEPEST = 200;

/** @returns what JSON keeps */
export function writeStamps({ value, size, isRedacted }: Stamps): unknown {
  return [encode(value), size, isRedacted === true ? 1 : 0];
}

/** @returns `null` for text that {@link writeStamps} has not written */
export function readStamps(written: unknown): Stamps | null {
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
