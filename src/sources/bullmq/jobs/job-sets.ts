/**
 * The sets of a queue that hold its jobs, each job in one of them, and the states that they mean
 * (bullmq, commands/*.lua).
 *
 * | BullMQ, as `engineState` | key | kind, in the order of | state |
 * |---|---|---|---|
 * | waiting | `wait` | list: newest on the left, next to run on the right | PENDING |
 * | paused | `paused` | list, the same: the waiting jobs of a paused queue (5.x) | PENDING |
 * | prioritized | `prioritized` | sorted: priority × 2^32 + count of pushes | PENDING |
 * | delayed | `delayed` | sorted: when it is due × 4096 + a count | PENDING, with `eta` |
 * | waiting-children | `waiting-children` | sorted: since when it waits | PENDING |
 * | active | `active` | list: last taken on the left | STARTED |
 * | completed | `completed` | sorted: when it ended | SUCCESS |
 * | failed | `failed` | sorted: when it ended | FAILURE |
 *
 * BullMQ 6 leaves the waiting jobs of a paused queue in `wait`; they are `paused`, too ({@link setIn}).
 *
 * A PENDING job that has made an attempt (`attemptsMade` > 0) is RETRY: it failed and waits again, or somebody
 * retried it by hand. A job that stalled or was given back has made none.
 */
import type { TaskState } from '../../../model.ts';
import { holdsText } from '../../../select/apply-query.ts';
import { isFigureCondition } from '../../../source/task-condition.ts';
import type { TaskQuery } from '../../../source.ts';
import { keyCommand, type QueueRef, type ReadCommands } from '../access/queue-reads.ts';

/** One of the sets, by the end of its key. */
export type SetPart =
  | 'wait'
  | 'paused'
  | 'prioritized'
  | 'delayed'
  | 'waiting-children'
  | 'active'
  | 'completed'
  | 'failed';

/** The properties of a set. */
export interface JobSet {
  readonly part: SetPart;
  /** BullMQ's name of a job in it. */
  readonly engineState: string;
  readonly kind: 'list' | 'sorted';
  /** Whether its score is the time of the last change, so that Redis itself keeps it in that order. */
  readonly isByTime: boolean;
  /** States that its jobs may be in. */
  readonly states: readonly TaskState[];
}

const WAITING = ['PENDING', 'RETRY'] as const;

/** In the order in which a job passes through them: a read in this order misses none that moves on. */
export const JOB_SETS: readonly JobSet[] = [
  { part: 'delayed', engineState: 'delayed', kind: 'sorted', isByTime: false, states: WAITING },
  {
    part: 'waiting-children',
    engineState: 'waiting-children',
    kind: 'sorted',
    isByTime: true,
    states: WAITING,
  },
  { part: 'prioritized', engineState: 'prioritized', kind: 'sorted', isByTime: false, states: WAITING },
  { part: 'paused', engineState: 'paused', kind: 'list', isByTime: false, states: WAITING },
  { part: 'wait', engineState: 'waiting', kind: 'list', isByTime: false, states: WAITING },
  { part: 'active', engineState: 'active', kind: 'list', isByTime: false, states: ['STARTED'] },
  { part: 'failed', engineState: 'failed', kind: 'sorted', isByTime: true, states: ['FAILURE'] },
  { part: 'completed', engineState: 'completed', kind: 'sorted', isByTime: true, states: ['SUCCESS'] },
];

/** The sets of jobs that have ended. */
export const ENDED_PARTS = ['failed', 'completed'] as const;
export type EndedPart = (typeof ENDED_PARTS)[number];

/** The state of a job in this set. */
export function stateIn(set: JobSet, attemptsMade: number): TaskState {
  const [state = 'PENDING'] = set.states;
  return state === 'PENDING' && attemptsMade > 0 ? 'RETRY' : state;
}

/** The waiting jobs of a paused queue. */
const WAITING_PAUSED = JOB_SETS.filter(({ part }) => part === 'wait').map(
  (set): JobSet => ({ ...set, engineState: 'paused' }),
);

/** The set as it is in a queue that is paused or not. */
export function setIn(set: JobSet, isPaused: boolean): JobSet {
  return (isPaused && set.part === 'wait' ? WAITING_PAUSED[0] : undefined) ?? set;
}

/** The sets that may have jobs in the states of a query; all sets if it has none. */
export function setsOf(query: Pick<TaskQuery, 'states' | 'engineStates' | 'conditions'>): readonly JobSet[] {
  const { states, engineStates } = query;
  return JOB_SETS.filter((set) => {
    const engine = [set, setIn(set, true)].map(({ engineState }) => engineState);
    return (
      (states.length === 0 || set.states.some((state) => states.includes(state))) &&
      (engineStates.length === 0 || engine.some((state) => engineStates.includes(state))) &&
      mayPass(query, 'state', set.states) &&
      mayPass(query, 'engineState', engine)
    );
  });
}

/** Whether one of the states meets the conditions on it. */
export function mayPass(
  { conditions }: Pick<TaskQuery, 'conditions'>,
  field: 'state' | 'engineState',
  states: readonly string[],
): boolean {
  return states.some((state) =>
    conditions.every(
      (condition) => isFigureCondition(condition) || condition.field !== field || holdsText(condition, state),
    ),
  );
}

/** When a job of the delayed set is due, in milliseconds: its score has a count in the lowest twelve bits. */
export function dueTime(score: number): number {
  return Math.floor(score / 4_096);
}

/** Whether an entry of a waiting list is a mark of BullMQ 4 or early 5 instead of a job. */
export function isMarker(id: string): boolean {
  return id.startsWith('0:') || id === '0';
}

/** The paused queues. Each queue takes one command. */
export async function findPaused(
  read: ReadCommands,
  queues: readonly QueueRef[],
): Promise<ReadonlySet<QueueRef>> {
  const replies = await read(queues.map((queue) => keyCommand(queue, 'HGET', 'meta', 'paused')));
  return new Set(queues.filter((_, index) => replies[index] !== null));
}

/** The entries, with the waiting jobs of paused queues as paused ones. */
export async function withPaused<Entry extends { readonly queue: QueueRef; readonly set: JobSet }>(
  read: ReadCommands,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const waiting = entries.filter(({ set }) => set.part === 'wait').map(({ queue }) => queue);
  if (waiting.length === 0) return entries;
  const paused = await findPaused(read, [...new Set(waiting)]);
  return entries.map((entry) => ({ ...entry, set: setIn(entry.set, paused.has(entry.queue)) }));
}
