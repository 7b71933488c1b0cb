import { type Parameter, type Reading, single } from './parameter.ts';

// ISO 8601: a date, or a date and a time. A query decodes `+` to a space, so a space before the offset is read
// as a plus that the client did not encode.
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([ +-])(\d\d):?(\d\d))?)?$/i;
const UNIX_SECONDS = /^-?\d{1,13}(?:\.\d{1,9})?$/;

const FAULT =
  'Write a time such as 2026-11-21T02:00:00Z (without an offset it is UTC) or Unix seconds such as 1795226400.';

/**
 * Parses a time: ISO 8601 (UTC without an offset) or Unix seconds.
 *
 * @returns `null` when it is neither
 */
export function readMoment(text: string): Date | null {
  const moment = UNIX_SECONDS.test(text) ? new Date(Math.round(Number(text) * 1_000)) : readIso(text);
  return moment === null || Number.isNaN(moment.getTime()) ? null : moment;
}

/** A time: ISO 8601 or Unix seconds. */
export function moment(description: string): Parameter<Date | null> {
  return single<Date | null>(
    description,
    { type: 'string', examples: ['2026-11-21T02:00:00.000Z', '1795226400'] },
    null,
    (text): Reading<Date | null> => {
      const value = readMoment(text);
      return value === null ? { fault: FAULT } : { value };
    },
  );
}

function readIso(text: string): Date | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const milliseconds = Math.floor(Number(`0.${match[7] ?? 0}`) * 1_000);
  const offset = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  const local = new Date(0);
  // Not Date.UTC, which reads the years 0 to 99 as 1900 to 1999.
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, milliseconds);
  // A date that does not exist has overflowed: February 30th, 24:00, a leap second.
  const exists =
    local.getUTCMonth() === month - 1 &&
    local.getUTCDate() === day &&
    local.getUTCHours() === hour &&
    local.getUTCMinutes() === minute &&
    local.getUTCSeconds() === second;
  if (!exists || Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) return null;
  return new Date(local.getTime() - (match[8] === '-' ? -offset : offset) * 60_000);
}
