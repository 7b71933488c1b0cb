/**
 * Ids and names as columns. PostgreSQL stores neither NUL nor half a surrogate pair in a text, and ids may contain
 * both. Texts with one of them, or with a backslash, are stored with JSON's escapes; all others as they are.
 */

const NEEDS_ESCAPE = /[\0\\]|\p{Surrogate}/u;

/** @returns the text as a column holds it */
export function toColumn(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return text;
  return JSON.stringify(text).slice(1, -1);
}

/** @returns the original text of {@link toColumn}; a column that somebody else wrote as it is */
export function fromColumn(column: string): string {
  if (!column.includes('\\')) return column;
  try {
    return String(JSON.parse(`"${column}"`));
  } catch {
    return column;
  }
}

/** Characters that JSON does not escape, and that the database lower-cases as JavaScript does. */
const PLAIN_RUNS = /[\u0020\u0021\u0023-\u005b\u005d-\u007e]+/g;
/** Shorter texts are in nearly every record. */
const SHORTEST = 3;

/**
 * The pattern of `LIKE` for JSON that may contain a text, whatever case it has: that of its longest plain part.
 *
 * @returns `null`: no part of the text is selective
 */
export function containing(text: string): string | null {
  const parts = (text.match(PLAIN_RUNS) ?? []).toSorted((a, b) => b.length - a.length);
  const [longest = ''] = parts;
  return longest.length < SHORTEST ? null : `%${longest.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** @returns the beginnings that a column may have of a text that begins with this one, which has whole characters */
export function prefixesInColumn(prefix: string): readonly string[] {
  const escaped = JSON.stringify(prefix).slice(1, -1);
  // Characters without need for an escape may be in a text with escapes.
  return NEEDS_ESCAPE.test(prefix) || escaped === prefix ? [escaped] : [prefix, escaped];
}
