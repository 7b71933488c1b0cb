/** Items of the feed as text, and back. */
import type { Steps } from '../../scheduler.ts';
import { isTime } from '../../values.ts';
import type { HeardItem } from '../memory/tap.ts';

type Row = readonly unknown[];

/** Items between two pauses. */
const ITEMS_AT_ONCE = 50;

/** @param items without secrets */
export function* writeFeedText(items: readonly HeardItem[]): Steps<string> {
  const texts: string[] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    const rows = items.slice(at, at + ITEMS_AT_ONCE).map(rowOf);
    texts.push(JSON.stringify(rows).slice(1, -1));
    yield;
  }
  return `[${texts.join(',')}]`;
}

function rowOf({ number, arrivedAt, item }: HeardItem): Row {
  const { type, task, taskId, state, worker, time, detail } = item;
  const row = [number, Math.round(arrivedAt), type, time, task, taskId, state, worker, detail];
  while (row.at(-1) === null) row.pop();
  return row;
}

/** @returns the readable items */
export function readFeedText(text: string): HeardItem[] {
  const known = new Map<string, string>();
  const items: HeardItem[] = [];
  for (const row of parse(text)) {
    const item = Array.isArray(row) ? itemOf(row, known) : null;
    if (item !== null) items.push(item);
  }
  return items;
}

function parse(text: string): readonly unknown[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows : [];
  } catch {
    return [];
  }
}

/** @param known the texts of the items before: most repeat, and each row has copies of its own */
function itemOf(row: Row, known: Map<string, string>): HeardItem | null {
  const [number, arrivedAt, type, time, task, taskId, state, worker, detail] = row;
  if (typeof number !== 'number' || !isTime(arrivedAt)) return null;
  if (typeof type !== 'string' || !isTime(time)) return null;
  const item = {
    type: once(type, known),
    time,
    task: typeof task === 'string' ? once(task, known) : null,
    taskId: typeof taskId === 'string' ? taskId : null,
    state: typeof state === 'string' ? once(state, known) : null,
    worker: typeof worker === 'string' ? once(worker, known) : null,
    detail: typeof detail === 'string' ? detail : null,
  };
  return { number, arrivedAt, item };
}

/** The first of several equal texts. */
function once(text: string, known: Map<string, string>): string {
  const first = known.get(text);
  if (first === undefined) known.set(text, text);
  return first ?? text;
}
