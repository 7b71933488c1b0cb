/** Reads scalar fields. A value of the wrong type becomes `null`. */

import { LONGEST_LABEL } from '../text.ts';

/**
 * Maximum length of a list inside an item, such as the queues of a worker. More would block other requests.
 */
export const MOST_ITEMS = 10_000;

/** A text that is never truncated: an id, a name, a hostname, a state. An empty one counts as missing. */
export function label(value: unknown): string | null {
  return isLabel(value) ? wellFormed(value) : null;
}

function isLabel(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL;
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
