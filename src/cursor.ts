/**
 * Cursors mark a position in a list, a feed or a graph, as text that clients send back unchanged. A cursor
 * contains its kind and version, so a cursor of another list is recognized. Clients can send anything, so every
 * reader of a cursor checks all of its parts.
 */

/** Longest cursor that is accepted, in characters: it fits into any URL. */
export const LONGEST_CURSOR = 8_192;

const VERSION = 1;

/**
 * Writes a cursor for clients: base64url, opaque.
 *
 * @param kind name of the list; letters only
 * @param parts anything that survives JSON
 */
export function encodeCursor(kind: string, parts: readonly unknown[]): string {
  return Buffer.from(writeMark(kind, parts)).toString('base64url');
}

/** @returns the parts given to {@link encodeCursor}, of unknown shape; `null` when it is not a cursor of this kind */
export function decodeCursor(kind: string, text: string): readonly unknown[] | null {
  return readMark(kind, plainText(text));
}

/** Whether a text is a cursor of this kind in the format of another version of this library. */
export function isForeignCursor(kind: string, text: string): boolean {
  const [, name, version] = /^([a-z]+)(\d+)\[/.exec(plainText(text)) ?? [];
  return name === kind && Number(version) !== VERSION;
}

/** The text of a cursor; empty if it cannot be one. */
function plainText(text: string): string {
  const isPossible = text.length <= LONGEST_CURSOR && /^[\w-]+$/.test(text);
  return isPossible ? Buffer.from(text, 'base64url').toString('utf8') : '';
}

/**
 * Writes the same as plain text, to be embedded in another cursor: the `mark` of a task position, the cursor
 * of a feed. It is encoded once, with the whole cursor.
 */
export function writeMark(kind: string, parts: readonly unknown[]): string {
  return prefixOf(kind) + JSON.stringify(parts);
}

/** @returns the parts given to {@link writeMark}, of unknown shape; `null` when it is not a mark of this kind */
export function readMark(kind: string, text: string): readonly unknown[] | null {
  const prefix = prefixOf(kind);
  if (!text.startsWith(prefix)) return null;
  try {
    const parts: unknown = JSON.parse(text.slice(prefix.length));
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}

function prefixOf(kind: string): string {
  return `${kind}${VERSION}`;
}
