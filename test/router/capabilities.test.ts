import { describe, expect, it } from 'vitest';
import {
  combineSources,
  createMonitorRouter,
  type MonitorSources,
  type TaskCapabilities,
} from '../../src/index.ts';
import { selectTasks } from '../../src/select.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { shopTask } from './shop-sources.ts';

const TASKS = Array.from({ length: 5 }, (_, number) => shopTask(number));

function sourceOf(name: string, capabilities?: TaskCapabilities): MonitorSources {
  return {
    tasks: {
      name,
      ...(capabilities && { capabilities }),
      listTasks: (query) => {
        return selectTasks(TASKS, query);
      },
      getTask: () => null,
    },
  };
}

const TABLE = sourceOf('table', {
  sorts: ['timestamp', 'name'],
  filters: ['states', 'since', 'until'],
  search: false,
  total: false,
});
const LIST = sourceOf('list', { filters: ['states', 'names', 'conditions'] });

describe('capabilities of a source', () => {
  it('are in the body; a source without them can do everything', async () => {
    const { get } = await serve(EXPRESS, { sources: TABLE });
    const { body } = await get<TasksBody>('/api/tasks/?state=SUCCESS&sort=name');
    expect(body.capabilities).toEqual({
      ...{ sorts: ['timestamp', 'name'], filters: ['state', 'since', 'until'], search: false, total: false },
    });
    const { get: whole } = await serve(EXPRESS, { sources: sourceOf('array') });
    expect((await whole<TasksBody>('/api/tasks/?q=blue&sort=runtime')).body.capabilities).toBeNull();
  });

  it.each([
    ['sort=runtime', 'sort', 'The source table cannot sort by this. Write one of: timestamp, name.'],
    ['name=a', 'name', 'The source table cannot filter by this. Supported filters: state, since, until.'],
    [
      'runtime_gt=1',
      'runtime_gt',
      'The source table cannot filter by this. Supported filters: state, since, until.',
    ],
    ['not_q=a', 'not_q', 'The source table cannot search texts.'],
  ])('are the limits of a request: %s', async (query, parameter, detail) => {
    const { get } = await serve(EXPRESS, { sources: TABLE });
    const { status, body } = await get<ProblemBody>(`/api/tasks/?${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_parameter']);
    expect(body.errors).toEqual([{ parameter, detail }]);
  });

  it('are those of all sources together; an error names the one that lacks something', async () => {
    const { get } = await serve(EXPRESS, { sources: combineSources(sourceOf('array'), LIST, TABLE) });
    const { body } = await get<TasksBody>('/api/tasks/?source=array&state=SUCCESS');
    expect(body.capabilities).toMatchObject({ sorts: ['timestamp', 'name'], filters: ['state'] });
    const refused = await get<ProblemBody>('/api/tasks/?worker=a&name=b');
    expect(refused.body.errors?.map(({ detail }) => detail.split(' cannot')[0])).toEqual([
      'The source table',
      'The source list',
    ]);
  });

  it('of a source that does not know conditions are decided by its search', async () => {
    const { get } = await serve(EXPRESS, { sources: LIST });
    const { body } = await get<TasksBody>('/api/tasks/?name_prefix=shop.p');
    expect(body.capabilities?.filters).toContain('name_prefix');
    expect(body.tasks).toHaveLength(2);
  });

  it.each([
    [{ sorts: ['name'] }, "'sources.tasks.capabilities.sorts' must include 'timestamp'"],
    [{ sort: ['name'] }, "'sources.tasks.capabilities.sort' is not an option. Did you mean 'sorts'?"],
    [{ filters: ['state'] }, "'sources.tasks.capabilities.filters' must be an array of some of states,"],
    [{ search: 'no' }, "'sources.tasks.capabilities.search' must be"],
    [[], "'sources.tasks.capabilities' must be an object"],
  ])('are checked when the router is created: %j', (capabilities, message) => {
    const sources = { tasks: { ...TABLE.tasks, capabilities } } as unknown as MonitorSources;
    expect(() => createMonitorRouter({ sources, authorize: false })).toThrow(message);
  });
});
