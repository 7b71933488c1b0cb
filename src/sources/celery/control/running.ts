/** The tasks that workers have, as they answer (`Request.info` in celery/worker/request.py). */
import type { CollectedHistory, TaskChange } from '../../../history/history.ts';
import { isRecord } from '../../../values.ts';
import { cutFields, type FullChange, isId, kindOf } from '../protocol/messages.ts';

import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';

/** Most tasks read from one reply. */
const MAX_ITEMS = 100_000;
/** Seconds since 1970. A smaller number is no such time: Celery 3 sent that of a monotonic clock. */
const FIRST_START = 1e9;

/** A task as an entry of `active` or `reserved` shows it. */
type HeldItem = Readonly<Record<string, unknown>> & { readonly id: string };

/** The entries of a reply that can be read, and how many cannot. */
function heldItems(reply: unknown): { items: HeldItem[]; dropped: number } {
  if (!Array.isArray(reply)) return { items: [], dropped: 1 };
  const items: HeldItem[] = [];
  for (const entry of reply.slice(0, MAX_ITEMS)) {
    if (isRecord(entry) && isId(entry.id)) items.push({ ...entry, id: entry.id });
  }
  return { items, dropped: reply.length - items.length };
}

/**
 * The start of a task, as its worker's `active` reports it. Like a result, it gives way to the event of
 * the same start.
 *
 * @param retries number of the attempt; `undefined` when unknown
 */
function startOf(item: HeldItem, worker: string, retries: number | undefined): TaskChange {
  // The real name; `name` may be one that the sender has chosen (`shadow`).
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
    sender: undefined,
    retries,
    tentative: undefined,
    isConsequence: undefined,
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
    truncated: undefined,
    progress: undefined,
    detail: undefined,
  };
  full.truncated = cutFields(full);
  return full as TaskChange;
}

function startTime(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && seconds > FIRST_START ? seconds * 1000 : undefined;
}

/** The routing key is the queue only for the default exchange. */
function queueOf(delivery: unknown): string | undefined {
  return isRecord(delivery) && delivery.exchange === '' ? text(delivery.routing_key) : undefined;
}

/** Senders that write no reprs leave them empty. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The tasks that workers have. */
export interface Running {
  /** Their ids. */
  readonly tasks: ReadonlySet<string>;
  /**
   * The lists that every worker has reported. `reserved` is missing where a worker accepts other encodings than JSON,
   * so that it cannot be asked; its messages are in the broker.
   */
  readonly complete: readonly (typeof LISTS)[number][];
  /** Workers that have reported all tasks that they run. */
  readonly reporters: ReadonlySet<string>;
  /** Milliseconds since 1970, by this process's clock. */
  readonly askedAt: number;
}

/** In the order in which a task passes them, so that none is missed while it moves on. */
const LISTS = ['reserved', 'active'] as const;

/** States in which a task may be shown that has started, if the event of its start was missed. */
const BEFORE_START: ReadonlySet<string> = new Set(['PENDING', 'RECEIVED', 'RETRY', 'REVOKED']);

/**
 * Asks the workers for their tasks and records running ones that are not known to run. Reserved tasks are not
 * recorded, because workers do not report when they took them.
 *
 * @returns a function that returns `null` when the workers could not be asked
 */
export function createRunning(control: Control, history: CollectedHistory) {
  function record(item: HeldItem, worker: string): void {
    history.writer.recordEndUnseen(item.id, false);
    const state = history.index.stateOf(item.id);
    if (state !== null && !BEFORE_START.has(state)) return;
    history.writer.recordTask(startOf(item, worker, history.index.retriesOf(item.id) ?? undefined));
  }

  return async function running(): Promise<Running | null> {
    const tasks = new Set<string>();
    const askedAt = Date.now();
    const complete: (typeof LISTS)[number][] = [];
    const reporters = new Set<string>();
    for (const list of LISTS) {
      const replies = await control.ask(list);
      if (replies === null) return null;
      let isComplete = isWhole(replies);
      for (const [worker, value] of replies.values) {
        if (value === null) continue;
        const { items, dropped } = heldItems(value);
        if (dropped > 0) {
          isComplete = false;
          history.writer.recordDropped(dropped);
        } else if (list === 'active') reporters.add(worker);
        for (const item of items) {
          tasks.add(item.id);
          if (list === 'active') record(item, worker);
        }
      }
      if (isComplete) complete.push(list);
    }
    return { tasks, complete, reporters, askedAt };
  };
}

function isWhole({ isComplete, errors, unreadable }: Replies): boolean {
  return isComplete && errors === 0 && unreadable === 0;
}
