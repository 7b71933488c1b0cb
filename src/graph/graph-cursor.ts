/** What a client gives as `since`: a cursor, or the moment of an answer before. */

/** A place in the changes of one graph. */
export type GraphSince =
  | { readonly instance: string; readonly view: string; readonly sequence: number }
  | { readonly time: Date };

const CURSOR = /^([0-9a-f]{8})-([0-9a-f]{12})-([0-9a-z]{1,10})$/;

/** Reads a cursor; `null` when it is none. A moment is read by the caller: `{ time }`. */
export function parseGraphCursor(text: string): GraphSince | null {
  const [, instance, view, sequence] = CURSOR.exec(text) ?? [];
  if (instance === undefined || view === undefined || sequence === undefined) return null;
  return { instance, view, sequence: Number.parseInt(sequence, 36) };
}

/** Writes a cursor. */
export function formatGraphCursor(instance: string, view: string, sequence: number): string {
  return `${instance}-${view}-${sequence.toString(36)}`;
}
