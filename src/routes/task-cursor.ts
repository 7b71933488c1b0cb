import { createHash } from 'node:crypto';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import { isTaskPosition } from '../source/pages.ts';
import type { TaskPosition } from '../source.ts';

/** A position in a list of tasks, and which list that is. */
export interface TaskCursor {
  /** Of sort, order and filters. */
  readonly list: string;
  readonly position: TaskPosition;
}

const KIND = 'tasks';

/** Names a list by what it is made from. */
export function listNameOf(...criteria: readonly unknown[]): string {
  return createHash('sha1').update(JSON.stringify(criteria)).digest('base64url').slice(0, 12);
}

export function encodeTaskCursor({ list, position: { key, id, mark } }: TaskCursor): string {
  return encodeCursor(KIND, mark === undefined ? [list, key, id] : [list, key, id, mark]);
}

/** @returns `null` when it is no such cursor */
export function decodeTaskCursor(text: string): TaskCursor | null {
  const [list, key, id, mark, ...rest] = decodeCursor(KIND, text) ?? [];
  const position = { key, id, ...(mark !== undefined && { mark }) };
  if (typeof list !== 'string' || !isTaskPosition(position) || rest.length > 0) return null;
  return { list, position };
}
