/** Parts for combinations, which fail as they are told to. */
import type { Task, TaskEvent } from '../../src/model.ts';
import { createReader } from '../../src/read.ts';
import { selectTasks, summarizeTasks } from '../../src/select.ts';
import type {
  MonitorSources,
  TaskEventQuery,
  TaskEventSource,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSource,
} from '../../src/source.ts';
import { query } from '../history/telling.ts';

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

/**
 * Tasks in an array.
 *
 * @param marks makes a mark of its own for each page, by which alone it continues. Default: key and id place its rows
 */
export function taskSource(name: string, tasks: readonly Task[], marks: MakeMark | null = null): TaskSource {
  const places = new Map<string, TaskPosition>();
  return {
    name,
    listTasks: (query) =>
      marks === null ? selectTasks(tasks, query) : selectMarked(tasks, query, marks, places),
    getTask: (id) => tasks.find((task) => task.id === id) ?? null,
    getTaskTree(id) {
      const task = tasks.find((candidate) => candidate.id === id);
      return task === undefined ? null : { rootId: id, tasks: [task] };
    },
    getTaskStats: (query) => summarizeTasks(tasks, query),
  };
}

/** Makes the mark of a page. @param number differs from page to page */
export type MakeMark = (number: number) => string;

/** Key and id alone place nothing: only who gave out a mark knows where it continues. */
function selectMarked(
  tasks: readonly Task[],
  query: TaskQuery,
  make: MakeMark,
  places: Map<string, TaskPosition>,
): TaskPage {
  const after = query.after === null ? null : places.get(query.after.mark ?? '');
  if (after === undefined) throw new Error(`A mark that nobody made: ${query.after?.mark}`);
  const page = selectTasks(tasks, { ...query, after });
  if (page.next === null) return page;
  const mark = make(places.size);
  places.set(mark, page.next);
  return { ...page, next: { key: null, id: '', mark } };
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

/** Reads a page as the router does, each part guarded. */
export function readerOf(sources: MonitorSources) {
  const reader = createReader({ timeoutMs: 5_000, concurrency: 64, perPart: 64, report: () => {} });
  let reads = 0;
  const ask = <Part extends 'tasks' | 'events', Raw>(
    kind: Part,
    read: (part: NonNullable<MonitorSources[Part]>, context: never) => unknown,
  ) => {
    const part = sources[kind];
    if (part === undefined) throw new Error('no such part');
    reads += 1;
    return reader.read({
      part,
      call: 'read',
      key: String(reads),
      read: (context) => read(part as never, context as never) as Raw,
      map: (raw: Raw, told) => ({ raw, failures: [...told.failures.keys()], sourceOf: told.sourceOf }),
    });
  };
  return {
    tasks: (part: Partial<TaskQuery>) =>
      ask<'tasks', TaskPage>('tasks', (source, context) => source.listTasks(query(part), context)),
    events: (part: Partial<TaskEventQuery>) =>
      ask<'events', { events: readonly TaskEvent[]; cursor: string }>('events', (source, context) =>
        source.listEvents({ limit: 10, since: null, states: [], workers: [], tasks: [], ...part }, context),
      ),
  };
}

/** Lets parts fail. @param plan by part, whether it does */
export function breakBy(parts: readonly Breakable<object>[], plan: readonly boolean[] | undefined): void {
  for (const [index, part] of parts.entries()) {
    part.act = plan?.[index] ? () => Promise.reject(new Error('away')) : null;
  }
}
