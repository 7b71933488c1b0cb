/** What a client sends as `since`: a cursor, or the `generated_at` of an earlier answer. */
export type GraphSince =
  | { readonly instance: string; readonly view: string; readonly sequence: number }
  | { readonly time: Date };

const CURSOR = /^([0-9a-f]{8})-([0-9a-f]{12})-([0-9a-z]{1,10})$/;

/** Parses a cursor; `null` when the text is not one. The caller parses timestamps itself, into `{ time }`. */
export function parseGraphCursor(text: string): GraphSince | null {
  const [, instance, view, sequence] = CURSOR.exec(text) ?? [];
  if (instance === undefined || view === undefined || sequence === undefined) return null;
  return { instance, view, sequence: Number.parseInt(sequence, 36) };
}

/**
 * Formats a cursor.
 *
 * @param instance id of this process, see `GraphTrackerOptions.instance`
 * @param view hash of task id and limit
 * @param sequence number of the last change that the client has seen
 */
export function formatGraphCursor(instance: string, view: string, sequence: number): string {
  return `${instance}-${view}-${sequence.toString(36)}`;
}
