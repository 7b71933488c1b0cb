import { createHash } from 'node:crypto';
import { decodeCursor, decodeEarlierCursor, encodeCursor, LONGEST_CURSOR } from '../cursor.ts';
import { isTaskPosition } from '../source/pages.ts';
import type { TaskPosition } from '../source.ts';

/** A position in a list of tasks, and the name of that list. */
export interface TaskCursor {
  /** Name of the list, see {@link listNameOf}; `null` in a cursor of version 0.1.0, which named lists differently. */
  readonly list: string | null;
  readonly position: TaskPosition;
}

const KIND = 'tasks';

/** A name for a list: a hash of sort, order and filters. */
export function listNameOf(...criteria: readonly unknown[]): string {
  return createHash('sha1').update(JSON.stringify(criteria)).digest('base64url').slice(0, 12);
}

/**
 * Writes a cursor for clients.
 *
 * @throws TypeError for a position that no cursor has room for
 */
export function encodeTaskCursor(list: string, { key, id, mark }: TaskPosition): string {
  const text = encodeCursor(KIND, mark === undefined ? [list, key, id] : [list, key, id, mark]);
  if (text.length <= LONGEST_CURSOR) return text;
  throw new TypeError(
    'listTasks() must return a position of at most 5,000 bytes: shorten its mark, or leave it out.',
  );
}

/** Parses a cursor; `null` when it is not valid. */
export function decodeTaskCursor(text: string): TaskCursor | null {
  const parts = decodeCursor(KIND, text);
  const [list, key, id, mark, ...rest] = parts ?? decodeEarlierCursor(KIND, text) ?? [];
  const position = { key, id, ...(mark !== undefined && { mark }) };
  if (typeof list !== 'string' || !isTaskPosition(position) || rest.length > 0) return null;
  return { list: parts === null ? null : list, position };
}
