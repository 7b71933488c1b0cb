import { describe, expect, it } from 'vitest';
import type { MonitorSources, Task, TaskQuery } from '../../src/index.ts';
import { combineSources } from '../../src/index.ts';
import { selectTasks, summarizeTasks } from '../../src/select.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, serveAll } from './host-kit.ts';
import { at, shopTask } from './shop-sources.ts';

const TASKS: readonly Task[] = [
  ...Array.from({ length: 12 }, (_, number) => shopTask(number)),
  shopTask(14, { state: 'FAILURE', exception: "Declined('order 7')" }),
  shopTask(15, { state: 'FAILURE', exception: "KeyError('a')" }),
  shopTask(20, { name: 'mail.send', worker: null, runtime: 7, retries: 2, args: "('pink',)" }),
  shopTask(21, { name: 'mail.drop', queue: null, runtime: 0.05, retries: null, engineState: 'failed' }),
];

/** Where each row shows what. */
const RUNTIME = (task: Task) => task.runtime ?? Number.NaN;
const RETRIES = (task: Task) => task.retries ?? Number.NaN;

/** The cause of `Declined('order 7')`: its id is the same everywhere. */
const DECLINED = 'cd8c74c87aee';

const HOLDS: Readonly<Record<string, (task: Task) => boolean>> = {
  'not_state=SUCCESS': ({ state }) => state !== 'SUCCESS',
  'not_engine_state=failed': ({ engineState }) => engineState !== 'failed',
  'name_prefix=shop.': ({ name }) => name?.startsWith('shop.') === true,
  'name_prefix=mail.d&name=shop.pay': ({ name }) => name === 'mail.drop' || name === 'shop.pay',
  'name_prefix=MAIL': () => false,
  'name_prefix=.*': () => false,
  'not_name_prefix=shop.': ({ name }) => name?.startsWith('shop.') === false,
  'not_name=shop.pay&not_name=mail.send': ({ name }) => name !== 'shop.pay' && name !== 'mail.send',
  'not_worker=celery@shop-1': ({ worker }) => worker !== 'celery@shop-1',
  'worker_prefix=celery': ({ worker }) => worker != null,
  'not_queue_prefix=b': ({ queue }) => queue?.startsWith('b') !== true,
  'task_id=task-0003&task_id=task-0020': ({ id }) => ['task-0003', 'task-0020'].includes(id),
  'task_id_prefix=task-001': ({ id }) => id.startsWith('task-001'),
  'not_task_id=task-0003': ({ id }) => id !== 'task-0003',
  'runtime_gt=0.5': (task) => RUNTIME(task) > 0.5,
  'runtime_gte=0.5&runtime_lt=7': (task) => RUNTIME(task) >= 0.5 && RUNTIME(task) < 7,
  'runtime_lte=0.05': (task) => RUNTIME(task) <= 0.05,
  // A task that was retried waited for an unknown time.
  'wait_gte=0.5': ({ retries }) => (retries ?? 0) === 0,
  'wait_gt=0.5': () => false,
  'retries_gt=0': (task) => RETRIES(task) > 0,
  'retries_lte=0': (task) => RETRIES(task) <= 0,
  'q=blue&q=0003': ({ id }) => id === 'task-0003',
  'not_q=BLUE': ({ args }) => args === "('pink',)",
  'q=task&not_q=blue&name_prefix=mail': ({ args }) => args === "('pink',)",
  'source=shop': () => true,
  'source=other': () => false,
  'not_source=shop': () => false,
  [`not_cause=${DECLINED}`]: ({ exception }) => exception !== "Declined('order 7')",
  [`not_cause=${DECLINED}&not_cause=0123456789ab&state=FAILURE`]: ({ exception }) =>
    exception === "KeyError('a')",
};

/** One that knows nothing of conditions: what it lists, `search` decides. */
const plain = (query: TaskQuery) => selectTasks(TASKS, { ...query, conditions: [] });

const SOURCES: Readonly<Record<string, MonitorSources>> = {
  'a source that selects': {
    tasks: {
      name: 'shop',
      listTasks: (query) => selectTasks(TASKS, query),
      getTask: () => null,
      getTaskStats: (query) => summarizeTasks(TASKS, query),
    },
  },
  'a source that does not know conditions': {
    tasks: {
      name: 'shop',
      listTasks: plain,
      getTask: () => null,
      getTaskStats: (query) =>
        summarizeTasks(TASKS, { ...query, filter: { ...query.filter, conditions: [] } }),
    },
  },
};

describe.each(Object.entries(SOURCES))('conditions on %s', (_what, sources) => {
  const host = serveAll(EXPRESS, { sources });

  it.each(Object.entries(HOLDS))('%s', async (query, holds) => {
    const { get } = host();
    const expected = TASKS.filter(holds).map(({ id }) => id);
    const until = at(30).toISOString();
    const { status, body } = await get<TasksBody>(`/api/tasks/?stats=1&stats_until=${until}&${query}`);
    expect(status).toBe(200);
    expect(body.tasks.map(({ task_id }) => task_id)).toEqual(expected.toReversed());
    expect(body.total).toBe(expected.length);
    const counted = Object.values(body.stats?.states ?? {}).reduce((sum, count) => sum + count, 0);
    expect(counted).toBe(expected.length);
  });
});

