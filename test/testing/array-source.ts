import { isDone, type Task, type TaskEvent } from '../../src/model.ts';
import type {
  MonitorSources,
  TaskEventQuery,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSort,
  TaskStatsQuery,
} from '../../src/source.ts';

/** A whole bundle, every part of it there. */
export type WholeSources = {
  readonly [Part in Exclude<keyof MonitorSources, 'redact' | 'experimental'>]-?: NonNullable<
    MonitorSources[Part]
  >;
};

/** What a task is sorted by. */
export function keyOf(task: Task, sort: TaskSort): number | string | null {
  const value = task[sort];
  return value instanceof Date ? value.getTime() : (value ?? null);
}

function compare(a: TaskPosition, b: TaskPosition, order: TaskQuery['order']): number {
  if (a.key === b.key) return a.id < b.id ? -1 : Number(a.id > b.id);
  if (a.key === null) return 1;
  if (b.key === null) return -1;
  return (a.key < b.key ? -1 : 1) * (order === 'asc' ? 1 : -1);
}

const among = (wanted: readonly string[], value: string | null | undefined) =>
  wanted.length === 0 || wanted.includes(value ?? '');

function matches(task: Task, query: TaskQuery): boolean {
  const time = task.timestamp ?? null;
  return (
    among(query.states, task.state) &&
    among(query.engineStates, task.engineState) &&
    among(query.names, task.name) &&
    among(query.workers, task.worker) &&
    among(query.queues, task.queue) &&
    (query.causes.length === 0 || query.causes.includes(query.causeOf(task)?.id ?? '')) &&
    (query.rootId === null || query.rootId === task.rootId) &&
    (query.parentId === null || query.parentId === task.parentId) &&
    (query.groupId === null || query.groupId === task.groupId) &&
    (query.q === null || query.search(task)) &&
    (query.since === null || (time !== null && time >= query.since)) &&
    (query.until === null || (time !== null && time < query.until))
  );
}

function list(tasks: readonly Task[], query: TaskQuery): TaskPage {
  const place = (task: Task) => ({ key: keyOf(task, query.sort), id: task.id });
  const matching = tasks
    .filter((task) => matches(task, query))
    .toSorted((a, b) => compare(place(a), place(b), query.order));
  const { after } = query;
  const rest = after ? matching.filter((task) => compare(place(task), after, query.order) > 0) : matching;
  const page = rest.slice(0, query.limit);
  const last = page.at(-1);
  const next = last && rest.length > page.length ? place(last) : null;
  return { tasks: page, next, total: matching.length };
}

function related(tasks: readonly Task[], id: string): Task[] {
  const ends = (task: Task) => [task.id, task.parentId, task.groupId, task.chordId].filter(Boolean);
  const reached = new Set<string | null | undefined>([id]);
  for (let size = 0; size < reached.size; ) {
    size = reached.size;
    for (const task of tasks) {
      if (ends(task).some((end) => reached.has(end))) for (const end of ends(task)) reached.add(end);
    }
  }
  return tasks.filter((task) => reached.has(task.id));
}

function summarize(tasks: readonly Task[], { minutes, now, filter }: TaskStatsQuery) {
  const from = now.getTime() - minutes * 60_000;
  const inside = tasks.filter((task) => {
    const time = task.timestamp?.getTime() ?? -1;
    return time >= from && time <= now.getTime() && matches(task, filter);
  });
  const count = (keys: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  };
  const names = [...count(inside.flatMap((task) => task.name ?? []))].map(([name, number]) => ({
    name,
    count: number,
    failed: inside.filter((task) => task.name === name && task.state === 'FAILURE').length,
    runtimeP50: null,
    runtimeP95: null,
    waitP50: null,
    waitP95: null,
  }));
  return {
    stepSeconds: 60,
    series: Array.from({ length: minutes }, (_, step) => ({
      t: new Date(from + step * 60_000),
      received: 0,
      succeeded: 0,
      failed: 0,
      retried: 0,
    })),
    states: Object.fromEntries(count(inside.map((task) => task.state))),
    names: names.toSorted((a, b) => b.count - a.count),
    workers: [...new Set(inside.flatMap((task) => task.worker ?? []))],
    queues: [...new Set(inside.flatMap((task) => task.queue ?? []))],
  };
}

