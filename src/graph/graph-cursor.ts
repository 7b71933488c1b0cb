import { decodeCursor, encodeCursor } from '../cursor.ts';

/** The parameter `since`: a cursor position, or the `generated_at` of an earlier answer. */
export type GraphSince =
  | { readonly instance: string; readonly view: string; readonly sequence: number }
  | { readonly time: Date };

const KIND = 'graph';
/** A cursor of version 0.1.0, which clients that were open during an upgrade still send. */
const EARLIER = /^[0-9a-f]{8}-[0-9a-f]{12}-[0-9a-z]{1,10}$/;
/** A position that no instance knows. */
const UNKNOWN: GraphSince = { instance: '', view: '', sequence: 0 };

/** Parses a cursor; `null` when the text is not one. The caller parses timestamps itself, into `{ time }`. */
export function parseGraphCursor(text: string): GraphSince | null {
  if (EARLIER.test(text)) return UNKNOWN;
  const [instance, view, sequence] = decodeCursor(KIND, text) ?? [];
  if (typeof instance !== 'string' || typeof view !== 'string') return null;
  return Number.isSafeInteger(sequence) ? { instance, view, sequence: Number(sequence) } : null;
}

/**
 * Formats a cursor.
 *
 * @param instance id of this process, see `GraphTrackerOptions.instance`
 * @param view hash of task id and limit
 * @param sequence number of the last change that the client has seen
 */
export function formatGraphCursor(instance: string, view: string, sequence: number): string {
  return encodeCursor(KIND, [instance, view, sequence]);
}
