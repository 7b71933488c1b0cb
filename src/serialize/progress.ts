import { LONGEST_PROGRESS, percentOf, shareOf } from '../model.ts';
import { isRecord } from '../values.ts';
import type { TaskProgressBody } from '../wire.ts';
import { figure } from './scalars.ts';
import { ellipsize, type ShowText } from './shown-text.ts';

/** Maximum length of a progress text, in characters. */
const LONGEST_SHOWN = 200;

/** Serializes the progress of a task; `null` if none of it is readable. */
export function progressBody(value: unknown, show: ShowText, isRedacted: boolean): TaskProgressBody | null {
  if (!isRecord(value)) return null;
  const [current, total, given] = [figure(value.current), figure(value.total), figure(value.percent)];
  const percent = given === null ? shareOf(current, total) : percentOf(given);
  const text = textOf(value.text, show, isRedacted);
  return [current, total, percent, text].every((each) => each === null)
    ? null
    : { current, total, percent, text };
}

function textOf(value: unknown, show: ShowText, isRedacted: boolean): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const isCut = value.length >= LONGEST_PROGRESS;
  const { text } = show(value.slice(0, LONGEST_PROGRESS), 'progress', isCut, isRedacted);
  return text === null || text.length <= LONGEST_SHOWN ? text : ellipsize(text, LONGEST_SHOWN);
}
