/**
 * Reads the fields of items, which may have any value: as texts without secrets, labels, figures and times.
 */

import type { Redactor } from '../redact.ts';
import { LONGEST_LABEL, textOf } from '../text.ts';
import { timeOf } from '../values.ts';

/** A value as clients see it. */
interface ShownText {
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
type Rules = Pick<Redactor, 'text' | 'isSecretKey'>;

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
function ellipsize(text: string, limit: number): string {
  let end = Math.min(text.length, limit - 1);
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end -= 1;
  return `${wellFormed(text.slice(0, end))}…`;
}

/** The text, or its start and `…` if it is longer than `most`. */
export function shorten<Text extends string | null>(text: Text, most: number): Text | string {
  return text === null || text.length <= most ? text : ellipsize(text, most);
}

/**
 * Maximum length of a list inside an item, such as the queues of a worker. More would block other requests.
 */
export const MOST_ITEMS = 10_000;

/** A text that is never truncated: an id, a name, a hostname, a state. An empty one counts as missing. */
export function label(value: unknown): string | null {
  const isLabel = typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL;
  return isLabel ? wellFormed(value) : null;
}

/**
 * The texts among the first `most` items of a list; `null` when the value is not a list. Default
 * {@link MOST_ITEMS}.
 */
export function labels(value: unknown, most = MOST_ITEMS): string[] | null {
  if (!Array.isArray(value)) return null;
  const texts: string[] = [];
  for (const item of value.slice(0, most)) {
    if (typeof item === 'string' && item.length <= LONGEST_LABEL) texts.push(wellFormed(item));
  }
  return texts;
}

/** A finite number, with `-0` as 0; `null` for anything else. */
export function figure(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : null;
}

/** An integer, with `-0` as 0; `null` for anything else. */
export function whole(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) + 0 : null;
}

/**
 * Counts by name, such as tasks by state; `null` if the value is not an object. Any name is allowed: `fromEntries`
 * stores `__proto__` as an ordinary member.
 */
export function countsOf(value: unknown): Record<string, number> | null {
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MOST_ITEMS)
      .flatMap(([name, count]) => {
        const known = whole(count);
        return known === null ? [] : [[wellFormed(name), known]];
      }),
  );
}

/** Replaces lone surrogates, which JSON can only escape and strict parsers reject. */
export function wellFormed(text: string): string {
  return HALVES.test(text) ? text.replace(LONE_HALVES, '\ufffd') : text;
}

// Without the `u` flag this is nearly free for strings that the engine stores with one byte per character.
const HALVES = /[\ud800-\udfff]/;
const LONE_HALVES = /\p{Surrogate}/gu;

// Formatting times dominates the cost of a row, and most times of a row are in the same minute.
const MINUTE_MS = 60_000;
const SECONDS = Array.from({ length: 60 }, (_, second) => `${String(second).padStart(2, '0')}.`);
const MILLISECONDS = Array.from({ length: 1_000 }, (_, milli) => `${String(milli).padStart(3, '0')}Z`);

const last = { minute: Number.NaN, prefix: '' };

// Years 0000 to 9999. Other years need a form of ISO 8601 (`+010000-…`) that few clients can read.
const FIRST = -62_167_219_200_000;
const LAST = 253_402_300_799_999;

/**
 * Formats a time as the API does: ISO 8601, UTC, milliseconds. `null` for anything but a `Date` within the
 * years 0000 to 9999.
 */
export function isoTime(value: unknown): string | null {
  const time = timeOf(value);
  if (!Number.isInteger(time) || time < FIRST || time > LAST) return null;
  const minute = Math.floor(time / MINUTE_MS);
  if (minute !== last.minute) {
    last.prefix = new Date(time).toISOString().slice(0, -'00.000Z'.length);
    last.minute = minute;
  }
  const rest = time - minute * MINUTE_MS;
  const second = Math.floor(rest / 1_000);
  return `${last.prefix}${SECONDS[second]}${MILLISECONDS[rest - second * 1_000]}`;
}
