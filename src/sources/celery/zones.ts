/**
 * Local time of a zone and back. A local time is written as the moment at which UTC shows it, in
 * milliseconds since 1970.
 */

const DAY = 86_400_000;

// Maximum number of cached zones, more than exist; the names come from outside.
const MOST_FORMATS = 1000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Whether this is a zone that can be read, such as `Europe/Prague`. */
export function isTimeZone(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= 64 && formatOf(name) !== null;
}

/** The local time of the zone at a moment. */
export function localTime(time: number, zone: string): number {
  return time + offsetAt(time, zone);
}

/**
 * The moment at which the clocks of the zone show a local time. If they skip it in spring, the offset before
 * the change is used, so `02:30` is the moment of their `03:30`. If they show it twice in autumn, it is the
 * first moment after `after` (Python's `fold`, which Celery 5.3 and later uses).
 */
export function momentOf(local: number, zone: string, after = Number.NEGATIVE_INFINITY): number {
  const before = local - offsetAt(local - DAY, zone);
  const behind = local - offsetAt(local + DAY, zone);
  if (before === behind) return before;
  const shown = [before, behind].filter((moment) => localTime(moment, zone) === local);
  return shown.find((moment) => moment > after) ?? shown[0] ?? before;
}

function offsetAt(time: number, zone: string): number {
  const format = formatOf(zone);
  const part = format?.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const match = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(part);
  if (match === null) return 0;
  const [, sign, hours, minutes, seconds = '0'] = match;
  const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === '-' ? -size : size) * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    if (formats.size >= MOST_FORMATS) formats.clear();
    formats.set(zone, format);
    return format;
  } catch {
    return null;
  }
}
