/** The activity feed: the newest items in a ring, read from any place that is still held. */
import { randomBytes } from 'node:crypto';
import type { TaskEvent } from '../../model.ts';
import type { TaskEventPage, TaskEventQuery } from '../../source.ts';
import type { TaskChangeType } from '../history.ts';

/** Celery's names of the changes. */
export const FEED_TYPES: Readonly<Record<TaskChangeType, string>> = {
  sent: 'task-sent',
  received: 'task-received',
  started: 'task-started',
  succeeded: 'task-succeeded',
  failed: 'task-failed',
  retried: 'task-retried',
  revoked: 'task-revoked',
  rejected: 'task-rejected',
  requeued: 'task-rejected',
  custom: 'task-custom',
};

/** What an item tells. Time in milliseconds, by the sender's clock. */
export interface FeedItem {
  readonly type: string;
  readonly task: string | null;
  readonly taskId: string | null;
  readonly state: string | null;
  readonly worker: string | null;
  readonly time: number;
  readonly detail: string | null;
}

/** The feed. */
export interface Feed {
  readonly size: number;
  /** @param arrivedAt milliseconds, our clock */
  add(item: FeedItem, arrivedAt: number): void;
  /** Something may have been missed before the next item. */
  markGap(): void;
  list(query: TaskEventQuery): TaskEventPage;
  clear(): void;
}

/**
 * @param maxEvents most items held
 * @param now milliseconds
 * @param nameOf name of a task that was not known when its item came
 */
export function createFeed(
  maxEvents: number,
  now: () => number,
  nameOf: (taskId: string) => string | null,
  instance: string = randomBytes(6).toString('hex'),
): Feed {
  const startedAt = now();
  // Columns: an object per item would be garbage to collect at every event.
  const types: string[] = [];
  const tasks: (string | null)[] = [];
  const taskIds: (string | null)[] = [];
  const states: (string | null)[] = [];
  const workers: (string | null)[] = [];
  const details: (string | null)[] = [];
  const times: number[] = [];
  const arrivals: number[] = [];
  /** Sequence of the newest item; the first one has 1. */
  let newest = 0;
  let size = 0;
  /** After how many items something was missed, the last time. */
  let gapAfter = -1;
  let gapAt = Number.NEGATIVE_INFINITY;

  const cursorOf = (sequence: number): string => `${instance}.${sequence}`;

  function taskOf(at: number): string | null {
    const id = taskIds[at] ?? null;
    return tasks[at] ?? (id === null ? null : nameOf(id));
  }

  function show(sequence: number): TaskEvent {
    const at = sequence % maxEvents;
    return {
      id: cursorOf(sequence),
      type: types[at] as string,
      task: taskOf(at),
      taskId: taskIds[at] ?? null,
      state: states[at] ?? null,
      worker: workers[at] ?? null,
      timestamp: new Date(times[at] as number),
      arrived: new Date(arrivals[at] as number),
      detail: details[at] ?? null,
    };
  }

  function matcher(query: TaskEventQuery): (sequence: number) => boolean {
    const has = (values: readonly string[], value: string | null | undefined) =>
      values.length === 0 || (value != null && values.includes(value));
    return (sequence) => {
      const at = sequence % maxEvents;
      return has(query.states, states[at]) && has(query.workers, workers[at]) && has(query.tasks, taskOf(at));
    };
  }

  /** The sequence after which to go on, and whether something behind it is missing. */
  function placeOf(since: NonNullable<TaskEventQuery['since']>): { after: number; gap: boolean } {
    const oldest = newest - size + 1;
    if ('cursor' in since) {
      const [issuer, digits] = since.cursor.split('.');
      const sequence = Number(digits);
      const isOurs = issuer === instance && Number.isInteger(sequence) && sequence >= 0 && sequence <= newest;
      if (!isOurs) return { after: oldest - 1, gap: true };
      if (sequence < oldest - 1) return { after: oldest - 1, gap: true };
      return { after: sequence, gap: gapAfter >= sequence };
    }
    const time = since.time.getTime();
    let low = oldest;
    let high = newest + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((arrivals[middle % maxEvents] as number) < time) low = middle + 1;
      else high = middle;
    }
    const lost = low === oldest && oldest > 1;
    return { after: low - 1, gap: lost || time < startedAt || gapAt >= time };
  }

  return {
    get size() {
      return size;
    },
    add(item, arrivedAt) {
      newest++;
      if (size < maxEvents) size++;
      const at = newest % maxEvents;
      types[at] = item.type;
      tasks[at] = item.task;
      taskIds[at] = item.taskId;
      states[at] = item.state;
      workers[at] = item.worker;
      times[at] = item.time;
      details[at] = item.detail;
      arrivals[at] = arrivedAt;
    },
    markGap() {
      gapAfter = newest;
      gapAt = now();
    },
    list(query) {
      const matches = matcher(query);
      const found: number[] = [];
      if (query.since === null) {
        for (let sequence = newest; sequence > newest - size && found.length < query.limit; sequence--) {
          if (matches(sequence)) found.push(sequence);
        }
        return { events: found.map(show), cursor: cursorOf(newest), gap: false };
      }
      const { after, gap } = placeOf(query.since);
      let last = after;
      for (let sequence = after + 1; sequence <= newest && found.length < query.limit; sequence++) {
        if (!matches(sequence)) continue;
        found.push(sequence);
        last = sequence;
      }
      return { events: found.reverse().map(show), cursor: cursorOf(last), gap };
    },
    clear() {
      for (const column of [types, tasks, taskIds, states, workers, details]) column.length = 0;
      size = 0;
    },
  };
}
