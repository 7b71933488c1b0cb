/** Values as clients see them: text without secrets, cut at a limit. */
import type { Redactor } from '../redact.ts';
import { textOf } from '../text.ts';
import { wellFormed } from './scalars.ts';

/** A value as it is shown. */
export interface ShownText {
  /** `null` when there is nothing to show. */
  readonly text: string | null;
  /** Whether its end is missing, because we cut it. */
  readonly isCut: boolean;
}

/**
 * @param value what is to be shown; anything
 * @param field where, for the host's own redaction
 * @param isCut whether the engine has cut it before
 */
export type ShowText = (value: unknown, field: string, isCut?: boolean) => ShownText;

const NOTHING: ShownText = Object.freeze({ text: null, isCut: false });

// Masking shortens a text: this much more of it is read than is shown, and no more, however long it is.
const MARGIN = 4_096;

/** How many characters of a text are read to show so many. */
export function mostRead(limit: number): number {
  return limit + MARGIN;
}

/** @param limit longest text, in characters (UTF-16 code units), the `…` of a cut one included */
export function createShowText(redactor: Redactor, limit: number): ShowText {
  const most = mostRead(limit);
  return function show(value, field, isCut = false) {
    const raw = rawText(value, most, redactor);
    if (raw === null) return NOTHING;
    const isLong = raw.length > most;
    const text = redactor.text(isLong ? raw.slice(0, most) : raw, field, isLong || isCut);
    if (!isLong && text.length <= limit) return { text: wellFormed(text), isCut: false };
    return { text: ellipsize(text, limit), isCut: true };
  };
}

/** The text that is looked at, secrets and all; `null` for what cannot be said in JSON. */
export function rawText(value: unknown, most: number, redactor: Redactor): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  const text = textOf(value, most, redactor.isSecretKey);
  return text === 'null' ? null : text;
}

/** The beginning of a text and `…`, together at most `limit` long; no character is split. */
function ellipsize(text: string, limit: number): string {
  let end = Math.min(text.length, limit - 1);
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${wellFormed(text.slice(0, end))}…`;
}
