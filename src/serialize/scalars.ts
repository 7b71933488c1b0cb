/** Fields as the wire has them: what is not of its type is `null`. */

/** Text that is never cut: an id, a name, a hostname, a state. Never empty: an empty one tells nothing. */
export function label(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? wellFormed(value) : null;
}

/** The texts of a list; `null` for what is no list. */
export function labels(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null;
  const texts: string[] = [];
  for (const item of value) if (typeof item === 'string') texts.push(wellFormed(item));
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
  return LONE.test(text) ? text.replace(EVERY_LONE, '\ufffd') : text;
}

const LONE = /\p{Surrogate}/u;
const EVERY_LONE = /\p{Surrogate}/gu;
