/** Parts for combinations, which fail as they are told to. */
import type { Task, TaskEvent } from '../../src/model.ts';
import { selectTasks, summarizeTasks } from '../../src/select.ts';
import type { TaskEventQuery, TaskEventSource, TaskPage, TaskQuery, TaskSource } from '../../src/source.ts';

/** A part, and how to break it. */
export interface Breakable<Part> {
  readonly part: Part;
  /** What every read does instead; `null`: it answers. */
  act: (() => unknown) | null;
  /** Reads so far. */
  reads: number;
}

/** Makes every method but `status` do as it is told. */
export function breakable<Part extends object>(given: Part): Breakable<Part> {
  const state: { act: Breakable<Part>['act']; reads: number } = { act: null, reads: 0 };
  const part = new Proxy(given, {
    get(target, key, receiver) {
      const value = Reflect.get(target, key, receiver);
      if (typeof value !== 'function' || key === 'status') return value;
      return (...args: unknown[]) => {
        state.reads += 1;
        return state.act === null ? value.apply(target, args) : state.act();
      };
    },
  });
  return Object.assign(state, { part });
}

/** Tasks in an array. @param marked whether its places are told by marks alone, as those of a queue are */
export function taskSource(name: string, tasks: readonly Task[], marked = false): TaskSource {
  return {
    name,
    listTasks: (query) => (marked ? selectMarked(tasks, query) : selectTasks(tasks, query)),
    getTask: (id) => tasks.find((task) => task.id === id) ?? null,
    getTaskTree(id) {
      const task = tasks.find((candidate) => candidate.id === id);
      return task === undefined ? null : { rootId: id, tasks: [task] };
    },
    getTaskStats: (query) => summarizeTasks(tasks, query),
  };
}

/** Places are counted in a mark; key and id alone say nothing. */
function selectMarked(tasks: readonly Task[], query: TaskQuery): TaskPage {
  const all = selectTasks(tasks, { ...query, after: null, limit: Number.POSITIVE_INFINITY });
  const start = query.after === null ? 0 : Number(query.after.mark ?? Number.NaN);
  if (Number.isNaN(start)) throw new Error('A place without its mark.');
  const page = all.tasks.slice(start, start + query.limit);
  const end = start + page.length;
  const isLast = query.limit === 0 || end >= all.tasks.length;
  return { tasks: page, next: isLast ? null : { key: null, id: '', mark: String(end) }, total: all.total };
}

/** A feed in an array, oldest first, whose cursors count. */
export function eventSource(name: string, events: readonly TaskEvent[]): TaskEventSource {
  return {
    name,
    listEvents({ since, limit, states }: TaskEventQuery) {
      const wanted = (event: TaskEvent) => states.length === 0 || states.includes(event.state ?? '');
      if (since === null) {
        const newest = events.filter(wanted).slice(-limit).toReversed();
        return { events: newest, cursor: String(events.length), gap: false };
      }
      const from =
        'cursor' in since
          ? Number(since.cursor)
          : events.findIndex(({ timestamp }) => Number(timestamp) >= since.time.getTime());
      const start = from === -1 ? events.length : from;
      const listed = events
        .map((event, index) => ({ event, index }))
        .slice(start)
        .filter(({ event }) => wanted(event))
        .slice(0, limit);
      const last = listed.at(-1);
      const cursor = last === undefined ? String(start) : String(last.index + 1);
      return { events: listed.map(({ event }) => event).toReversed(), cursor, gap: false };
    },
  };
}
