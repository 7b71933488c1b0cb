/** One task list of several sources. */
import type { Task } from '../model.ts';
import { comparePositions, sortKeyOf } from '../select/task-order.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import { isTaskPage, isTaskPosition } from '../source/pages.ts';
import type { ReadContext, TaskPage, TaskPosition, TaskQuery, TaskSource } from '../source.ts';
import { type Lane, mergeLanes, type Placed } from './lane.ts';
import { answerOf, requireAnswer } from './replies.ts';
import { placeOfAll, type Standing, standingsOf } from './task-places.ts';

/** What one part has given for a page. */
interface TaskLane extends Lane<Task, TaskPosition> {
  readonly part: TaskSource;
  readonly start: Standing;
  /** `null`: it has not answered, or has no more rows to give and was not asked for any. */
  readonly page: TaskPage | null;
  /** How many rows of the page can be listed. */
  readonly size: number;
}

/**
 * Answers `listTasks` from several sources. Each part is asked for one page from its own place on. A part that
 * does not answer keeps its place, so that its rows come when it is back; where only such parts are left, the
 * page fails as they do.
 */
export async function listAllTasks(
  parts: readonly TaskSource[],
  query: TaskQuery,
  context: ReadContext,
): Promise<TaskPage> {
  const fanOut = fanOutOf(context);
  const names = parts.map(({ name }) => name);
  const starts = standingsOf(query.after, names);
  const going = starts.filter((start) => start !== 'ended').length;
  // What may be looked at for one answer is shared by those who look.
  const scan = Math.max(1, Math.floor(query.scan / Math.max(1, going)));
  const replies = await Promise.all(
    parts.map((part, index) => {
      const start = starts[index] as Standing;
      return start === 'ended'
        ? countOf(part, query, fanOut)
        : pageOf(part, { ...query, after: start, scan }, fanOut);
    }),
  );
  requireAnswer(replies.filter((_, index) => starts[index] !== 'ended'));
  const lanes = parts.map((part, index) =>
    laneOf(part, starts[index] as Standing, replies[index], query, fanOut),
  );
  const { lanes: settled, taken, rows } = await settle(lanes, query, scan, fanOut);
  const last = rows.at(-1);
  const standings = settled.map(
    (lane, index) => [lane.part.name, standingOf(lane, taken[index] as number)] as const,
  );
  const isEnd = query.limit === 0 || standings.every(([, standing]) => standing === 'ended');
  return {
    tasks: rows.map(({ item }) => item),
    next: isEnd ? null : placeOfAll(last?.place ?? query.after, standings),
    total: totalOf(replies),
  };
}

/** @param which tells apart what one read asks of the same part */
function pageOf(part: TaskSource, query: TaskQuery, fanOut: FanOut, which = ''): Promise<Reply<TaskPage>> {
  Object.freeze(query);
  return fanOut.ask({
    part,
    call: 'listTasks',
    which,
    read: (context) => part.listTasks(query, context),
    count(page) {
      if (!isTaskPage(page)) throw new TypeError('listTasks() must return { tasks, next, total }.');
      return page.tasks.length;
    },
  });
}

/** A part whose rows have all been listed still counts. */
function countOf(part: TaskSource, query: TaskQuery, fanOut: FanOut): Promise<Reply<TaskPage>> {
  return pageOf(part, { ...query, limit: 0, after: null }, fanOut);
}

function laneOf(
  part: TaskSource,
  start: Standing,
  reply: Reply<TaskPage> | undefined,
  { sort, limit }: TaskQuery,
  fanOut: FanOut,
): TaskLane {
  const page = start === 'ended' ? null : answerOf(reply);
  if (page === null) return { part, start, page, items: [], size: 0, rest: null };
  const items: Placed<Task, TaskPosition>[] = [];
  // More than was asked for is left out, as that of any source is.
  for (const task of page.tasks.slice(0, limit)) {
    const place = placeOf(task, sort);
    if (place !== null) items.push({ item: task, place });
  }
  fanOut.leaveOut(part, 'listTasks', page.tasks.length - items.length);
  return { part, start, page, items, size: items.length, rest: page.next };
}

/** `null` for a row that cannot be placed: it has no id, or cannot be read. */
function placeOf(task: Task, sort: TaskQuery['sort']): TaskPosition | null {
  try {
    const place = { key: sortKeyOf(task, sort), id: task.id };
    return isTaskPosition(place) ? place : null;
  } catch {
    return null;
  }
}

interface Settled {
  readonly lanes: readonly TaskLane[];
  readonly taken: readonly number[];
  readonly rows: readonly Placed<Task, TaskPosition>[];
}

/**
 * Merges, and sees to it that every part can go on behind its last row: one whose places have marks is asked
 * again for the rows that are listed, and those alone.
 */
async function settle(
  lanes: readonly TaskLane[],
  query: TaskQuery,
  scan: number,
  fanOut: FanOut,
): Promise<Settled> {
  const compare = (a: TaskPosition, b: TaskPosition): number => comparePositions(a, b, query.order);
  const first = mergeLanes(lanes, query.limit, compare);
  const exact = await Promise.all(
    lanes.map(async (lane, index): Promise<TaskLane> => {
      const limit = first.taken[index] as number;
      if (!needsPlace(lane, limit)) return { ...lane, items: lane.items.slice(0, limit), rest: null };
      const { part, start } = lane;
      const asked = { ...query, after: start === 'ended' ? null : start, limit, scan };
      const reply = await pageOf(part, asked, fanOut, `first ${limit}`);
      return { ...laneOf(part, start, reply, asked, fanOut), rest: null };
    }),
  );
  const { items } = mergeLanes(exact, query.limit, compare);
  const at = exact.map(() => 0);
  const rows = items.map(({ item, lane }) => {
    const { items: own, part } = exact[lane] as TaskLane;
    const index = at[lane] as number;
    at[lane] = index + 1;
    return { item: fanOut.attribute(item, part), place: (own[index] as Placed<Task, TaskPosition>).place };
  });
  return { lanes: exact, taken: exact.map(({ items: own }) => own.length), rows };
}

/** Whether the place behind so many rows of a part is not told by key and id alone, or may not be. */
function needsPlace({ items, page, start }: TaskLane, taken: number): boolean {
  if (page === null || taken === 0 || taken === items.length) return false;
  const hadMark = start !== null && start !== 'ended' && start.mark !== undefined;
  return page.next === null || page.next.mark !== undefined || hadMark;
}

/** Where a part goes on. */
function standingOf({ page, start, items, size }: TaskLane, taken: number): Standing {
  if (start === 'ended' || page === null) return start;
  if (taken === size) return page.next ?? 'ended';
  return items[taken - 1]?.place ?? start;
}

function totalOf(replies: readonly Reply<TaskPage>[]): number | null {
  let sum = 0;
  for (const reply of replies) {
    const total = answerOf(reply)?.total ?? null;
    if (total === null) return null;
    sum += total;
  }
  return sum;
}
