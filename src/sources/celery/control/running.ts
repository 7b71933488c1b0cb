import type { CollectedHistory } from '../../../history/history.ts';
import type { Replies } from './broadcast.ts';
import type { Control } from './control.ts';
import { type HeldItem, heldItems, startOf } from './held-tasks.ts';

/** Where a worker has a task. */
export interface HeldTask {
  readonly worker: string;
  /** `scheduled`: it waits for its eta; `reserved`: it is next; `active`: it runs. */
  readonly list: 'scheduled' | 'reserved' | 'active';
}

/** The tasks that workers have. */
export interface Running {
  /** By task id. */
  readonly tasks: ReadonlyMap<string, HeldTask>;
  /**
   * The lists that every worker has reported. `reserved` and `scheduled` are missing where a worker
   * accepts other encodings than JSON, so that it cannot be asked; its messages are in the broker.
   */
  readonly complete: readonly HeldTask['list'][];
  /** Workers that have reported all tasks that they run. */
  readonly reporters: ReadonlySet<string>;
  /** Milliseconds since 1970, by this process's clock. */
  readonly askedAt: number;
}

/** How to ask. */
export interface RunningOptions {
  /**
   * Also ask for tasks that wait for their eta. Replies contain all of them, so only if they are few. Default
   * false.
   */
  readonly scheduled?: boolean;
  readonly signal?: AbortSignal;
}

/** In the order in which a task passes them, so that none is missed while it moves on. */
const LISTS = ['scheduled', 'reserved', 'active'] as const;

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

  return async function running(options: RunningOptions = {}): Promise<Running | null> {
    const { scheduled = false, signal = new AbortController().signal } = options;
    const tasks = new Map<string, HeldTask>();
    const askedAt = Date.now();
    const complete: HeldTask['list'][] = [];
    const reporters = new Set<string>();
    for (const list of scheduled ? LISTS : LISTS.slice(1)) {
      const replies = await control.ask(list, { signal });
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
          tasks.set(item.id, { worker, list });
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
