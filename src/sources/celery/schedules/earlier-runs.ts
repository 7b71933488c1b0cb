/**
 * Passes the tasks of the history to the observer of runs: with a store those before a restart, and always those that
 * were received before their entry was known.
 */
import type { HistoryReader, TaskChange } from '../../../history/history.ts';
import type { Task } from '../../../model.ts';
import { MASK } from '../../../redact/key-value.ts';
import { type Steps, scheduler as work } from '../../../scheduler.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import { pause } from '../../../waiting.ts';
import type { KeptTasks } from '../results/kept-tasks.ts';
import type { RunObserver } from './runs.ts';

/** Most names of tasks of which lists are read, and the length of each. */
const MOST_NAMES = 200;
const MOST_TASKS = 200;
/** Milliseconds between two lists. */
const PAUSE_MS = 10;

/** Reads one list at a time. */
export interface EarlierRuns {
  /** To be called when entries are watched. Resolves when the observer has seen their earlier tasks; never rejects. */
  read(): Promise<void>;
  stop(): void;
}

/** @param kept `null` without a store */
export function createEarlierRuns(
  observer: RunObserver,
  reader: Pick<HistoryReader, 'listTasks'>,
  kept: KeptTasks | null,
): EarlierRuns {
  const stopping = new AbortController();
  const { signal } = stopping;
  let reading: Promise<void> = Promise.resolve();

  async function readNames(names: readonly string[]): Promise<void> {
    await kept?.loaded(signal);
    for (const name of names) {
      if (signal.aborted) return;
      const query = { ...ALL_TASKS, names: [name], limit: MOST_TASKS, scan: 10 * MOST_TASKS };
      try {
        const { tasks } = await reader.listTasks(query, { signal });
        await work.run('schedules', show(tasks, observer));
      } catch {
        // The store cannot be read. Runs are recognized from now on.
      }
      await pause(PAUSE_MS, signal);
    }
  }

  return {
    read() {
      const names = observer.takeNewTasks().slice(0, MOST_NAMES);
      if (names.length > 0) reading = reading.then(() => readNames(names));
      return reading;
    },
    stop: () => stopping.abort(),
  };
}

function* show(tasks: readonly Task[], observer: RunObserver): Steps<void> {
  for (const task of tasks) {
    yield;
    const change = changeOf(task);
    if (change !== null) observer.observe(change);
  }
}

/** The data of its event. A retried task is left out: the time when its first attempt was sent is lost. */
function changeOf({ id, sent, received, ...task }: Task): TaskChange | null {
  const at = sent ?? received ?? null;
  if (at === null) return null;
  return {
    id,
    type: sent ? 'sent' : 'received',
    time: at.getTime(),
    origin: 'event',
    name: task.name,
    queue: task.queue,
    args: shown(task.args),
    kwargs: shown(task.kwargs),
    parentId: task.parentId,
    retries: task.retries,
  } as TaskChange;
}

/** Redacted arguments may be those of any entry. */
function shown(text: unknown): string | undefined {
  return typeof text === 'string' && !text.includes(MASK) ? text : undefined;
}
