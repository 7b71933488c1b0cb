import type { Task } from '../../src/model.ts';
import type { MonitorSources, ReadContext, TaskEventPage, TaskPage, TaskQuery } from '../../src/source.ts';
import type { WholeSources } from './array-source.ts';

type Break = (sources: WholeSources) => MonitorSources;

/** Spoils how the list is asked for. */
function asking(change: (query: TaskQuery) => Partial<TaskQuery>): Break {
  return tasks((sources) => ({
    listTasks: (query: TaskQuery, context: ReadContext) =>
      sources.tasks.listTasks({ ...query, ...change(query) }, context),
  }));
}

/** Spoils a page on its way out. */
function paging(change: (page: TaskPage, query: TaskQuery) => Partial<TaskPage>): Break {
  return tasks((sources) => ({
    listTasks: async (query: TaskQuery, context: ReadContext) => {
      const page = await sources.tasks.listTasks(query, context);
      return { ...page, ...change(page, query) };
    },
  }));
}

/** Spoils every row. */
function rows(change: (task: Task) => object): Break {
  return paging((page) => ({ tasks: page.tasks.map((task) => ({ ...task, ...change(task) })) }));
}

function tasks(change: (sources: WholeSources) => object): Break {
  return (sources) => ({ ...sources, tasks: { ...sources.tasks, ...change(sources) } });
}

/** Spoils a page of the feed. */
function feeding(change: (page: TaskEventPage) => Partial<TaskEventPage>): Break {
  return (sources) => ({
    ...sources,
    events: {
      ...sources.events,
      listEvents: async (query, context) => {
        const page = await sources.events.listEvents(query, context);
        return { ...page, ...change(page) };
      },
    },
  });
}

function part(name: keyof WholeSources, change: object): Break {
  return (sources) => ({ ...sources, [name]: { ...sources[name], ...change } });
}

const never = () => new Promise<never>(() => {});

