/** Converts values to the text that clients see: without secrets, truncated at a limit. */
import type { Redactor } from '../redact.ts';
import { textOf } from '../text.ts';
import { wellFormed } from './scalars.ts';

/** A value as clients see it. */
export interface ShownText {
  /** `null` when there is nothing to show. */
  readonly text: string | null;
  /** Whether we truncated the text. */
  readonly isCut: boolean;
}

/**
 * Converts one value.
 *
 * @param value anything
 * @param field name of the field, passed to a function of the host
 * @param isCut whether the engine has already truncated the value. Default false
 * @param isRedacted whether the source has already removed secrets, so that no rules apply. Default false
 */
export type ShowText = (value: unknown, field: string, isCut?: boolean, isRedacted?: boolean) => ShownText;

/** The rules that apply to a value. */
export type Rules = Pick<Redactor, 'text' | 'isSecretKey'>;

const NO_RULES: Rules = { text: (text) => text, isSecretKey: () => false };

/** @param isRedacted whether the source has already applied its rules */
export function rulesFor(redactor: Redactor, isRedacted: boolean): Rules {
  return isRedacted ? NO_RULES : redactor;
}

const NOTHING: ShownText = Object.freeze({ text: null, isCut: false });

// Masking shortens a text, so read this many more characters than are shown.
const MARGIN = 4_096;

/**
 * @param limit maximum length of a text in characters (UTF-16 code units), including the `…` of a truncated
 *   one
 */
export function createShowText(redactor: Redactor, limit: number): ShowText {
  const most = limit + MARGIN;
  return function show(value, field, isCut = false, isRedacted = false) {
    const rules = rulesFor(redactor, isRedacted);
    const raw = rawText(value, most, rules);
    if (raw === null) return NOTHING;
    const isLong = raw.length > most;
    const text = rules.text(isLong ? raw.slice(0, most) : raw, field, isLong || isCut);
    if (!isLong && text.length <= limit) return { text: wellFormed(text), isCut: false };
    return { text: ellipsize(text, limit), isCut: true };
  };
}

/**
 * The text before redaction; `null` for values that JSON cannot express.
 * @param most number of characters after which writing may stop
 */
export function rawText(value: unknown, most: number, { isSecretKey }: Rules): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  const text = textOf(value, most, isSecretKey);
  return text === 'null' ? null : text;
}

/** The start of a text and `…`, together at most `limit` long. Never splits a surrogate pair. */
export function ellipsize(text: string, limit: number): string {
  let end = Math.min(text.length, limit - 1);
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${wellFormed(text.slice(0, end))}…`;
}
