/**
 * The tasks that the suite seeds. Each covers a frequent mistake of sources: equal times, missing values,
 * custom states, ids that are not UUIDs, workflows.
 */
import { isDone, type Task, type TaskState } from '../model.ts';

/** A secret in the keyword arguments of a task. */
export const SEEDED_SECRET = 'seeded-secret';

const NAMES = ['shop.charge', 'shop.ship', 'mail.send', 'stats.roll_up'] as const;
const WORKERS = ['celery@a', 'celery@b', 'celery@c'] as const;
const QUEUES = ['celery', 'mail'] as const;
const STATES: readonly TaskState[] = [
  'SUCCESS',
  'FAILURE',
  'SUCCESS',
  'STARTED',
  'RETRY',
  'REVOKED',
  'SUCCESS',
  'PROGRESS',
  'RECEIVED',
  'PENDING',
  'SUCCESS',
];

function pick<T>(values: readonly T[], index: number): T {
  return values[index % values.length] as T;
}

/**
 * Times of one task, with `gap` milliseconds between sending, receiving and starting. A time is missing when
 * the state comes before it.
 */
function lifeOf(state: TaskState, sentAt: number, gap: number) {
  const at = (steps: number) => new Date(sentAt + steps * gap);
  const sent = at(0);
  if (state === 'PENDING') return { sent, timestamp: sent };
  if (state === 'RECEIVED') return { sent, received: at(1), timestamp: at(1) };
  if (state === 'REVOKED') return { sent, received: at(1), finished: at(2), timestamp: at(2) };
  const ran = { sent, received: at(1), started: at(2) };
  if (state === 'STARTED') return { ...ran, timestamp: at(2) };
  if (isDone(state)) return { ...ran, finished: at(3), timestamp: at(3), runtime: gap / 1000 };
  return { ...ran, timestamp: at(3) };
}

/** Two causes, with different values each time. */
function errorOf(index: number): Pick<Task, 'exception' | 'traceback'> {
  const text = index < 20 ? `no item ${index}` : `no answer of 10.0.0.${index}:80`;
  return { exception: `ValueError('${text}')`, traceback: `Traceback\nValueError: ${text}` };
}

function sample(index: number, now: number): Task {
  const state = pick(STATES, index);
  // Rows 20 to 29 share all their times, so only the id can order them.
  const sentAt = index >= 20 && index < 30 ? now - 900_000 : now - 1_800_000 + index * 20_000;
  const reached = state !== 'PENDING';
  return {
    // The order of ids is the reverse of that of times, which exposes a source that orders by id alone.
    id: `task-${String(99 - index)}`,
    state,
    name: pick(NAMES, index * 3),
    queue: pick(QUEUES, Math.floor(index / 2)),
    args: `('order-${index}', ${index})`,
    kwargs: index % 2 === 0 ? `{'index': ${index}}` : '{}',
    retries: state === 'RETRY' ? 1 : 0,
    ...(reached ? { worker: pick(WORKERS, index) } : {}),
    ...(state === 'SUCCESS' ? { result: `'done ${index}'` } : {}),
    ...(state === 'FAILURE' ? errorOf(index) : {}),
    ...lifeOf(state, sentAt, index % 3 === 0 ? 250 : 1500),
  };
}

/**
 * A root task that sends two tasks. One of them sends a group of three and a chord body that waits for it.
 */
function workflow(now: number): Task[] {
  const member = (id: string, index: number, ties: Partial<Task>): Task => ({
    id,
    state: 'SUCCESS',
    name: 'flow.step',
    queue: 'celery',
    worker: 'celery@a',
    rootId: 'flow-root',
    retries: 0,
    ...lifeOf('SUCCESS', now - 600_000 + index * 1000, 100),
    ...ties,
  });
  const group = { parentId: 'flow-fan', groupId: 'flow-group', chordId: 'flow-body' };
  return [
    member('flow-root', 0, { name: 'flow.start', kwargs: `{'password': '${SEEDED_SECRET}'}` }),
    member('flow-fan', 1, { parentId: 'flow-root' }),
    member('flow-side', 2, { parentId: 'flow-root' }),
    member('flow-1', 3, group),
    member('flow-2', 4, group),
    member('flow-3', 5, group),
    member('flow-body', 6, { parentId: 'flow-3' }),
  ];
}

/**
 * Tasks of a typical deployment, oldest first. All changed within the last half hour, none within the last
 * minute.
 *
 * @param now current time of the source, so that nothing is too old to be kept
 */
export function sampleTasks(now: Date): readonly Task[] {
  const start = now.getTime();
  const plain = Array.from({ length: 44 }, (_, index) => sample(index, start));
  return [
    ...plain,
    ...workflow(start),
    // A task whose `task-sent` event was missed.
    {
      id: 'größe/1 %2F"<b>',
      state: 'STARTED',
      worker: 'celery@b',
      started: new Date(start - 400_000),
      timestamp: new Date(start - 400_000),
    },
  ];
}

/** One more task, to check that a source notices new tasks. */
export function lateTask(now: Date): Task {
  return {
    id: 'late-1',
    state: 'SUCCESS',
    name: 'shop.late',
    queue: 'celery',
    worker: 'celery@a',
    ...lifeOf('SUCCESS', now.getTime() - 120_000, 100),
  };
}
