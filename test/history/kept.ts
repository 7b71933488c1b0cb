import type { TaskChange } from '../../src/history/history.ts';
import type { HistoryTap, KeptTask } from '../../src/history/memory/tap.ts';
import {
  createMemoryHistory,
  type MemoryHistory,
  type MemoryHistoryOptions,
} from '../../src/history/memory-history.ts';
import { T0, told } from './telling.ts';

/** A history whose clock stands still, and what its tap heard. */
export function tapped(changes: readonly TaskChange[] = [], options: MemoryHistoryOptions = {}) {
  const heard: string[] = [];
  const clock = { now: T0 + 60_000 };
  const tap: HistoryTap = {
    taskChanged: (id) => heard.push(`changed ${id}`),
    taskDropping: (id) => heard.push(`dropping ${id} ${history.access.readTask(id)?.record.name}`),
    relationAdded: ({ parent, child, relation }) => heard.push(`${relation} ${parent} ${child}`),
    workerChanged: (hostname) => heard.push(`worker ${hostname}`),
    eventAdded: (number, { type }) => heard.push(`event ${number} ${type}`),
    gapFound: () => heard.push('gap'),
  };
  const history: MemoryHistory = createMemoryHistory({ now: () => clock.now, tap, ...options });
  for (const change of changes) history.writer.recordTask(change);
  history.access.catchUp();
  return { history, clock, heard, access: history.access };
}

/** A task as another process has kept it. */
export function kept(changes: readonly TaskChange[], id = 'a', options: MemoryHistoryOptions = {}): KeptTask {
  const { history } = tapped(
    changes.map((change) => ({ ...change, id: change.id === 'a' ? id : change.id })),
    options,
  );
  const task = history.access.readTask(id);
  history.close();
  if (task === null) throw new Error(`task ${id} is not known`);
  return task;
}

export const sent = told({
  type: 'sent',
  time: T0,
  name: 'lab.add',
  args: '(1,)',
  retries: 0,
  queue: 'celery',
});
export const started = told({ type: 'started', time: T0 + 10, worker: 'w1@a' });
export const done = told({ type: 'succeeded', time: T0 + 20, worker: 'w1@a', result: '3', runtime: 0.01 });
