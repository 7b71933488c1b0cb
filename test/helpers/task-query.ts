import type { TaskQuery } from '../../src/source.ts';

/** A query as the router gives it, without filters but for those given. */
export function queryOf(given: Partial<TaskQuery> = {}): TaskQuery {
  return {
    limit: 100,
    after: null,
    states: [],
    names: [],
    workers: [],
    queues: [],
    rootId: null,
    parentId: null,
    groupId: null,
    q: null,
    search: () => true,
    since: null,
    until: null,
    sort: 'timestamp',
    order: 'desc',
    scan: 20_000,
    ...given,
  };
}
