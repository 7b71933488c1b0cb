/** Items of the feed as text, and back. */
import type { Steps } from '../../scheduler.ts';
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

/** @returns what can be read */
export function readFeedText(text: string): HeardItem[] {
  const rows = parse(text);
  return rows.flatMap((row) => (Array.isArray(row) ? (itemOf(row) ?? []) : []));
}

function parse(text: string): readonly unknown[] {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows : [];
  } catch {
    return [];
  }
}

function itemOf(row: Row): HeardItem | null {
  const [number, arrivedAt, type, time, ...texts] = row;
  if (typeof number !== 'number' || typeof arrivedAt !== 'number') return null;
  if (typeof type !== 'string' || typeof time !== 'number') return null;
  const [task = null, taskId = null, state = null, worker = null, detail = null] = texts.map((text) =>
    typeof text === 'string' ? text : null,
  );
  return {
    number,
    arrivedAt,
    item: { type, time, task, taskId, state, worker, detail },
  };
}
