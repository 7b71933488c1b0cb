/**
 * A moment in ISO 8601 as Python writes it, in milliseconds since 1970; `undefined` when it is none.
 * One without an offset is UTC: Celery 5.2 writes `date_done` so, and `Date.parse` would read it as
 * local time.
 */
export function parseMoment(text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined;
  const time = text.indexOf('T');
  const last = text.charCodeAt(text.length - 1);
  const hasOffset = last === 90 || text.indexOf('+', time) > 0 || text.indexOf('-', time) > time;
  const moment = Date.parse(time < 0 || hasOffset ? text : `${text}Z`);
  return Number.isNaN(moment) ? undefined : moment;
}
