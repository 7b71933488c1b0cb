/** Writes one result as Celery's own JSON ("meta"). */
import type { TaskTextField } from '../../../../model.ts';
import { skipSpace, valueEnd } from '../../protocol/json-text.ts';
import { CUT_MEMBER } from '../../protocol/results.ts';
import { type SqlRow, textOf, timeOf } from '../../sql/sql-values.ts';

/** Longest traceback that is read, in characters. */
export const LONGEST_TRACEBACK: number = 64 * 1024;
/** Most characters of a result with all that belongs to it. */
const MOST_TEXT = 384 * 1024;

/** States in which Celery dates a result. */
const ENDED: ReadonlySet<string> = new Set(['SUCCESS', 'FAILURE', 'REVOKED', 'REJECTED']);

/** A row as a result. */
export interface ResultOfRow {
  /** Of the task. */
  readonly id: string;
  /** Celery's own JSON. */
  readonly text: string;
  /** When the row was written, in milliseconds since 1970; `null` if unknown. */
  readonly writtenAt: number | null;
}

/** A result that is being written. */
export interface ResultMeta {
  readonly id: string;
  readonly state: string;
  readonly writtenAt: number | null;
  /** JSON by name. */
  readonly members: Map<string, string>;
  /** Fields that are cut or left out. */
  readonly cut: TaskTextField[];
  /** Characters that it may still get: decoding it takes a turn of the event loop. */
  left: number;
}

/** @returns `null` for a row without an id or a state */
export function newMeta(row: SqlRow, zone: string): ResultMeta | null {
  const id = textOf(row, 'task');
  const state = textOf(row, 'state');
  if (id === null || id === '' || state === null || state === '') return null;
  const writtenAt = timeOf(row, 'time', zone);
  // The state comes first, as Celery writes it. Rows name no parent, which does not mean that there is none.
  const members = new Map([
    ['status', JSON.stringify(state)],
    ['parent_id', 'false'],
    ['task_id', JSON.stringify(id)],
  ]);
  const meta: ResultMeta = { id, state, writtenAt, members, cut: [], left: MOST_TEXT };
  const traceback = textOf(row, 'traceback') ?? '';
  if (traceback !== '') addText(meta, 'traceback', traceback);
  if (traceback.length >= LONGEST_TRACEBACK) meta.cut.push('traceback');
  // Django dates all rows; to the decoder, a date means that the task has ended.
  if (writtenAt !== null && ENDED.has(state)) addDate(meta, writtenAt);
  return meta;
}

/** Dates the end of the task; a task that waits, when it was sent. */
export function addDate({ members }: ResultMeta, time: number): void {
  members.set('date_done', JSON.stringify(new Date(time).toISOString()));
}

/** Adds a text, however long. */
export function addText(meta: ResultMeta, name: string, value: string | null): void {
  const json = JSON.stringify(value);
  meta.members.set(name, json);
  meta.left -= json.length;
}

/**
 * Adds text that is already JSON.
 *
 * @returns false for what is no JSON or too long beside the rest, which is left out
 */
export function addJson(meta: ResultMeta, name: string, value: string | null): boolean {
  if (value === null || value.length > meta.left || !isWhole(value)) return false;
  meta.members.set(name, value);
  meta.left -= value.length;
  return true;
}

/** The text of a complete result. */
export function rowOf({ id, writtenAt, members, cut }: ResultMeta): ResultOfRow {
  if (cut.length > 0) members.set(CUT_MEMBER, JSON.stringify(cut));
  const text = `{${[...members].map(([name, json]) => `"${name}": ${json}`).join(', ')}}`;
  return { id, text, writtenAt };
}

/** Whether a text is one JSON value, as far as its brackets and strings show. */
function isWhole(text: string): boolean {
  try {
    return skipSpace(text, valueEnd(text, skipSpace(text, 0))) === text.length;
  } catch {
    return false;
  }
}
