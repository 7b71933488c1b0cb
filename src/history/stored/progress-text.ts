/** The progress of a task as JSON: an array takes a third of the space of an object. */
import { isTime } from '../../values.ts';
import type { KeptProgress } from '../merge/progress.ts';

/** @returns what JSON keeps */
export function writeProgress({ value, at, attempt, isRedacted }: KeptProgress): unknown {
  const { current, total, percent, text } = value;
  return [at, attempt, isRedacted === true ? 1 : 0, current, total, percent, text];
}

/** @returns `null` for text that {@link writeProgress} has not written */
export function readProgress(written: unknown): KeptProgress | null {
  if (!Array.isArray(written)) return null;
  const [at, attempt, isRedacted, current, total, percent, text] = written as unknown[];
  if (!isTime(at)) return null;
  const value = {
    current: numberOr(current),
    total: numberOr(total),
    percent: numberOr(percent),
    text: typeof text === 'string' ? text : null,
  };
  return { value, at, attempt: numberOr(attempt), ...(isRedacted === 1 && { isRedacted: true }) };
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
