/** Instances with one array store, for tests. */
import { afterEach } from 'vitest';
import type { MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { Pace } from '../../src/history/stored/stored-state.ts';
import type { StoredHistory, StoredHistoryOptions } from '../../src/history/stored-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT } from '../history/telling.ts';

/** A tenth of the usual times. */
export const QUICK: Pace = { intervalMs: 50, leaseMs: 400, renewalMs: 80 };

const opened: StoredHistory[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((history) => history.close()));
});

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
  opened.push(history);
  return history;
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
