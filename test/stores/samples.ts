import type pg from 'pg';
import type {
  StoredQuery,
  StoredRecord,
  StoredTask,
  StoreEngine,
  StoreSession,
} from '../../src/history/store.ts';
import type { PostgresStoreSettings } from '../../src/stores/postgres/create-postgres-store.ts';

/** The present day. */
export const DAY = Math.floor(Date.now() / 86_400_000);
/** Ids and names may contain anything. */
export const ODD = 'a"b\\c{d},\0e\ud800é\'%_';

/** Statements on a pool, for settings that `postgresStore` has no option for. */
export function clientOf(pool: Pick<pg.Pool, 'query'>): PostgresStoreSettings['client'] {
  return {
    async query(text, values) {
      return (await pool.query({ text, values: [...values], rowMode: 'array' })).rows;
    },
    script: async (text) => void (await pool.query(text)),
  };
}

/** A task as it is stored, without anything else but what is given. */
export function taskOf(id: string, given: Partial<StoredTask> = {}): StoredTask {
  return {
    ...{
      id,
      day: DAY,
      version: 1,
      record: JSON.stringify({ id }),
      texts: null,
      state: 'SUCCESS',
      isOpen: false,
    },
    ...{ name: null, worker: null, queue: null, rootId: null, parentId: null, groupId: null, chordId: null },
    ...{ timestamp: null, received: null, started: null, finished: null, runtime: null, cause: null },
    ...given,
  };
}

/** What memory takes in of a task. */
export function recordOf({ id, rootId, timestamp, record }: StoredTask): StoredRecord {
  return { id, rootId, timestamp, record, texts: null };
}

/** A query for all tasks, newest first, but for what is given. */
export function storedQuery(given: Partial<StoredQuery> = {}): StoredQuery {
  return {
    ...{
      limit: 100,
      after: null,
      states: [],
      names: [],
      workers: [],
      queues: [],
      causes: [],
      rootId: null,
      parentId: null,
    },
    ...{
      groupId: null,
      conditions: [],
      since: null,
      until: null,
      sort: 'timestamp',
      order: 'desc',
      isOpen: false,
      hint: null,
    },
    ...given,
  };
}

/** Opens a store, and closes it when the test has ended. Default: for a source of its own. */
export type Open = (given?: {
  source?: string;
  store?: StoreEngine;
  deployment?: string | null;
}) => Promise<{ source: string; store: StoreEngine; session: StoreSession }>;

/** The ids of a list, page by page. */
export async function walk(session: StoreSession, given: Partial<StoredQuery>): Promise<string[]> {
  const ids: string[] = [];
  const { sort = 'timestamp' } = given;
  for (let after: StoredQuery['after'] = null; ; ) {
    const page = await session.tasks.list(storedQuery({ ...given, after }));
    ids.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined) return ids;
    after = { key: last[sort], id: last.id };
  }
}
