/** Tasks that ran twice, noted when they change: no answer searches for them. */
import type { RepeatedTask } from '../../source.ts';
import { runsOf } from '../merge/attempts.ts';
import type { TaskRecord } from '../merge/record.ts';
import { repeatIn } from '../merge/repeats.ts';

/** For how long a task that ran twice is listed, in milliseconds. */
const LISTED_MS = 60 * 60_000;
/** Most tasks that are listed: the latest. */
const MOST_TASKS = 1_000;

/** The tasks that ran twice. */
export interface RepeatedTasks {
  /** A task has changed. */
  note(record: TaskRecord): void;
  /** Those of the last hour; `undefined`: tasks start, and no message tells which attempt that is. */
  list(now: number): readonly RepeatedTask[] | undefined;
}

/** @returns an empty list */
export function createRepeatedTasks(): RepeatedTasks {
  const tasks = new Map<string, RepeatedTask>();
  let hasStarts = false;
  let hasAttempts = false;
  return {
    note({ id, name, entries }) {
      let received = 0;
      for (const { kind, origin, retries } of entries) {
        if (origin !== 'event') continue;
        if (kind === 'started') hasStarts = true;
        else if (kind === 'received' && retries !== null && ++received > 0) hasAttempts = true;
      }
      if (received < 2) return;
      const runs = repeatIn(runsOf(entries), entries);
      tasks.delete(id);
      if (runs === null) return;
      tasks.set(id, { id, name, runs });
      const [oldest] = tasks.keys();
      if (tasks.size > MOST_TASKS && oldest !== undefined) tasks.delete(oldest);
    },
    list(now) {
      if (hasStarts && !hasAttempts) return undefined;
      const isRecent = ({ startedAt, endedAt }: RepeatedTask['runs'][number]): boolean =>
        now - (endedAt ?? startedAt) < LISTED_MS;
      return [...tasks.values()].filter(({ runs }) => runs.some(isRecent));
    },
  };
}
