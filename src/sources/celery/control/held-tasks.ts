/** What workers answer about the tasks that they have (`Request.info` in celery/worker/request.py). */
import type { TaskChange } from '../../../history/history.ts';
import type { TaskTextField } from '../../../model.ts';
import { type FullChange, kindOf } from '../protocol/full-change.ts';
import { wasCut } from '../protocol/truncation.ts';

/** Most tasks of one reply that are looked at. */
const MAX_ITEMS = 100_000;
const MAX_ID = 512;
/** Seconds since 1970. What is less is no such time: Celery 3 told one of the machine's own clock. */
const FIRST_START = 1e9;

/** A task as an entry of `active`, `reserved` or `scheduled` shows it. */
export type HeldItem = Readonly<Record<string, unknown>> & { readonly id: string };

/** The entries of a reply that can be read, and how many cannot. */
export function heldItems(reply: unknown): { items: HeldItem[]; dropped: number } {
  if (!Array.isArray(reply)) return { items: [], dropped: 1 };
  const items: HeldItem[] = [];
  for (const entry of reply.slice(0, MAX_ITEMS)) {
    // Those of `scheduled` have it within.
    const item = isTable(entry) && isTable(entry.request) ? entry.request : entry;
    if (isTable(item) && isId(item.id)) items.push({ ...item, id: item.id });
  }
  return { items, dropped: reply.length - items.length };
}

/**
 * That a task has started, as its worker's `active` says: a second-hand word like that of the result
 * backend, which gives way to the worker's event of the same start.
 *
 * @param retries number of the attempt, as far as it is known
 */
export function startOf(item: HeldItem, worker: string, retries: number | undefined): TaskChange {
  // The real name; `name` may be one that the sender chose to show.
  const name = text(item.type) ?? text(item.name);
  const args = text(item.args);
  const kwargs = text(item.kwargs);
  const full: FullChange = {
    id: item.id,
    type: 'started',
    state: undefined,
    eventType: undefined,
    time: null,
    origin: 'result',
    stored: true,
    heardAt: startTime(item.time_start),
    worker,
    retries,
    tentative: undefined,
    name,
    queue: queueOf(item.delivery_info),
    args,
    kwargs,
    result: undefined,
    exception: undefined,
    traceback: undefined,
    runtime: undefined,
    eta: undefined,
    expires: undefined,
    parentId: undefined,
    rootId: undefined,
    groupId: undefined,
    chordId: undefined,
    kind: kindOf(name),
    stamps: undefined,
    truncated: cutFields(args, kwargs),
    detail: undefined,
  };
  return full as TaskChange;
}

function startTime(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > FIRST_START ? seconds * 1000 : undefined;
}

/** Only of the default exchange is the routing key the queue. */
function queueOf(delivery: unknown): string | undefined {
  return isTable(delivery) && delivery.exchange === '' ? text(delivery.routing_key) : undefined;
}

function cutFields(args: string | undefined, kwargs: string | undefined): TaskTextField[] | undefined {
  const cut: TaskTextField[] = [];
  if (args !== undefined && wasCut(args)) cut.push('args');
  if (kwargs !== undefined && wasCut(kwargs)) cut.push('kwargs');
  return cut.length === 0 ? undefined : cut;
}

/** Messages of senders that write no reprs have empty ones. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID;
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
