import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import type { TaskQuery } from '../../src/source.ts';

const ALL_TASKS: TaskQuery = {
  ...{ limit: 100, after: null, sort: 'timestamp', order: 'desc', scan: 20_000 },
  ...{ states: [], engineStates: [], names: [], workers: [], queues: [], causes: [], conditions: [] },
  ...{ rootId: null, parentId: null, groupId: null, since: null, until: null },
  ...{ q: null, search: () => true, causeOf: createSerializer({ redactor: createRedactor() }).causeOf },
};

/** A query as the router passes it, with only the given filters. */
export function queryOf(given: Partial<TaskQuery> = {}): TaskQuery {
  return { ...ALL_TASKS, ...given };
}

const SORT_KEYS: Readonly<Record<TaskQuery['sort'], true>> = {
  timestamp: true,
  received: true,
  started: true,
  finished: true,
  runtime: true,
  name: true,
  state: true,
};

/** Every sort of a list. */
export const SORTS = Object.keys(SORT_KEYS) as readonly TaskQuery['sort'][];
