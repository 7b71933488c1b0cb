import { LONGEST_PROGRESS, progressOf, type TaskProgress } from '../../../model.ts';
import type { JobValue } from './job-values.ts';

/** Longest progress that is read, in characters. */
const LONGEST = 4_096;

/**
 * The value that a job has passed to `updateProgress`: a number is a percentage. For an object or text without a
 * figure, its beginning is shown.
 */
export function jobProgress(value: JobValue | undefined): TaskProgress | null {
  if (value === undefined) return null;
  const { text } = value;
  const given = value.isCut || text.length > LONGEST ? undefined : parse(text);
  if (given === null || typeof given === 'boolean') return null;
  const shown = typeof given === 'string' ? given : text;
  return (
    progressOf(given) ??
    (shown === '' || typeof given === 'number'
      ? null
      : { current: null, total: null, percent: null, text: shown.slice(0, LONGEST_PROGRESS) })
  );
}

/** `undefined` for a text that is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
