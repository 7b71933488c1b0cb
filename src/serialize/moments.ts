// Formatting times dominates the cost of a row, and most times of a row are in the same minute.
const MINUTE_MS = 60_000;
const SECONDS = Array.from({ length: 60 }, (_, second) => `${String(second).padStart(2, '0')}.`);
const MILLISECONDS = Array.from({ length: 1_000 }, (_, milli) => `${String(milli).padStart(3, '0')}Z`);

const last = { minute: Number.NaN, prefix: '' };

// Years 0000 to 9999. Other years need a form of ISO 8601 (`+010000-…`) that few clients can read.
const FIRST = -62_167_219_200_000;
const LAST = 253_402_300_799_999;

/**
 * Formats a time as the API does: ISO 8601, UTC, milliseconds. `null` for anything but a `Date` within the
 * years 0000 to 9999.
 */
export function isoTime(value: unknown): string | null {
  const time = timeOf(value);
  if (!Number.isInteger(time) || time < FIRST || time > LAST) return null;
  const minute = Math.floor(time / MINUTE_MS);
  if (minute !== last.minute) {
    last.prefix = new Date(time).toISOString().slice(0, -'00.000Z'.length);
    last.minute = minute;
  }
  const rest = time - minute * MINUTE_MS;
  const second = Math.floor(rest / 1_000);
  return `${last.prefix}${SECONDS[second]}${MILLISECONDS[rest - second * 1_000]}`;
}

/** A Proxy, or a subclass of `Date` in the host, may throw here. */
function timeOf(value: unknown): number {
  try {
    return value instanceof Date ? value.getTime() : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
