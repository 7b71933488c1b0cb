import type { Redactor } from '../redact.ts';
import { rawText, rulesFor, type ShowText } from './shown-text.ts';

// Limits the search for the exception. A secret of several lines (a private key) that starts before this part
// contains no line with an exception.
const LOOK_BACK = 16_384;

// V8 prints the exception first and the calls below it, Python prints the exception last.
const CALL = /^\s+at\s/;

/**
 * The line of a traceback with the exception, as a preview; `null` if there is none.
 *
 * @param isRedacted whether the source has already removed secrets
 */
export function exceptionLine(
  value: unknown,
  show: ShowText,
  redactor: Redactor,
  isRedacted: boolean,
): string | null {
  const rules = rulesFor(redactor, isRedacted);
  const raw = rawText(value, LOOK_BACK, rules);
  if (raw === null) return null;
  const lines = rules.text(tail(raw), 'traceback').split('\n');
  let line = lines.findLast((text) => text.trim() !== '' && !CALL.test(text));
  line ??= lines.findLast((text) => text.trim() !== '');
  return line === undefined ? null : show(line.trim(), 'traceback', false, isRedacted).text;
}

/**
 * The last complete lines of a text. For a single overlong line, its beginning, which has the name of the exception.
 */
function tail(raw: string): string {
  if (raw.length <= LOOK_BACK) return raw;
  const start = raw.indexOf('\n', raw.length - LOOK_BACK);
  return start < 0 || start > raw.length - 2 ? raw.slice(0, LOOK_BACK) : raw.slice(start + 1);
}
