/** Instances with one store, for tests. */
import { onTestFinished } from 'vitest';
import type { MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { StoredHistory, StoredHistoryOptions } from '../../src/history/stored-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT } from '../history/telling.ts';

/** How often an instance does its repeated work. */
export type Pace = NonNullable<Parameters<typeof createStoredHistory>[2]>;

/** A tenth of the usual times. */
const QUICK: Pace = { intervalMs: 50, leaseMs: 400, renewalMs: 80 };
/** For tests that wait for many writes. The lease outlasts a busy machine. */
export const AT_ONCE: Pace = { intervalMs: 5, leaseMs: 10_000, renewalMs: 1_000 };

/** An instance. It is closed when the test ends. */
export function instanceOf(
  given: Partial<StoredHistoryOptions> = {},
  memory: MemoryHistoryOptions = {},
  pace: Pace = QUICK,
): StoredHistory {
  const options: StoredHistoryOptions = {
    store: createArrayStore(),
    source: 'celery',
    deployment: 'redis://broker/0',
    hearing: 'all',
    isReadOnly: false,
    ...given,
  };
  const history = createStoredHistory(memory, options, pace);
  onTestFinished(() => history.close());
  return history;
}

/** Waits until an instance has read what is stored. */
export const untilReady = (history: StoredHistory): Promise<void> =>
  until(() => history.status().phase === 'ready');

/** Waits until an instance has written everything that it was told. */
export async function untilWritten(history: StoredHistory): Promise<void> {
  await untilReady(history);
  await until(() => {
    // Looking for open tasks takes in what was told last.
    history.index.listOpen(1);
    const { waiting, isHolder, error } = history.status();
    return waiting === 0 && isHolder !== null && error === null;
  });
}

/** Reports a task that is sent, received, started and done, as Celery's events do. */
export function runTask({ writer }: StoredHistory, id: string, time = Date.now()): void {
  const worker = 'celery@one';
  writer.recordTask({ id, type: 'sent', time, origin: 'event', name: 'mail.send', args: "('x',)" });
  writer.recordTask({ id, type: 'received', time: time + 1, origin: 'event', worker, name: 'mail.send' });
  writer.recordTask({ id, type: 'started', time: time + 2, origin: 'event', worker });
  writer.recordTask({ id, type: 'succeeded', time: time + 3, origin: 'event', worker, result: "'done'" });
}

/** Reports that a task was sent. */
export function sendTask({ writer }: StoredHistory, id: string, time = Date.now()): void {
  writer.recordTask({ id, type: 'sent', time, origin: 'event', name: 'mail.send' });
}

export async function taskIn({ reader }: StoredHistory, id: string): Promise<TaskDetail | null> {
  return await reader.getTask(id, CONTEXT);
}
