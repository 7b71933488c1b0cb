import { progressOf, type TaskProgress } from '../../../model.ts';
import { valueEnd } from './json-text.ts';

/** Longest `meta` of a custom state in which progress is searched, in characters. */
const LONGEST_META = 65_536;

/** Of `update_state(state='PROGRESS', meta={'current': 3, 'total': 10})`. */
export function storedProgress(text: string, start: number | undefined): TaskProgress | undefined {
  if (start === undefined) return undefined;
  const end = valueEnd(text, start);
  if (end - start > LONGEST_META) return undefined;
  try {
    return progressOf(JSON.parse(text.slice(start, end))) ?? undefined;
  } catch {
    // Python also writes NaN and Infinity.
    return undefined;
  }
}
