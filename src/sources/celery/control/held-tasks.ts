/** What workers answer about their tasks (`Request.info` in celery/worker/request.py). */
import type { TaskChange } from '../../../history/history.ts';
import type { TaskTextField } from '../../../model.ts';
import { isRecord } from '../../../values.ts';
import { emptyChange, kindOf } from '../protocol/full-change.ts';
import { isId } from '../protocol/ids.ts';
import { wasCut } from '../protocol/truncation.ts';

/** Most tasks read from one reply. */
const MAX_ITEMS = 100_000;
/** Seconds since 1970. A smaller number is no such time: Celery 3 sent that of a monotonic clock. */
const FIRST_START = 1e9;

/** A task as an entry of `active`, `reserved` or `scheduled` shows it. */
export type HeldItem = Readonly<Record<string, unknown>> & { readonly id: string };

/** The entries of a reply that can be read, and how many cannot. */
export function heldItems(reply: unknown): { items: HeldItem[]; dropped: number } {
  if (!Array.isArray(reply)) return { items: [], dropped: 1 };
  const items: HeldItem[] = [];
  for (const entry of reply.slice(0, MAX_ITEMS)) {
    // Entries of `scheduled` contain the request.
    const item = isRecord(entry) && isRecord(entry.request) ? entry.request : entry;
    if (isRecord(item) && isId(item.id)) items.push({ ...item, id: item.id });
  }
  return { items, dropped: reply.length - items.length };
}

/**
 * The start of a task, as its worker's `active` reports it. Like a result, it gives way to the event of
 * the same start.
 *
 * @param retries number of the attempt; `undefined` when unknown
 */
export function startOf(item: HeldItem, worker: string, retries: number | undefined): TaskChange {
  // The real name; `name` may be one that the sender has chosen (`shadow`).
  const name = text(item.type) ?? text(item.name);
  const args = text(item.args);
  const kwargs = text(item.kwargs);
  const change = emptyChange(item.id, 'started', 'result');
  change.stored = true;
  change.heardAt = startTime(item.time_start);
  change.worker = worker;
  change.retries = retries;
  change.name = name;
  change.kind = kindOf(name);
  change.queue = queueOf(item.delivery_info);
  change.args = args;
  change.kwargs = kwargs;
  change.truncated = cutFields(args, kwargs);
  return change as TaskChange;
}

function startTime(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > FIRST_START ? seconds * 1000 : undefined;
}

/** The routing key is the queue only for the default exchange. */
function queueOf(delivery: unknown): string | undefined {
  return isRecord(delivery) && delivery.exchange === '' ? text(delivery.routing_key) : undefined;
}

function cutFields(args: string | undefined, kwargs: string | undefined): TaskTextField[] | undefined {
  const cut: TaskTextField[] = [];
  if (args !== undefined && wasCut(args)) cut.push('args');
  if (kwargs !== undefined && wasCut(kwargs)) cut.push('kwargs');
  return cut.length === 0 ? undefined : cut;
}

/** Senders that write no reprs leave them empty. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
