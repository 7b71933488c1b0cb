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

/** @returns the text that {@link toColumn} was given */
export function fromColumn(column: string): string {
  if (!column.includes('\\')) return column;
  const text: unknown = JSON.parse(`"${column}"`);
  return String(text);
}