function feed(events: readonly (TaskEvent & { readonly at: number })[], query: TaskEventQuery) {
  const { since, limit } = query;
  const asked = since && 'cursor' in since ? since.cursor : null;
  const known = asked === null || /^(?:0|[1-9]\d{0,8})$/.test(asked);
  const from = asked !== null && known ? Number(asked) : 0;
  const later = events.filter(
    (event, index) =>
      index >= from &&
      (!since || !('time' in since) || event.at >= since.time.getTime()) &&
      among(query.states, event.state) &&
      among(query.workers, event.worker) &&
      among(query.tasks, event.task),
  );
  const listed = since ? later.slice(0, limit) : later.slice(-limit);
  const newest = listed.at(-1);
  const cursor = newest ? String(events.indexOf(newest) + 1) : (asked ?? String(events.length));
  return { events: listed.map(({ at: _, ...event }) => event).toReversed(), cursor, gap: !known };
}

/** A source in plain words: everything in one array, every read over all of it. */
export function arraySources(): {
  sources: WholeSources;
  seed: (tasks: readonly Task[]) => void;
} {
  const tasks: Task[] = [];
  const events: (TaskEvent & { at: number })[] = [];
  const status = () => ({ ok: true, asOf: new Date(), revision: tasks.length });
  const part = { name: 'array', status };
  const find = (id: string) => tasks.find((task) => task.id === id) ?? null;
  const sources: WholeSources = {
    tasks: {
      ...part,
      listTasks: (query) => list(tasks, query),
      getTask: async (id) => {
        const task = find(id);
        if (!task) return null;
        return { ...task, children: [], timeline: [{ ...NO_CHANGE, state: task.state }] };
      },
      getTaskTree: (id) => {
        const task = find(id);
        return task && { rootId: task.rootId ?? id, tasks: related(tasks, id) };
      },
      getTaskStats: async (query) => summarize(tasks, query),
    },
    workers: { ...part, listWorkers: () => [{ hostname: 'celery@a', status: 'online' }] },
    events: { ...part, listEvents: async (query) => feed(events, query) },
    schedules: { ...part, listSchedules: () => [{ id: '1', name: 'nightly' }] },
    health: {
      ...part,
      checkBroker: () => ({ ok: true }),
      checkWorkers: async () => ({ ok: true, responding: ['celery@a'], missing: ['celery@b'] }),
    },
    queues: {
      ...part,
      listQueues: () => [{ name: 'mail', waiting: 1, consumers: null, oldestDueAt: null, asOf: new Date() }],
    },
    components: {
      ...part,
      listComponents: () => [{ key: 'broker', name: 'Array', enabled: true, status: 'up', config: {} }],
    },
    history: {
      ...part,
      getHistoryStats: () => ({ ...NO_HISTORY, tasks: tasks.length, events: events.length }),
    },
    close: () => {},
  };
  const seed = (added: readonly Task[]) => {
    for (const task of added) {
      tasks.push(task);
      const { id, name, state, worker, timestamp } = task;
      const told = {
        task: name ?? null,
        taskId: id,
        state,
        worker: worker ?? null,
        timestamp: timestamp ?? null,
      };
      const type = isDone(state) ? 'task-ended' : 'task-changed';
      events.push({ id: `e${events.length}`, type, at: Date.now(), ...told });
    }
  };
  return { sources, seed };
}

const NO_CHANGE = { timestamp: null, worker: null, detail: null };
const NO_HISTORY = {
  workers: 1,
  since: null,
  evicted: 0,
  bytes: 0,
  eventsReceived: 0,
  dropped: 0,
  lagSeconds: null,
};
