/**
 * Walks over a task list whose pages are answered by different instances, or before and after a restart.
 *
 * Two instances know different values of one task: one has received its events, the other has only read its stored
 * result. A position in the list of one instance therefore means little in the list of the other. So a walk keeps a
 * position for each instance that has answered, and it ends when one of them has listed all that it knows. Rows may be
 * repeated, but no row that all of them know is missed.
 */
import { MonitorError } from '../errors.ts';
import type { Task } from '../model.ts';
import { comparePositions, sortKeyOf } from '../select/task-order.ts';
import type { PageEnd } from '../source/task-query.ts';
import type { Awaitable, ReadContext, TaskPage, TaskPosition, TaskQuery, TaskSource } from '../source.ts';
import { isThenable } from '../values.ts';
import { type InstanceProgress, MOST_INSTANCES, readProgress, writeProgress } from './instance-position.ts';

/**
 * Lets walks over a task list continue at any instance.
 *
 * @param tasks lists the tasks of this instance; continues exactly after each of its own positions
 * @param instance identifies this instance
 */
export function withInstanceWalks<Source extends TaskSource>(tasks: Source, instance: string): Source {
  return {
    ...tasks,
    listTasks: (query, context) => listTasks(tasks, instance, query, context),
  };
}

/** Answers at once where the list does: a promise for each request would cost the reads of a busy page. */
function listTasks(
  tasks: TaskSource,
  instance: string,
  query: TaskQuery,
  context: ReadContext,
): Awaitable<TaskPage> {
  const progress = query.after === null ? [] : progressAt(query.after);
  const others = progress?.filter((one) => one.instance !== instance) ?? [];
  const own = progress?.find((one) => one.instance === instance) ?? null;
  // Without the progress of each instance this is a walk by key and id alone, which always ends.
  if (progress === null || (own === null && others.length >= MOST_INSTANCES)) {
    const after = progress === null ? query.after : (progress.at(-1)?.after ?? null);
    return mapped(tasks.listTasks({ ...query, after }, context), (page) => ({
      ...page,
      cursorExact: false,
      endAt: (count) => ({ next: positionAt(page, count, query), cursorExact: false }),
    }));
  }
  const start = own ?? joinAfter(instance, progress.at(-1)?.after ?? null);
  return mapped(tasks.listTasks({ ...query, after: start.after }, context), (page) => {
    const endBehind = (position: TaskPosition | null): PageEnd => {
      const end = query.limit === 0 ? null : moveOn(start, position, query.order);
      if (end === null) return { next: null };
      const next = writeProgress([...others, end], end.after ?? lastOf(page, query));
      return next === null ? { next: end.after, cursorExact: false } : { next };
    };
    return {
      ...page,
      ...endBehind(page.next),
      endAt: (count) => endBehind(positionAt(page, count, query)),
    };
  });
}

/** The position of the list of one instance behind the first `count` rows of a page. */
function positionAt(page: TaskPage, count: number, { sort }: TaskQuery): TaskPosition | null {
  const end = page.endAt?.(count);
  if (end !== undefined && end !== null) return end.next;
  const row = page.tasks[count - 1] as Task;
  return { key: sortKeyOf(row, sort), id: row.id };
}

function mapped(page: Awaitable<TaskPage>, map: (page: TaskPage) => TaskPage): Awaitable<TaskPage> {
  return isThenable(page) ? page.then(map) : map(page);
}

function progressAt(after: TaskPosition): readonly InstanceProgress[] | null {
  const progress = readProgress(after);
  if (progress !== 'invalid') return progress;
  const detail = 'Write a cursor that this list returned, unchanged.';
  throw new MonitorError('invalid_parameter', undefined, [{ parameter: 'cursor', detail }]);
}

/**
 * An instance that joins a walk continues where the latest has stopped, so that new rows come first, and lists what is
 * before that position afterwards. A mark has a meaning only for the instance that wrote it.
 */
function joinAfter(instance: string, latest: TaskPosition | null): InstanceProgress {
  const joined = latest?.mark === undefined ? latest : null;
  return { instance, after: joined, joined, isBefore: false };
}

/** The progress behind a page; `null` when the instance has listed all that it knows. */
function moveOn(
  start: InstanceProgress,
  next: TaskPosition | null,
  order: TaskQuery['order'],
): InstanceProgress | null {
  const { joined, isBefore } = start;
  if (next === null) {
    return joined === null || isBefore ? null : { ...start, after: null, isBefore: true };
  }
  // Rows with a mark are behind all others.
  const isBack = next.mark !== undefined || (joined !== null && comparePositions(next, joined, order) >= 0);
  return isBefore && isBack ? null : { ...start, after: next };
}

/** Key and id of the last row of a page: code that merges lists reads no rows after it yet. */
function lastOf({ tasks }: TaskPage, { sort, after }: TaskQuery): Pick<TaskPosition, 'key' | 'id'> {
  const last = tasks.at(-1);
  return last === undefined ? (after ?? { key: null, id: '' }) : { key: sortKeyOf(last, sort), id: last.id };
}
