import type { Task, TaskDetail, TaskTree } from '../../src/model.ts';
import type {
  MonitorSources,
  ReadContext,
  TaskEventPage,
  TaskEventQuery,
  TaskPage,
  TaskQuery,
  TaskStats,
  TaskStatsQuery,
} from '../../src/source.ts';
import { queryOf } from '../helpers/task-query.ts';
import { keyOf, type WholeSources } from './array-source.ts';

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

/** Spoils how the feed is asked for. */
function feedAsking(change: (query: TaskEventQuery) => Partial<TaskEventQuery>): Break {
  return (sources) => ({
    ...sources,
    events: {
      ...sources.events,
      listEvents: (query, context) => sources.events.listEvents({ ...query, ...change(query) }, context),
    },
  });
}

/** Spoils the page of a task. */
function details(change: (detail: TaskDetail) => object): Break {
  return tasks((sources) => ({
    getTask: async (id: string, context: ReadContext) => {
      const detail = await sources.tasks.getTask(id, context);
      return detail && { ...detail, ...change(detail) };
    },
  }));
}

/** Spoils a workflow. @param change gets the tree, the asked id and all tasks that are listed */
function trees(change: (tree: TaskTree, id: string, all: readonly Task[]) => readonly Task[]): Break {
  return tasks((sources) => ({
    getTaskTree: async (id: string, context: ReadContext) => {
      const tree = await sources.tasks.getTaskTree?.(id, context);
      if (!tree) return null;
      const { tasks: all } = await sources.tasks.listTasks(queryOf({ limit: 1_000 }), context);
      return { ...tree, tasks: change(tree, id, all) };
    },
  }));
}

/** Spoils statistics. */
function stats(change: (stats: TaskStats) => object, ask = (query: TaskStatsQuery) => query): Break {
  return tasks((sources) => ({
    getTaskStats: async (query: TaskStatsQuery, context: ReadContext) => {
      const answer = await sources.tasks.getTaskStats?.(ask(query), context);
      return answer && { ...answer, ...change(answer) };
    },
  }));
}

function part(name: keyof WholeSources, change: object): Break {
  return (sources) => ({ ...sources, [name]: { ...sources[name], ...change } });
}

const ignoresConditions = tasks(() => ({ knowsConditions: true }));
const skippingCursor = feeding((page) => ({ cursor: String(Number(page.cursor) + 1) }));
const sameCursor = feeding(() => ({ cursor: '0' }));
const unchanged = () => ({});
const never = () => new Promise<never>(() => {});

