/** One field of a crontab, as Celery reads it (`crontab_parser` in celery/schedules.py). */

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * The values of a field, ascending. A field is a number, a list of numbers, or a text with parts separated by
 * commas: `*`, `a`, `a-b` (which may wrap around: `fri-mon`, `22-3`), each with an optional step (`a-b/2`),
 * with names of days and months. As in Celery, a step counts from the beginning of its range.
 *
 * @returns `null` if Celery refuses the field
 */
export function expandField(field: unknown, min: number, max: number): number[] | null {
  const values = valuesOf(field, min, max);
  if (values === null || values.length === 0) return null;
  const fits = values.every((value) => Number.isInteger(value) && value >= min && value <= max);
  return fits ? [...new Set(values)].sort((a, b) => a - b) : null;
}

function valuesOf(field: unknown, min: number, max: number): number[] | null {
  if (typeof field === 'number') return [field];
  if (Array.isArray(field)) return field.length > 1000 ? null : Array.from(field as number[]);
  if (typeof field !== 'string' || field.length > 1000) return null;
  const values: number[] = [];
  for (const part of field.split(',')) {
    const some = expandPart(part, min, max);
    if (some === null) return null;
    values.push(...some);
  }
  return values;
}

function expandPart(part: string, min: number, max: number): number[] | null {
  if (part === '*') return span(min, max);
  // Celery matches only the beginning and ignores the rest.
  const steps = /^(?:(\w+?)-(\w+)|\*)\/(\w*)/.exec(part);
  const range = /^(\w+?)-(\w+)/.exec(part);
  const [, from, to] = range ?? [];
  const values = steps !== null && range === null ? span(min, max) : expandRange(from ?? part, to, min, max);
  if (values === null || steps === null) return values;
  const step = /^\d+$/.test(steps[3] ?? '') ? Number(steps[3]) : 0;
  return step === 0 ? null : values.filter((_, index) => index % step === 0);
}

function expandRange(from: string, to: string | undefined, min: number, max: number): number[] | null {
  const first = numberOf(from, min, max);
  if (first === null || to === undefined) return first === null ? null : [first];
  const last = numberOf(to, min, max);
  if (last === null) return null;
  return last < first ? [...span(first, max), ...span(min, last)] : span(first, last);
}

function numberOf(text: string, min: number, max: number): number | null {
  const name = text.slice(0, 3).toLowerCase();
  let value = -1;
  if (/^\s*\+?\d+\s*$/.test(text)) value = Number(text);
  else if (MONTHS.includes(name)) value = MONTHS.indexOf(name) + 1;
  else value = DAYS.indexOf(name);
  return value >= min && value <= max ? value : null;
}

function span(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
