/**
 * Parses ISO 8601 as Python writes it. Without an offset, the time is UTC: Celery 5.2 writes `date_done` like
 * that, and `Date.parse` would read it as local time.
 *
 * @returns milliseconds since 1970; `undefined` if the value is not a time
 */
export function parseMoment(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const time = text.indexOf('T');
  const last = text.charCodeAt(text.length - 1);
  const hasOffset = last === 90 || text.indexOf('+', time) > 0 || text.indexOf('-', time) > time;
  const moment = Date.parse(time < 0 || hasOffset ? text : `${text}Z`);
  return Number.isNaN(moment) ? undefined : moment;
}
