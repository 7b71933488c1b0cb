import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve, serveAll } from './host-kit.ts';
import { at, createShop, shopTask } from './shop-sources.ts';

/** Every id of a list, page by page, by `next_cursor` or by the `Link` header. */
async function walk({ get, base }: Host, query: string, by: 'cursor' | 'link'): Promise<string[]> {
  const ids: string[] = [];
  let search = `?${query}`;
  for (let page = 0; page < 1_000; page += 1) {
    const { body, headers } = await get<TasksBody>(`/api/tasks/${search}`);
    ids.push(...body.tasks.map(({ task_id }) => task_id));
    expect(headers.link === undefined).toBe(body.next_cursor === null);
    if (body.next_cursor === null) return ids;
    const reference = /^<(.*)>; rel="next"$/.exec(String(headers.link))?.[1] ?? '';
    search =
      by === 'cursor'
        ? `?${query}&cursor=${body.next_cursor}`
        : new URL(reference, `${base}/api/tasks/${search}`).search;
  }
  throw new Error('The walk never ends.');
}

describe('a walk over the list', () => {
  const host = serveAll(EXPRESS, { sources: createShop().sources });

  it.each([
    'limit=1',
    'limit=7',
    'limit=1000',
    'limit=4&state=SUCCESS&state=FAILURE',
    'limit=4&sort=name&order=asc',
    'limit=4&sort=runtime',
    'limit=4&q=blue',
    'limit=4&worker=celery%40shop-1&queue=default',
    'limit=4&since=2026-11-21T02:00:05Z&until=2026-11-21T02:00:20',
  ])('sees each row of %s once, by cursor and by link', async (query) => {
    const shop = createShop();
    shop.tasks.push(shopTask(26, { timestamp: null, runtime: null }), shopTask(27, { timestamp: null }));
    const host = await serve(EXPRESS, { sources: shop.sources });
    const all = await host.get<TasksBody>(`/api/tasks/?${query.replace(/limit=\d+/, 'limit=1000')}`);
    const expected = all.body.tasks.map(({ task_id }) => task_id);
    expect(expected.length).toBeGreaterThan(3);
    expect(all.body.total).toBe(expected.length);
    expect(await walk(host, query, 'cursor')).toEqual(expected);
    expect(await walk(host, query, 'link')).toEqual(expected);
  });

  it('goes on when the router is a new one', async () => {
    const shop = createShop();
    const one = await serve(EXPRESS, { sources: shop.sources });
    const { body } = await one.get<TasksBody>('/api/tasks/?limit=20');
    const two = await serve(EXPRESS, { sources: shop.sources });
    const rest = await two.get<TasksBody>(`/api/tasks/?limit=20&cursor=${body.next_cursor}`);
    expect(rest.body.tasks.map(({ task_id }) => task_id)).toEqual(
      ['0005', '0004', '0003', '0002', '0001'].map((number) => `task-${number}`),
    );
  });

  it('sees what does not change once, although other rows move to the front', async () => {
    const shop = createShop(10);
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    const first = await get<TasksBody>('/api/tasks/?limit=5');
    shop.tasks[1] = shopTask(2, { timestamp: at(100) });
    shop.tasks[7] = shopTask(8, { timestamp: at(101) });
    const second = await get<TasksBody>(`/api/tasks/?limit=5&cursor=${first.body.next_cursor}`);
    expect(second.body.tasks.map(({ task_id }) => task_id)).toEqual([
      'task-0005',
      'task-0004',
      'task-0003',
      'task-0001',
    ]);
  });

  it.each([
    'state=SUCCESS',
    'sort=name',
    'order=asc',
    'q=x',
    'since=0',
    'until=0',
    'root_id=a',
    'parent_id=a',
    'group_id=a',
    'worker=a',
    'queue=a',
    'name=a',
  ])('cannot go on with another list: %s', async (other) => {
    const { get } = host();
    const { body } = await get<TasksBody>('/api/tasks/?limit=5');
    const { status, body: problem } = await get<ProblemBody>(
      `/api/tasks/?${other}&cursor=${body.next_cursor}`,
    );
    expect(status).toBe(400);
    expect(problem.errors).toMatchObject([{ parameter: 'cursor' }]);
  });

  it('goes on when filters that are the same come in another order, or with another limit', async () => {
    const { get } = host();
    const { body } = await get<TasksBody>('/api/tasks/?limit=2&state=SUCCESS&state=FAILURE');
    const path = `/api/tasks/?state=FAILURE&cursor=${body.next_cursor}&limit=9&state=SUCCESS`;
    expect((await get(path)).status).toBe(200);
  });

  it('keeps the parameters of the host in its links', async () => {
    const { get } = await serve(EXPRESS, { sources: createShop().sources, ignoreQuery: ['token'] });
    const { headers } = await get('/api/tasks/?token=a%3Eb%22c&limit=5');
    expect(headers.link).toMatch(/^<\?token=a%3Eb%22c&limit=5&cursor=[\w-]+>; rel="next"$/);
  });

  it('asks for counts alone with limit=0 and stats, and not otherwise', async () => {
    const { get } = host();
    const { body } = await get<TasksBody>('/api/tasks/?limit=0&stats=60');
    expect(body).toMatchObject({ tasks: [], next_cursor: null, total: 25, stats: { step_seconds: 60 } });
    const problem = await get<ProblemBody>('/api/tasks/?limit=0');
    expect([problem.status, problem.body.errors?.[0]?.parameter]).toEqual([400, 'limit']);
  });

  it('has figures in the steps asked for, up to the time asked for', async () => {
    const { get } = host();
    const { body } = await get<TasksBody>(
      '/api/tasks/?limit=0&stats=120&stats_step=3600&stats_until=2026-01-10T12:30:00Z',
    );
    expect(body.stats?.step_seconds).toBe(3_600);
    expect(body.stats?.series.map(({ t }) => t.slice(0, 16))).toEqual([
      ...['2026-01-10T10:00', '2026-01-10T11:00', '2026-01-10T12:00'],
    ]);
    const week = await get<TasksBody>('/api/tasks/?limit=0&stats=10080');
    expect([week.status, week.body.stats?.step_seconds]).toEqual([200, 7_200]);
    const end = week.body.stats?.series.at(-1)?.t ?? '';
    const later = await get<TasksBody>('/api/tasks/?limit=0&stats=10080&stats_until=2999-01-01T00:00:00Z');
    expect(later.body.stats?.series.at(-1)?.t).toBe(end);
  });

  it('refuses figures that nobody can make, and says what is possible', async () => {
    const { get } = host();
    for (const [query, parameter, detail] of [
      ['stats=129601', 'stats', /1 to 129600/],
      ['stats=1441&state=SUCCESS', 'stats', /1440 with state.* name, worker, queue, cause and source/],
      ['stats=1441&since=2026-01-01T00:00:00Z', 'stats', /1440 with since/],
      ['stats=1441&q=pay', 'stats', /1440 with q/],
      ['stats=60&stats_step=90', 'stats_step', /multiple of 60/],
      ['stats=129600&stats_step=3600', 'stats_step', /at least 5220.* 1500 steps/],
      ['stats_step=60', 'stats_step', /only with stats/],
      ['stats_callers=true&name=a', 'stats_callers', /only with stats/],
      ['stats=60&stats_callers=true', 'stats_callers', /exactly one name/],
      ['stats=60&stats_callers=true&name=a&name=b', 'stats_callers', /exactly one name/],
      ['stats=60&stats_callers=true&name=a&name_prefix=b', 'stats_callers', /no name_prefix/],
      ['stats_until=2026-01-01T00:00:00Z', 'stats_until', /only with stats/],
    ] as const) {
      const { status, body } = await get<ProblemBody>(`/api/tasks/?limit=1&${query}`);
      expect([status, body.errors?.map((error) => error.parameter)]).toEqual([400, [parameter]]);
      expect(body.errors?.[0]?.detail).toMatch(detail);
    }
    const { status } = await get('/api/tasks/?limit=1&stats=129600&stats_step=5220&name=a&worker=w&queue=q');
    expect(status).toBe(200);
  });

  it('finds every fault at once, also those that lie between parameters', async () => {
    const { get } = host();
    const { body: page } = await get<TasksBody>('/api/tasks/?limit=5');
    const { body } = await get<ProblemBody>(
      `/api/tasks/?limit=0&order=asc&x=1&stats=&cursor=${page.next_cursor}`,
    );
    expect(body.errors?.map(({ parameter }) => parameter)).toEqual(['x', 'stats', 'cursor']);
  });

  it('searches what a row shows and not the secrets behind it', async () => {
    const { get } = host();
    expect((await get<TasksBody>('/api/tasks/?q=BLUE')).body.total).toBe(25);
    expect((await get<TasksBody>('/api/tasks/?q=hunter2')).body.total).toBe(0);
  });

  it('searches and filters for what is a pattern elsewhere as it is written', async () => {
    const patterns = ['.*', '*', '[', '[a-z]', '\\d', '(a+)+$', '^', '?', '%_', '{1,9}', '|', "' OR 1=1"];
    const shop = createShop();
    shop.tasks = [...patterns, 'plain'].map((name, index) => ({
      id: `id-${index}`,
      state: 'STARTED',
      name: `<${name}>`,
      args: `${'a'.repeat(5_000)}!`,
    }));
    const { get } = await serve(EXPRESS, { sources: shop.sources });
    for (const text of patterns) {
      const expected = shop.tasks.flatMap(({ name }) => (name?.includes(text) ? [name] : []));
      const { body } = await get<TasksBody>(`/api/tasks/?q=${encodeURIComponent(text)}`);
      expect(body.tasks.map(({ name }) => name).sort()).toEqual(expected.sort());
      // Filters compare whole texts.
      expect((await get<TasksBody>(`/api/tasks/?name=${encodeURIComponent(text)}`)).body.total).toBe(0);
    }
  });

  it('finds errors and results, and says in each row what it has found', async () => {
    const queue = memorySources();
    const error = Object.assign(new Error('card 12 declined, token=hunter2'), { name: 'CardError' });
    queue.record({ id: 'a', name: 'pay', state: 'FAILURE', error });
    queue.record({ id: 'b', name: 'pay', state: 'SUCCESS', result: { code: 'DECLINED' } });
    queue.record({ id: 'c', name: 'pay', state: 'SUCCESS', result: 1 });
    const { get } = await serve(EXPRESS, { sources: queue });
    const matchesOf = async (query: string) =>
      (await get<TasksBody>(`/api/tasks/?sort=name&${query}`)).body.tasks.map((task) => [
        task.task_id,
        task.match,
      ]);
    expect(await matchesOf('q=declined')).toEqual([
      ['a', { field: 'exception', text: 'CardError: card 12 declined, token=***' }],
      ['b', { field: 'result', text: '{"code":"DECLINED"}' }],
    ]);
    expect(await matchesOf('q=hunter2')).toEqual([]);
    expect(await matchesOf('name=pay')).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['c', undefined],
    ]);
  });
});
