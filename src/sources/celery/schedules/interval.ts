/** Intervals in the text forms of Python and Celery. */
import { everyText } from '../../../text/every-text.ts';

/** Seconds of a Python timedelta's text, such as `0:00:05`, `1 day, 0:00:00` or `0:00:00.500000`. */
export function readTimedelta(text: string): number | null {
  const match = /^(?:(-?\d{1,9}) days?, )?(\d{1,2}):(\d\d):(\d\d(?:\.\d{1,6})?)$/.exec(text);
  if (match === null) return null;
  const [, days = '0', hours, minutes, seconds] = match;
  return ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60 + Number(seconds);
}

/**
 * Parses the repr of a Celery interval, such as `<freq: 30.00 seconds>` (`humanize_seconds` in
 * celery/utils/time.py).
 *
 * @returns its seconds, `null` where two decimals of the unit are not exact to the second; or `null` if the
 * text is not such a repr
 */
export function readFrequency(
  text: string,
): { readonly seconds: number | null; readonly text: string } | null {
  if (text === '<freq: now>') return { seconds: 0, text: everyText(0) };
  const match = /^<freq: (\d{1,12}\.\d\d) (second|minute|hour|day)s?>$/.exec(text);
  if (match === null) return null;
  const [, number = '', word = ''] = match;
  if (word === 'hour' || word === 'day') {
    return { seconds: null, text: `every ${Number(number)} ${word === 'hour' ? 'h' : 'd'}` };
  }
  const seconds = word === 'minute' ? Math.round(Number(number) * 60) : Number(number);
  return { seconds, text: everyText(seconds) };
}