describe('conditions', () => {
  const host = serveAll(EXPRESS, { sources: SOURCES['a source that selects'] as MonitorSources });

  it.each([
    ['runtime_gt=fast', 'runtime_gt', 'Write a number of at least 0, such as 2 or 0.5.'],
    ['retries_lt=-1', 'retries_lt', 'Write a number of at least 0, such as 2 or 0.5.'],
    ['wait_gte=1&wait_gte=2', 'wait_gte', 'Write it once.'],
    ['name_prefix=', 'name_prefix', 'Write a value, or omit the parameter.'],
    [`q=a&q=${'b'.repeat(201)}`, 'q', 'Write at most 200 characters.'],
    ['not_parent_id=a', 'not_parent_id', 'There is no parameter with this name.'],
    [
      'stats=1441&not_name=a',
      'stats',
      'Write at most 1440 with not_name: longer windows can be filtered by name, worker, queue, cause and source.',
    ],
  ])('%s is refused', async (query, parameter, detail) => {
    const { get } = host();
    const { status, body } = await get<ProblemBody>(`/api/tasks/?${query}`);
    expect(status).toBe(400);
    expect(body.errors).toEqual([{ parameter, detail }]);
  });

  it('are at most 20 terms in all', async () => {
    const { get } = host();
    const terms = (count: number) => Array.from({ length: count }, (_, at) => `not_name=${at}`).join('&');
    expect((await get(`/api/tasks/?${terms(17)}&q=a&runtime_gt=1&source=shop`)).status).toBe(200);
    const { status, body } = await get<ProblemBody>(`/api/tasks/?${terms(18)}&q=a&q=b&runtime_gt=1`);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ parameter: 'q', detail: /^Write at most 20 terms in all:/ }]);
    // Exact filters are as many as before.
    expect((await get(`/api/tasks/?${terms(20)}&${terms(50).replaceAll('not_name', 'name')}`)).status).toBe(
      200,
    );
  });

  it('belong to the list that a cursor continues', async () => {
    const { get } = host();
    const { body } = await get<TasksBody>('/api/tasks/?limit=2&not_state=STARTED&runtime_gt=0.1');
    const cursor = `cursor=${body.next_cursor}`;
    const next = await get<TasksBody>(`/api/tasks/?limit=2&runtime_gt=0.1&not_state=STARTED&${cursor}`);
    expect(next.body.tasks).toHaveLength(2);
    for (const other of ['not_state=STARTED&runtime_gt=0.2', 'runtime_gt=0.1', 'not_state=STARTED&q=a']) {
      const { status, body: problem } = await get<ProblemBody>(`/api/tasks/?${other}&${cursor}`);
      expect([status, problem.errors?.[0]?.parameter]).toEqual([400, 'cursor']);
    }
  });

  it('ask only the sources that are wanted', async () => {
    const asked: string[] = [];
    const source = (name: string, count: number): MonitorSources => ({
      tasks: {
        name,
        listTasks(query) {
          asked.push(name);
          return selectTasks(TASKS.slice(0, count), query);
        },
        getTask: () => null,
        getTaskStats: (query) => summarizeTasks(TASKS.slice(0, count), query),
      },
    });
    const sources = combineSources(source('one', 2), source('two', 3), source('three', 4));
    const { get } = await serve(EXPRESS, { sources });
    for (const [query, names, total] of [
      ['source=two', ['two'], 3],
      ['source=two&source=one', ['one', 'two'], 5],
      ['not_source=two', ['one', 'three'], 6],
      ['source=none', [], 0],
    ] as const) {
      asked.length = 0;
      const { body } = await get<TasksBody>(`/api/tasks/?stats=30&${query}`);
      expect(asked.toSorted()).toEqual(names.toSorted());
      expect(body.total).toBe(total);
      expect(new Set(body.tasks.map((task) => task.source))).toEqual(new Set(names));
      const ids: string[] = [];
      for (let cursor = ''; ; ) {
        const page: { body: TasksBody } = await get(`/api/tasks/?limit=2&${query}${cursor}`);
        ids.push(...page.body.tasks.map(({ source, task_id }) => `${source} ${task_id}`));
        if (page.body.next_cursor === null) break;
        cursor = `&cursor=${page.body.next_cursor}`;
      }
      expect([ids.length, new Set(ids).size]).toEqual([total, total]);
    }
  });

  it('say in which text a row has a match, of several the first', async () => {
    const { get } = host();
    const { body } = await get<TasksBody>('/api/tasks/?q=pink&q=mail&not_q=blue');
    expect(body.tasks.map(({ match }) => match)).toEqual([{ field: 'args', text: "('pink',)" }]);
  });
});
