/**
 * Values without a JSON form, as kombu 5.3 and later writes them: `{"__type__": "decimal", "__value__":
 * "1.10"}` (kombu/utils/json.py). They are only formatted as text, never constructed.
 */
import { readString, stringEnd, valueEnd } from './json-text.ts';

/**
 * The Python repr of such an object.
 *
 * @param members where the values of its members begin
 * @returns `null` for other types: the object is then shown as it is
 */
export function typedValueRepr(text: string, members: ReadonlyMap<string, number>): string | null {
  const type = stringAt(text, members.get('__type__'));
  const start = members.get('__value__');
  if (type === null || start === undefined || members.size !== 2) return null;
  if (type === 'uuid') return uuidRepr(text.slice(start, valueEnd(text, start)));
  const value = stringAt(text, start);
  if (value === null) return null;
  if (type === 'decimal') return DECIMAL.test(value) ? `Decimal('${value}')` : null;
  if (type === 'datetime' || type === 'date' || type === 'time') return momentRepr(type, value);
  if (type === 'bytes') return bytesRepr(Buffer.from(value, 'utf8'));
  return type === 'base64' ? bytesRepr(Buffer.from(value, 'base64')) : null;
}

/** A decimal, `NaN` and `Infinity` included. */
const DECIMAL = /^[\w.+-]+$/;

function stringAt(text: string, start: number | undefined): string | null {
  return start !== undefined && text[start] === '"' ? readString(text, start, stringEnd(text, start)) : null;
}

function uuidRepr(text: string): string | null {
  const hex = /"hex"\s*:\s*"([0-9a-f]{32})"/.exec(text)?.[1];
  const dashed = hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return dashed === undefined ? null : `UUID('${dashed}')`;
}

function bytesRepr(bytes: Buffer): string {
  let out = '';
  for (const byte of bytes) {
    if (byte === 0x5c || byte === 0x27) out += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) out += String.fromCharCode(byte);
    else out += `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return `b'${out}'`;
}

/** `datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)`: Python leaves out zero seconds. */
function momentRepr(type: 'datetime' | 'date' | 'time', value: string): string | null {
  const match = MOMENT.exec(value);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  const numbers: number[] = type === 'time' ? [] : [Number(year), Number(month), Number(day)];
  if (type !== 'date') {
    numbers.push(Number(hour ?? 0), Number(minute ?? 0));
    const micros = Number((fraction ?? '').padEnd(6, '0'));
    if (Number(second ?? 0) > 0 || micros > 0) numbers.push(Number(second ?? 0));
    if (micros > 0) numbers.push(micros);
  }
  if (numbers.some(Number.isNaN)) return null;
  const tz = zoneRepr(zone);
  return tz === null ? null : `datetime.${type}(${numbers.join(', ')}${tz})`;
}

const MOMENT =
  /^(?:(\d{4})-(\d\d)-(\d\d))?(?:T|$|^)(?:(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?)?$/;

function zoneRepr(zone: string | undefined): string | null {
  if (zone === undefined) return '';
  if (zone === 'Z' || zone === '+00:00') return ', tzinfo=datetime.timezone.utc';
  const seconds = (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))) * 60;
  const delta = zone[0] === '-' ? `days=-1, seconds=${86_400 - seconds}` : `seconds=${seconds}`;
  return `, tzinfo=datetime.timezone(datetime.timedelta(${delta}))`;
}
