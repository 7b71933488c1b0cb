/** Recurrence rules as redbeat stores them (redbeat/schedules.py); they are shown, not computed. */

/** `freq` 0 to 6. */
const UNITS = ['year', 'month', 'week', 'd', 'h', 'min', 's'];
const PARTS = [
  ...['bysetpos', 'bymonth', 'bymonthday', 'byyearday', 'byeaster', 'byweekno', 'byweekday'],
  ...['byhour', 'byminute', 'bysecond', 'count'],
];
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/**
 * `every 5 s, byhour 1,2,3 (rrule)`
 *
 * @returns `null` if it is not one
 */
export function rruleText(rule: Readonly<Record<string, unknown>>): string | null {
  const unit = typeof rule.freq === 'number' ? UNITS[rule.freq] : undefined;
  if (unit === undefined) return null;
  const interval = typeof rule.interval === 'number' ? rule.interval : 1;
  const words = [`every ${interval} ${unit.length > 3 && interval !== 1 ? `${unit}s` : unit}`];
  for (const part of PARTS) {
    const value = Object.hasOwn(rule, part) ? rule[part] : null;
    if (value !== null && value !== undefined) words.push(`${part} ${valueText(value, part)}`);
  }
  const { until } = rule;
  if (typeof until === 'number' && Math.abs(until) < 8.64e12) {
    words.push(`until ${new Date(until * 1000).toISOString().replace('.000Z', 'Z')}`);
  }
  return `${words.join(', ')} (rrule)`;
}

function valueText(value: unknown, part: string): string {
  const items = Array.isArray(value) ? value.slice(0, 60) : [value];
  return items.map((item) => itemText(item, part)).join(',');
}

/** A weekday may be `{ __type__: 'weekday', wkday: 0 }`. */
function itemText(item: unknown, part: string): string {
  const number: unknown = typeof item === 'object' && item !== null && 'wkday' in item ? item.wkday : item;
  if (typeof number !== 'number') return '?';
  return (part === 'byweekday' ? WEEKDAYS[number] : undefined) ?? String(number);
}
