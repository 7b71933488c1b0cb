/** Parts for combinations, which fail as they are told to. */
import type { Express } from 'express';
import { expect, onTestFinished } from 'vitest';
import type { MonitorRouter } from '../../src/index.ts';
import type { Task, TaskEvent } from '../../src/model.ts';
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
import { keepAlive } from '../helpers/ask.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

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
  const first = (limit: number): TaskPage => {
    const page = selectTasks(tasks, { ...query, after, limit });
    if (page.next === null) return page;
    const mark = make(places.size);
    places.set(mark, page.next);
    return { ...page, next: { key: null, id: '', mark } };
  };
  return { ...first(query.limit), endAt: first };
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

/** What is answered; `null` while no source that has an answer can be reached. */
export type Read = <Body>(path: string, asked: Readonly<Record<string, unknown>>) => Promise<Body | null>;

/** Serves one monitor after the other at one address. @returns the client of a monitor of these sources */
export async function openClients(): Promise<(sources: MonitorSources) => Read> {
  let shown: MonitorRouter | null = null;
  const place = (app: Express) => void app.use('/monitor', (...given) => shown?.(...given));
  const { get } = await serve(EXPRESS, {}, { place });
  const read: Read = async <Body>(path: string, asked: Readonly<Record<string, unknown>>) => {
    const pairs = Object.entries(asked).flatMap(([name, given]) =>
      [given ?? []].flat().map((value): [string, string] => [name, String(value)]),
    );
    const target = `${path}?${new URLSearchParams(pairs)}`;
    const { status, body } = await get<Body>(target, { agent: keepAlive, ours: false });
    expect([200, 503]).toContain(status);
    return status === 200 ? body : null;
  };
  onTestFinished(() => shown?.close());
  return (sources) => {
    void shown?.close();
    shown = EXPRESS.createMonitorRouter({ sources, authorize: false, onError: () => {} });
    return read;
  };
}

/** Lets parts fail. @param plan by part, whether it does */
export function breakBy(parts: readonly Breakable<object>[], plan: readonly boolean[] | undefined): void {
  for (const [index, part] of parts.entries()) {
    part.act = plan?.[index] ? () => Promise.reject(new Error('away')) : null;
  }
}
