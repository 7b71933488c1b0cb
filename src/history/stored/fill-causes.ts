/** Finds the causes of failures that an earlier version of the library has stored without a cause. */
import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import { lifeOf } from '../merge/life.ts';
import { causeOfKept } from '../merge/record-cause.ts';
import { type StoredQuery, type StoredTask, type StoreSession, WHOLE_AT_ONCE } from '../store.ts';
import type { CauseNotes } from './cause-notes.ts';
import { readKeptTask } from './record-text.ts';

/** Failures that are looked through at once. */
const PAGE = 250;

/** The text that says since when the causes of all failures are known, milliseconds since 1970; 0: always. */
export const KNOWN_SINCE = 'history.causes';

const FAILURES: StoredQuery = {
  ...{ limit: PAGE, after: null, states: ['FAILURE'], names: [], workers: [], queues: [], causes: [] },
  ...{ rootId: null, parentId: null, groupId: null, conditions: [], since: null, until: null },
  ...{ sort: 'timestamp', order: 'desc', isOpen: false, hint: null },
};

/** Makes a call of the store. */
export type Ask = <Result>(call: () => Promise<Result>) => Promise<Result>;

/**
 * Finds the causes of all failures that are stored without one, newest first. Tasks that other instances write
 * meanwhile already have their cause.
 */
export async function fillCauses(
  { tasks, causes }: Pick<StoreSession, 'tasks' | 'causes'>,
  notes: CauseNotes,
  ask: Ask,
): Promise<void> {
  for (let after: StoredQuery['after'] = null; ; ) {
    const query: StoredQuery = { ...FAILURES, after };
    const page: readonly StoredTask[] = await ask(() => tasks.list(query));
    const ids = page.filter(({ cause }) => cause === null).map(({ id }) => id);
    for (let at = 0; at < ids.length; at += WHOLE_AT_ONCE) {
      const whole = await ask(() => tasks.read(ids.slice(at, at + WHOLE_AT_ONCE)));
      const filled = await runInSlices('store', withCauses(whole, notes));
      await ask(() => notes.write(causes));
      await ask(() => tasks.write(filled));
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = { key: last.timestamp, id: last.id };
  }
}

function* withCauses(tasks: readonly StoredTask[], notes: CauseNotes): Steps<StoredTask[]> {
  const filled: StoredTask[] = [];
  for (const task of tasks) {
    const kept = readKeptTask(task);
    if (kept !== null && task.cause === null && task.state === 'FAILURE') {
      const cause = causeOfKept(kept, lifeOf(kept.record.entries, kept.record.runtime));
      if (cause !== null && task.timestamp !== null) notes.add(cause, task.timestamp);
      filled.push({ ...task, version: task.version + 1, cause: cause?.id ?? '' });
    }
    yield;
  }
  return filled;
}
