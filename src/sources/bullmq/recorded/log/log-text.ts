/** Items of the feed as text, and back. */
import type { TaskEvent } from '../../../../model.ts';
import { taskIdOf } from '../../access/queue-ref.ts';
import type { FeedItem } from '../../events/feed-items.ts';
import { isStreamId, timeOf } from '../../events/stream-entry.ts';

/** The part of one stream that was read at once. */
export interface LoggedEntries {
  readonly queue: string;
  /** The entry up to which the stream had been read before; `null`: entries before the first item may be missing. */
  readonly before: string | null;
  /** The last entry, which need not have an item. */
  readonly after: string;
  /** Oldest first. */
  readonly items: readonly FeedItem[];
}

/** Items that are kept together. */
export interface LoggedChunk {
  /** No entry of this chunk and of those before it is newer. Milliseconds since 1970, by the clock of Redis. */
  readonly through: number;
  readonly parts: readonly LoggedEntries[];
}

export function writeChunk({ through, parts }: LoggedChunk): string {
  return JSON.stringify([
    through,
    parts.map(({ queue, before, after, items }) => [
      ...[queue, before, after],
      items.flatMap((item) => rowOf(queue, item) ?? []),
    ]),
  ]);
}

/** @returns one row, in an array of its own */
function rowOf(queue: string, { id, event }: FeedItem): (readonly unknown[])[] | null {
  if (event === null) return null;
  const { type, task, taskId, state, worker, detail } = event;
  const jobId = taskId?.slice(queue.length + 1) ?? null;
  const row = [id, type, jobId, task, state, worker, detail];
  while (row.at(-1) === null) row.pop();
  return [row];
}

/** @returns `null` for any other text */
export function readChunk(text: string): LoggedChunk | null {
  const [through, parts]: readonly unknown[] = parse(text);
  if (typeof through !== 'number' || !Array.isArray(parts)) return null;
  return { through, parts: parts.flatMap((part) => partOf(part) ?? []) };
}

function parse(text: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function partOf(part: unknown): LoggedEntries | null {
  const [queue, before, after, rows]: readonly unknown[] = Array.isArray(part) ? part : [];
  if (typeof queue !== 'string' || typeof after !== 'string' || !isStreamId(after)) return null;
  return {
    queue,
    before: typeof before === 'string' && isStreamId(before) ? before : null,
    after,
    items: Array.isArray(rows) ? rows.flatMap((row) => itemOf(queue, row) ?? []) : [],
  };
}

function itemOf(queue: string, row: unknown): FeedItem | null {
  const [id, type, ...texts]: readonly unknown[] = Array.isArray(row) ? row : [];
  if (typeof id !== 'string' || !isStreamId(id) || typeof type !== 'string') return null;
  const [jobId = null, task = null, state = null, worker = null, detail = null] = texts.map((text) =>
    typeof text === 'string' ? text : null,
  );
  const time = timeOf(id);
  const event: TaskEvent = {
    id: `${queue}:${id}`,
    type,
    task,
    taskId: jobId === null ? null : taskIdOf(queue, jobId),
    state,
    worker,
    timestamp: time <= 8.64e15 ? new Date(time) : null,
    detail,
    redacted: true,
  };
  return { id, time, event, size: 0, sizeRead: 0 };
}
