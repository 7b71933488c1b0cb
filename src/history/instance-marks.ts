/**
 * Which instance has answered the pages of a walk. Two instances know different values of one task: one has received
 * its events, the other has only read its stored result. A position in the list of one therefore means less in the list
 * of the other, and a walk that goes on at another instance, or after a restart, is not exact.
 */
import { readMark, writeMark } from '../cursor.ts';
import { MonitorError } from '../errors.ts';
import { sortKeyOf } from '../select/apply-query.ts';
import type { PageEnd } from '../source/task-query.ts';
import type { Awaitable, ReadContext, TaskPage, TaskPosition, TaskQuery, TaskSource } from '../source.ts';
import { isThenable } from '../values.ts';

const KIND = 'instance';

/** Stands for several instances. */
const SEVERAL = '';

/** A position, and which instance answered every page before it. */
interface Given {
  readonly instance: string;
  readonly after: TaskPosition;
}

/**
 * Lets the pages of a list say whether one instance has answered the whole walk.
 *
 * @param tasks lists the tasks of this instance
 * @param instance identifies this instance
 */
export function withInstanceMarks<Source extends TaskSource>(tasks: Source, instance: string): Source {
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
  const given = query.after === null ? null : readPosition(query.after);
  const isOwn = given === null || given.instance === instance;
  const marked = ({ next, cursorExact }: PageEnd): PageEnd => ({
    next: next === null || query.limit === 0 ? null : writePosition(next, isOwn ? instance : SEVERAL),
    ...((!isOwn || cursorExact === false) && { cursorExact: false }),
  });
  const withMarks = (page: TaskPage): TaskPage => ({
    ...page,
    ...marked(page),
    endAt: (count) => marked(page.endAt?.(count) ?? endAt(page, count, query)),
  });
  const page = tasks.listTasks({ ...query, after: given?.after ?? null }, context);
  return isThenable(page) ? page.then(withMarks) : withMarks(page);
}

/** The end of a list without marks behind the first `count` rows. */
function endAt({ tasks }: TaskPage, count: number, { sort }: TaskQuery): PageEnd {
  const row = tasks[count - 1];
  return { next: row === undefined ? null : { key: sortKeyOf(row, sort), id: row.id } };
}

function writePosition({ key, id, mark }: TaskPosition, instance: string): TaskPosition {
  return { key, id, mark: writeMark(KIND, mark === undefined ? [instance] : [instance, mark]) };
}

/** @throws MonitorError for a position that was made up */
function readPosition(position: TaskPosition): Given {
  const { key, id, mark } = position;
  if (mark === undefined || !mark.startsWith(KIND)) return { instance: SEVERAL, after: position };
  const [instance, own, ...rest] = readMark(KIND, mark) ?? [];
  const isOwn = own === undefined || typeof own === 'string';
  if (typeof instance === 'string' && isOwn && rest.length === 0) {
    return { instance, after: { key, id, ...(own !== undefined && { mark: own }) } };
  }
  const detail = 'Write a cursor that this list returned, unchanged.';
  throw new MonitorError('invalid_parameter', undefined, [{ parameter: 'cursor', detail }]);
}
