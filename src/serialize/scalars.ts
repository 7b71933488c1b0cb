/** Fields as the wire has them: what is not of its type is `null`. */

import { LONGEST_LABEL } from '../text.ts';

/** Most items of a list inside an item (queues of a worker …): more would hold up every other request. */
export const MOST_ITEMS = 10_000;

/** Text that is never cut: an id, a name, a hostname, a state. Never empty: an empty one tells nothing. */
export function label(value: unknown): string | null {
  return isLabel(value) ? wellFormed(value) : null;
}

function isLabel(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_LABEL;
}

/** The texts among the first {@link MOST_ITEMS} items of a list; `null` for what is no list. */
export function labels(value: unknown, most = MOST_ITEMS): string[] | null {
  if (!Array.isArray(value)) return null;
  const texts: string[] = [];
  for (const item of value.slice(0, most)) {
    if (typeof item === 'string' && item.length <= LONGEST_LABEL) texts.push(wellFormed(item));
  }
  return texts;
}

/** A finite number, `-0` as 0. */
export function figure(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value + 0 : null;
}

/** A whole number, `-0` as 0. */
export function whole(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) + 0 : null;
}

/** JSON holds half a character only as an escape that strict readers refuse. */
export function wellFormed(text: string): string {
  return HALVES.test(text) ? text.replace(LONE_HALVES, '\ufffd') : text;
}

// Without the flag `u` this costs nothing for the many texts of one byte per character.
const HALVES = /[\ud800-\udfff]/;
const LONE_HALVES = /\p{Surrogate}/gu;