/** Sources that are wrong in one way each. */
export const BROKEN: Readonly<Record<string, Break>> = {
  'ignores the state filter': asking(() => ({ states: [] })),
  'ignores the filter of engine states': asking(() => ({ engineStates: [] })),
  'ignores the name filter': asking(() => ({ names: [] })),
  'looks at the first of several workers only': asking(({ workers }) => ({ workers: workers.slice(0, 1) })),
  'ignores the queue filter': asking(() => ({ queues: [] })),
  'ignores the group filter': asking(() => ({ groupId: null })),
  'says that it knows conditions, and does not': tasks(() => ({ knowsConditions: true })),
  'searches the raw values itself': asking(({ q }) => ({
    search: (task) =>
      JSON.stringify(task)
        .toLowerCase()
        .includes(q ?? ''),
  })),
  'takes since as exclusive': asking(({ since }) => ({ since: since && new Date(since.getTime() + 1) })),
  'takes until as inclusive': asking(({ until }) => ({ until: until && new Date(until.getTime() + 1) })),
  'ignores the sort': asking(() => ({ sort: 'timestamp' })),
  'ignores the order': asking(() => ({ order: 'desc' })),
  'ignores the cursor': asking(() => ({ after: null })),
  'answers one row more than the limit': asking(({ limit }) => ({ limit: limit + 1 })),
  'answers at most fifty rows and says that is all': paging(({ tasks: page, next }) => ({
    tasks: page.slice(0, 50),
    next: page.length > 50 ? null : next,
  })),
  'orders ties by id descending': paging(({ tasks: page }) => ({
    tasks: page.toSorted((a, b) =>
      a.timestamp?.getTime() === b.timestamp?.getTime() ? (a.id < b.id ? 1 : -1) : 0,
    ),
  })),
  'skips a row between pages': paging(({ tasks: page, next }) => ({ tasks: next ? page.slice(1) : page })),
  'counts the page instead of all rows': paging(({ tasks: page }) => ({ total: page.length })),
  'always has one more page': paging(({ tasks: page, next }) => ({
    next: next ?? { key: page.at(-1)?.timestamp?.getTime() ?? null, id: page.at(-1)?.id ?? '' },
  })),
  'gives places that JSON cannot hold': paging(({ next }) => ({
    next: next && { ...next, key: next.key === null ? null : Number.NaN },
  })),
  'gives times as text': rows((task) => ({ started: task.started?.toISOString() ?? null })),
  'gives an invalid date': rows(() => ({ eta: new Date(Number.NaN) })),
  'gives times in seconds': rows((task) => ({ sent: task.sent && new Date(task.sent.getTime() / 1000) })),
  'swaps started and finished': rows((task) => ({
    started: task.finished ?? task.started ?? null,
    finished: task.started ?? null,
  })),
  'misspells a field': rows((task) => ({ parent_id: task.parentId ?? null })),
  'gives numbers as ids': rows((task) => ({ id: Number(task.id.length) })),
  'gives states in lower case': rows((task) => ({ state: task.state.toLowerCase() })),
  'knows every id': tasks(() => ({ getTask: (id: string) => ({ id, state: 'PENDING' }) })),
  'knows no single task': tasks(() => ({ getTask: () => null })),
  'throws for an unknown id': tasks((sources) => ({
    getTask: async (id: string, context: { signal: AbortSignal }) => {
      const task = await sources.tasks.getTask(id, context);
      if (!task) throw new Error('no such row');
      return task;
    },
  })),
  'tells another state on the page of a task': tasks((sources) => ({
    getTask: async (id: string, context: { signal: AbortSignal }) => {
      const task = await sources.tasks.getTask(id, context);
      return task && { ...task, state: task.state === 'STARTED' ? 'PENDING' : task.state };
    },
  })),
  'forgets in its trees when tasks were received': tasks((sources) => ({
    getTaskTree: async (id: string, context: { signal: AbortSignal }) => {
      const tree = await sources.tasks.getTaskTree?.(id, context);
      return tree ? { ...tree, tasks: tree.tasks.map((task) => ({ ...task, received: null })) } : null;
    },
  })),
  'leaves the asked task out of its tree': tasks((sources) => ({
    getTaskTree: async (id: string, context: { signal: AbortSignal }) => {
      const tree = await sources.tasks.getTaskTree?.(id, context);
      return tree ? { ...tree, tasks: tree.tasks.filter((task) => task.id !== id) } : null;
    },
  })),
  'knows descendants but not ancestors': tasks((sources) => ({
    getTaskTree: async (id: string, context: { signal: AbortSignal }) => {
      const tree = await sources.tasks.getTaskTree?.(id, context);
      if (!tree) return null;
      const below = (task: Task) => task.id === id || task.parentId === id;
      return { ...tree, tasks: tree.tasks.filter(below) };
    },
  })),
  'counts failures as successes': tasks((sources) => ({
    getTaskStats: async (...asked: Parameters<NonNullable<typeof sources.tasks.getTaskStats>>) => {
      const stats = await sources.tasks.getTaskStats?.(...asked);
      const { FAILURE = 0, SUCCESS = 0, ...others } = stats?.states ?? {};
      return { ...stats, states: { ...others, SUCCESS: SUCCESS + FAILURE } };
    },
  })),
  'sums up all tasks whatever the filter': tasks((sources) => ({
    getTaskStats: (...[query, context]: Parameters<NonNullable<typeof sources.tasks.getTaskStats>>) =>
      sources.tasks.getTaskStats?.({ ...query, filter: { ...query.filter, states: [], names: [] } }, context),
  })),
  'lists the feed oldest first': feeding((page) => ({ events: page.events.toReversed() })),
  'gives a feed cursor that skips': feeding((page) => ({ cursor: String(Number(page.cursor) + 1) })),
  'gives the same feed cursor for ever': feeding(() => ({ cursor: '0' })),
  'never admits a gap': feeding(() => ({ gap: false })),
  'lists the newest items after a cursor': (sources) => ({
    ...sources,
    events: {
      ...sources.events,
      listEvents: async (query, context) => {
        const page = await sources.events.listEvents({ ...query, limit: 1000 }, context);
        return query.since ? { ...page, events: page.events.slice(0, query.limit) } : page;
      },
    },
  }),
  'lists a worker twice': part('workers', {
    listWorkers: () => [1, 2].map(() => ({ hostname: 'a', status: 'online' })),
  }),
  'invents a status of workers': part('workers', { listWorkers: () => [{ hostname: 'a', status: 'busy' }] }),
  'returns null for no workers': part('workers', { listWorkers: () => null }),
  'hides why the broker is away': part('health', { checkBroker: () => ({ ok: false }) }),
  'lists a queue without a name': part('queues', {
    listQueues: () => [{ name: '', waiting: 1, consumers: null, oldestDueAt: null, asOf: null }],
  }),
  'counts the tasks of a queue in words': part('queues', {
    listQueues: () => [
      {
        ...{ name: 'a', waiting: 1, consumers: null, oldestDueAt: null, asOf: null },
        engineStates: { waiting: 'one' },
      },
    ],
  }),
  'has settings that JSON cannot hold': part('components', {
    listComponents: () => [{ key: 'a', name: 'A', enabled: true, status: 'up', config: { n: 1n } }],
  }),
  'throws from its status': part('tasks', {
    status: () => {
      throw new Error('not connected');
    },
  }),
  'invents an error code': part('workers', {
    status: () => ({ ok: false, asOf: null, error: 'ECONNREFUSED' }),
  }),
  'keeps its revision when tasks come': part('tasks', {
    status: () => ({ ok: true, asOf: null, revision: 1 }),
  }),
  'changes its revision at every look': part('tasks', {
    status: () => ({ ok: true, asOf: null, revision: Math.random() }),
  }),
  'has a name that no answer can hold': part('tasks', { name: 'my source!' }),
  'hangs once aborted': tasks((sources) => ({
    getTaskStats: (...[query, context]: Parameters<NonNullable<typeof sources.tasks.getTaskStats>>) =>
      context.signal.aborted ? never() : sources.tasks.getTaskStats?.(query, context),
  })),
  'hangs in close': (sources) => ({ ...sources, close: never }),
  'throws from the second close': (sources) => {
    let closed = false;
    const close = () => {
      if (closed) throw new Error('already closed');
      closed = true;
    };
    return { ...sources, close };
  },
  'hangs when read after close': (sources) => {
    let closed = false;
    const listWorkers = () => (closed ? never() : []);
    const close = () => {
      closed = true;
    };
    return { ...sources, workers: { ...sources.workers, listWorkers }, close };
  },
  'answers one read at a time and mixes them up': tasks((sources) => {
    let latest: TaskQuery | null = null;
    return {
      listTasks: async (query: TaskQuery, context: ReadContext) => {
        latest = query;
        await Promise.resolve();
        return sources.tasks.listTasks(latest, context);
      },
    };
  }),
  'hands out the array that it keeps': (sources) => {
    let kept: Task[] | null = null;
    return {
      ...sources,
      tasks: {
        ...sources.tasks,
        listTasks: async (query, context) => {
          const page = await sources.tasks.listTasks(query, context);
          if (query.limit !== 5) return page;
          kept ??= [...page.tasks];
          return { ...page, tasks: kept };
        },
      },
    };
  },
  'changes the query that it is given': asking((query) => {
    (query.states as string[]).push('SUCCESS');
    return {};
  }),
};