/** Sources that are wrong in one way each, by the case that must find it out. */
export const BROKEN: Readonly<Record<string, Readonly<Record<string, Break>>>> = {
  'source: has exactly the named parts': {
    'has a part that was not named': (sources) =>
      ({ ...sources, queues: undefined }) as unknown as MonitorSources,
  },
  'tasks: has exactly the named capabilities': {
    'can do less than was said': tasks(() => ({ capabilities: { search: false } })),
  },
  'tasks: lists every seeded task with its known values': {
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
    'answers at most fifty rows and says that is all': paging(({ tasks: page, next }) => ({
      tasks: page.slice(0, 50),
      next: page.length > 50 ? null : next,
    })),
    'always has one more page': paging(({ tasks: page, next }) => ({
      next: next ?? { key: page.at(-1)?.timestamp?.getTime() ?? null, id: page.at(-1)?.id ?? '' },
    })),
  },
  'tasks: hides secrets in tasks that it calls redacted': {
    'calls tasks redacted that are not': rows(() => ({ redacted: true })),
  },
  'tasks: counts all matching tasks in total, or returns null': {
    'counts the page instead of all rows': paging(({ tasks: page }) => ({ total: page.length })),
  },
  'tasks: returns no rows for a limit of 0': {
    'answers one row more than the limit': asking(({ limit }) => ({ limit: limit + 1 })),
  },
  'tasks: filters by any of several states, names, workers and queues': {
    'ignores the state filter': asking(() => ({ states: [] })),
    'ignores the filter of engine states': asking(() => ({ engineStates: [] })),
    'ignores the name filter': asking(() => ({ names: [] })),
    'looks at the first of several workers only': asking(({ workers }) => ({ workers: workers.slice(0, 1) })),
    'ignores the queue filter': asking(() => ({ queues: [] })),
    'changes the query that it is given': asking((query) => {
      (query.states as string[]).push('SUCCESS');
      return {};
    }),
  },
  'tasks: filters by root, parent and group': {
    'ignores the group filter': asking(() => ({ groupId: null })),
  },
  'tasks: combines filters: all of them must match': {
    'meets one of two filters': asking(({ names, workers }) =>
      workers.length > 0 ? { names: [] } : { names },
    ),
  },
  'tasks: matches q by search() alone': {
    'searches the raw values itself': asking(({ q }) => ({
      search: (task) =>
        JSON.stringify(task)
          .toLowerCase()
          .includes(q ?? ''),
    })),
  },
  'tasks: treats since as inclusive and until as exclusive': {
    'takes since as exclusive': asking(({ since }) => ({ since: since && new Date(since.getTime() + 1) })),
    'takes until as inclusive': asking(({ until }) => ({ until: until && new Date(until.getTime() + 1) })),
  },
  'tasks: sorts by each field in both orders, ties by id, rows without a value last': {
    'ignores the sort': asking(() => ({ sort: 'timestamp' })),
    'ignores the order': asking(() => ({ order: 'desc' })),
    'orders ties by id descending': paging(({ tasks: page }) => ({
      tasks: page.toSorted((a, b) =>
        a.timestamp?.getTime() === b.timestamp?.getTime() ? (a.id < b.id ? 1 : -1) : 0,
      ),
    })),
  },
  'tasks: returns each row once over pages of any size, in every order': {
    'ignores the cursor': asking(() => ({ after: null })),
    'skips a row between pages': paging(({ tasks: page, next }) => ({ tasks: next ? page.slice(1) : page })),
    'gives places that JSON cannot hold': paging(({ next }) => ({
      next: next && { ...next, key: next.key === null ? null : Number.NaN },
    })),
  },
  'tasks: continues after a row at the position that endAt() returns': {
    'ends a page one row too late': paging(({ tasks: page }, { sort }) => ({
      endAt: (count) => {
        const row = page[count];
        return row ? { next: { key: keyOf(row, sort), id: row.id } } : null;
      },
    })),
  },
  'tasks: marks the last page as the last': {
    'has a next page whenever a page is full': paging(({ tasks: page, next }, { limit, sort }) => {
      const last = page.at(-1);
      const isFull = last !== undefined && page.length === limit;
      return { next: next ?? (isFull ? { key: keyOf(last, sort), id: last.id } : null) };
    }),
  },
  'tasks: pages through filtered rows with a small scan limit': {
    'stops at the scan limit': paging(({ tasks: page, next }, { scan }) => ({
      tasks: page,
      next: scan < 10 ? null : next,
    })),
  },
  'tasks: continues after a position whose row is gone': {
    'starts again where the row of a position is gone': asking(({ after }) => ({
      after: after?.id.endsWith('!') ? null : after,
    })),
  },
  'tasks: leaves out what a condition excludes, and keeps what is not known': {
    'says that it knows conditions, and does not': ignoresConditions,
  },
  'tasks: lists the failures of a cause, and none of an unknown one': {
    'ignores the filter of causes': asking(() => ({ causes: [] })),
  },
  'tasks: leaves out the causes that a condition excludes, and keeps tasks without one': {
    'says that it knows conditions, and does not': ignoresConditions,
  },
  'tasks: finds texts by their beginning, as it is written': {
    'says that it knows conditions, and does not': ignoresConditions,
  },
  'tasks: compares run time, wait and retries, and finds no task where they are not known': {
    'says that it knows conditions, and does not': ignoresConditions,
  },
  'tasks: meets all conditions at once, beside filters and texts': {
    'says that it knows conditions, and does not': ignoresConditions,
  },
  'tasks: returns null for an unknown id': {
    'knows every id': tasks(() => ({ getTask: (id: string) => ({ id, state: 'PENDING' }) })),
    'throws for an unknown id': tasks((sources) => ({
      getTask: async (id: string, context: { signal: AbortSignal }) => {
        const task = await sources.tasks.getTask(id, context);
        if (!task) throw new Error('no such row');
        return task;
      },
    })),
  },
  'tasks: returns a task with the same values as its list row': {
    'knows no single task': tasks(() => ({ getTask: () => null })),
    'tells another state on the page of a task': details(({ state }) => ({
      state: state === 'STARTED' ? 'PENDING' : state,
    })),
  },
  'tasks: lists the timeline from the oldest change to the current state': {
    'leaves the current state out of its timelines': details((detail) => ({
      timeline: detail.timeline?.map((change) => ({ ...change, state: 'SENT' })) ?? [],
    })),
  },
  'tasks.tree: returns null for an unknown id': {
    'has a tree of every id': tasks(() => ({
      getTaskTree: (id: string) => ({ rootId: id, tasks: [{ id, state: 'PENDING' }] }),
    })),
  },
  'tasks.tree: contains the requested task, its root, and each task once': {
    'leaves the asked task out of its tree': trees(({ tasks: all }, id) =>
      all.filter((task) => task.id !== id),
    ),
  },
  'tasks.tree: returns a task in its tree with the same values as its list row': {
    'forgets in its trees when tasks were received': trees(({ tasks: all }) =>
      all.map((task) => ({ ...task, received: null })),
    ),
  },
  'tasks.tree: reaches every relative from any task of the workflow': {
    'knows descendants but not ancestors': trees(({ tasks: all }, id) =>
      all.filter((task) => task.id === id || task.parentId === id),
    ),
  },
  'tasks.tree: leaves out unrelated tasks': {
    'has all tasks in every tree': trees((_tree, _id, all) => all),
  },
  'tasks.stats: counts tasks per state as the list does': {
    'counts failures as successes': stats(({ states: { FAILURE = 0, SUCCESS = 0, ...others } }) => ({
      states: { ...others, SUCCESS: SUCCESS + FAILURE },
    })),
  },
  'tasks.stats: counts tasks per name as the list does, the most frequent first': {
    'lists the rarest names first': stats(({ names }) => ({ names: names.toReversed() })),
  },
  'tasks.stats: applies the filters': {
    'sums up all tasks whatever the filter': stats(unchanged, (query) => ({
      ...query,
      filter: { ...query.filter, states: [], names: [] },
    })),
  },
  'tasks.stats: counts only tasks in the window': {
    'sums up all tasks whatever the window': stats(unchanged, (query) => ({
      ...query,
      now: new Date(),
      minutes: 60,
    })),
  },
  'tasks.stats: returns a series of equal steps, oldest first, that covers the window': {
    'lists the series newest first': stats(({ series }) => ({ series: series.toReversed() })),
  },
  'tasks.stats: lists the workers and queues of the listed tasks': {
    'lists workers without a task': stats(({ workers }) => ({ workers: [...workers, 'celery@idle'] })),
  },
  'workers: lists each worker once, by hostname': {
    'lists a worker twice': part('workers', {
      listWorkers: () => [1, 2].map(() => ({ hostname: 'a', status: 'online' })),
    }),
    'invents a status of workers': part('workers', {
      listWorkers: () => [{ hostname: 'a', status: 'busy' }],
    }),
    'returns null for no workers': part('workers', { listWorkers: () => null }),
  },
  'events: lists each item once, with an id': {
    'gives all items one id': feeding(({ events }) => ({
      events: events.map((event) => ({ ...event, id: 'same' })),
    })),
  },
  'events: reports every seeded task': {
    'forgets the oldest item': feeding(({ events }) => ({ events: events.slice(0, -1) })),
  },
  'events: lists the newest items, newest first, without since': {
    'lists the feed oldest first': feeding((page) => ({ events: page.events.toReversed() })),
  },
  'events: continues after a cursor with the oldest items, without duplicates or omissions': {
    'gives a feed cursor that skips': skippingCursor,
    'gives the same feed cursor for ever': sameCursor,
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
  },
  'events: returns nothing after its newest item, and the same cursor': {
    'gives a feed cursor that skips': skippingCursor,
  },
  'events: lists items that arrived after a cursor': {
    'gives the same feed cursor for ever': sameCursor,
  },
  'events: returns nothing after a time in the future': {
    'ignores the time in since': feedAsking(({ since }) => ({
      since: since && 'time' in since ? null : since,
    })),
  },
  'events: returns every item after a time before all of them': {
    'takes the time in since for a cursor at the end': feedAsking(({ since }) => ({
      since: since && 'time' in since ? { cursor: '1000000' } : since,
    })),
  },
  'events: filters by any of several states, workers and task names': {
    'ignores the filters of the feed': feedAsking(() => ({ states: [], workers: [], tasks: [] })),
  },
  'events: reports a gap or refuses for an unknown cursor': {
    'never admits a gap': feeding(() => ({ gap: false })),
  },
  'schedules: lists each schedule once, by id, or reports that there is no beat': {
    'lists a schedule twice': part('schedules', {
      listSchedules: () => [1, 2].map(() => ({ id: '1', name: 'nightly' })),
    }),
  },
  'queues: lists each queue once, by name': {
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
  },
  'health: answers each of its checks and says why one failed': {
    'hides why the broker is away': part('health', { checkBroker: () => ({ ok: false }) }),
  },
  'components: lists each component once, by key, with plain data as settings': {
    'has settings that JSON cannot hold': part('components', {
      listComponents: () => [{ key: 'a', name: 'A', enabled: true, status: 'up', config: { n: 1n } }],
    }),
  },
  'history: reports how much it holds': {
    'says that it holds nothing': (sources) => ({
      ...sources,
      history: {
        ...sources.history,
        getHistoryStats: async (context) => ({
          ...(await sources.history.getHistoryStats(context)),
          tasks: 0,
        }),
      },
    }),
  },
  'source: gives each part a valid name': {
    'has a name that no answer can hold': part('tasks', { name: 'my source!' }),
  },
  'source: reports its status synchronously and does not throw': {
    'throws from its status': part('tasks', {
      status: () => {
        throw new Error('not connected');
      },
    }),
    'invents an error code': part('workers', {
      status: () => ({ ok: false, asOf: null, error: 'ECONNREFUSED' }),
    }),
  },
  'source: keeps its revision while nothing changes': {
    'changes its revision at every look': part('tasks', {
      status: () => ({ ok: true, asOf: null, revision: Math.random() }),
    }),
  },
  'source: changes its revision when a task is added': {
    'keeps its revision when tasks come': part('tasks', {
      status: () => ({ ok: true, asOf: null, revision: 1 }),
    }),
  },
  'source: settles every aborted read and answers the next one': {
    'hangs once aborted': tasks((sources) => ({
      getTaskStats: (...[query, context]: Parameters<NonNullable<typeof sources.tasks.getTaskStats>>) =>
        context.signal.aborted ? never() : sources.tasks.getTaskStats?.(query, context),
    })),
  },
  'source: answers concurrent reads like a single one': {
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
  },
  'source: returns independent answers: changing one does not change another': {
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
  },
  'source: can be closed twice, and status() neither hangs nor throws afterwards': {
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
  },
  'source: can be closed during reads': {
    'hangs in close': (sources) => ({ ...sources, close: never }),
  },
};
