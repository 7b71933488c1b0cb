import type { Redactor } from '../redact.ts';
import { rawText, type ShowText } from './shown-text.ts';

// A secret of several lines (a private key) that begins further above is no exception's line.
const LOOK_BACK = 16_384;

// V8's stacks have the exception first and the calls below it; Python's have it last.
const CALL = /^\s+at\s/;

/** The line of a traceback that says what happened, as a preview; `null` for none. */
export function exceptionLine(value: unknown, show: ShowText, redactor: Redactor): string | null {
  const raw = rawText(value, LOOK_BACK, redactor);
  if (raw === null) return null;
  const lines = redactor.text(tail(raw), 'traceback').split('\n');
  let line = lines.findLast((text) => text.trim() !== '' && !CALL.test(text));
  line ??= lines.findLast((text) => text.trim() !== '');
  return line === undefined ? null : show(line.trim(), 'traceback').text;
}

/** The last whole lines of a text. Of one endless line its beginning, where the exception's name is. */
function tail(raw: string): string {
  if (raw.length <= LOOK_BACK) return raw;
  const start = raw.indexOf('\n', raw.length - LOOK_BACK);
  return start < 0 || start > raw.length - 2 ? raw.slice(0, LOOK_BACK) : raw.slice(start + 1);
}
