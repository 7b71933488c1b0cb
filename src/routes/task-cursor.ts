import { createHash } from 'node:crypto';
import type { TaskPosition } from '../source.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';

/** A place in a list of tasks, and which list that is. */
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
  return mark === undefined ? encodeCursor(KIND, list, key, id) : encodeCursor(KIND, list, key, id, mark);
}

/** @returns `null` when it is no such cursor */
export function decodeTaskCursor(text: string): TaskCursor | null {
  const [list, key, id, mark, ...rest] = decodeCursor(KIND, text) ?? [];
  const position = { key, id, ...(mark !== undefined && { mark }) };
  if (typeof list !== 'string' || !isTaskPosition(position) || rest.length > 0) return null;
  return { list, position };
}

/** Whether a value can say where a page begins. */
export function isTaskPosition(value: unknown): value is TaskPosition {
  if (typeof value !== 'object' || value === null) return false;
  const { key, id, mark } = value as Partial<Record<keyof TaskPosition, unknown>>;
  return (
    (key === null || typeof key === 'string' || (typeof key === 'number' && Number.isFinite(key))) &&
    typeof id === 'string' &&
    (mark === undefined || typeof mark === 'string')
  );
}
