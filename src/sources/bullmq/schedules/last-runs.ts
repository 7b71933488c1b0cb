/**
 * The jobs of entries that have run. Their ids are `repeat:<entry>:<when it was due>`, so they are found among the newest
 * jobs of a queue. Jobs that BullMQ has removed are not.
 */
import type { ScheduleRun, TaskState } from '../../../model.ts';
import { asTexts } from '../../../redis/replies.ts';
import { type QueueAccess, readFields, readPer } from '../access/queue-access.ts';
import { type JobRef, keyCommand, type QueueRef, taskIdOf } from '../access/queue-reads.ts';
import { timeOf } from '../jobs/job-facts.ts';
import { type EntryRef, hashRef } from './schedule-entry.ts';

/** Most jobs of each set of a queue whose ids are looked at. */
const MOST_IDS = 1_000;
/** Most runs of one entry. */
const MOST_RUNS = 20;
/** Most runs that are read for one answer, over all entries. */
const MOST_READ = 4_000;

/** The sets of jobs that have begun, and what they mean. */
const SETS: readonly (readonly [part: string, state: TaskState])[] = [
  ['active', 'STARTED'],
  ['completed', 'SUCCESS'],
  ['failed', 'FAILURE'],
];

/** A job that is a run. */
interface FoundRun extends JobRef {
  readonly state: TaskState;
  /** When it was due, in milliseconds since 1970. */
  readonly due: number;
}

/** Finds the runs of entries, newest first. An entry without a list may have runs that were not looked at. */
export async function readLastRuns(
  access: QueueAccess,
  entries: readonly EntryRef[],
): Promise<ReadonlyMap<EntryRef, readonly ScheduleRun[]>> {
  const queues = [...new Set(entries.map(({ queue }) => queue))];
  const newest = await readPer(access, queues, (queue) =>
    SETS.map(([part]) =>
      keyCommand(queue, part === 'active' ? 'LRANGE' : 'ZREVRANGE', part, 0, MOST_IDS - 1),
    ),
  );
  const found = new Map<string, FoundRun[]>();
  const whole = new Set<QueueRef>();
  for (const [queue, replies] of newest) {
    const lists = replies.map(asTexts);
    if (lists.every((ids) => ids.length < MOST_IDS)) whole.add(queue);
    for (const [at, ids] of lists.entries()) noteRuns(found, queue, ids, SETS[at]?.[1] as TaskState);
  }
  const most = Math.max(1, Math.min(MOST_RUNS, Math.floor(MOST_READ / Math.max(1, entries.length))));
  const runs = entries.map((entry) => {
    const own = found.get(entry.queue.key(hashRef(entry).id)) ?? [];
    return own.sort((a, b) => b.due - a.due).slice(0, most);
  });
  const times = await readTimes(access, runs.flat());
  return new Map(
    entries.flatMap((entry, index) => {
      const own = runs[index] ?? [];
      if (own.length === 0 && !whole.has(entry.queue)) return [];
      return [[entry, own.map((run) => runOf(run, times.get(run)))] as const];
    }),
  );
}

/** By the key of their entry. */
function noteRuns(
  found: Map<string, FoundRun[]>,
  queue: QueueRef,
  ids: readonly string[],
  state: TaskState,
): void {
  for (const id of ids) {
    const colon = id.lastIndexOf(':');
    const due = Number(id.slice(colon + 1));
    if (!id.startsWith('repeat:') || !Number.isSafeInteger(due)) continue;
    const entry = queue.key(id.slice(0, colon));
    const runs = found.get(entry);
    if (runs === undefined) found.set(entry, [{ queue, id, state, due }]);
    else runs.push({ queue, id, state, due });
  }
}

interface Times {
  readonly started: number | null;
  readonly finished: number | null;
}

async function readTimes(
  access: QueueAccess,
  runs: readonly FoundRun[],
): Promise<ReadonlyMap<FoundRun, Times>> {
  const replies = await readFields(access, runs, ['processedOn', 'finishedOn']);
  return new Map(
    runs.map((run, index) => {
      const [processedOn, finishedOn] = replies[index] ?? [];
      return [run, { started: timeOf(processedOn), finished: timeOf(finishedOn) }];
    }),
  );
}

function runOf({ queue, id, state, due }: FoundRun, times: Times | undefined): ScheduleRun {
  const { started = null, finished = null } = times ?? {};
  return {
    taskId: taskIdOf(queue.name, id),
    state,
    at: new Date(started ?? due),
    runtime: started === null || finished === null ? null : Math.max(0, finished - started) / 1_000,
  };
}
