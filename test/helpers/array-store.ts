/** A history store made of arrays: what a database would keep, without one. Failures and delays can be put in. */
import type {
  FeedChunk,
  FeedStore,
  HistoryStore,
  LeaseState,
  RelationStore,
  RollupQuery,
  RollupStore,
  SnapshotStore,
  StoredQuery,
  StoredRollup,
  StoredTask,
  StoreLease,
  StoreOpening,
  StoreSession,
  TaskStore,
} from '../../src/history/store.ts';
import type { TaskRelation } from '../../src/model.ts';

/** What is stored of one source. */
export interface ArrayRows {
  deployment: string | null;
  /** By `id day`. */
  readonly tasks: Map<string, StoredTask>;
  readonly relations: Map<string, TaskRelation>;
  readonly chunks: FeedChunk[];
  readonly texts: Map<string, { readonly text: string; readonly revision: number }>;
  readonly rollups: Map<string, StoredRollup>;
  lease: { holder: string; expiresAt: number; report: string } | null;
  contended: { by: string; at: number } | null;
}

/** A store in memory. Several histories may share it, as several processes share a database. */
export interface ArrayStore extends HistoryStore {
  /** What is stored of a source. */
  rows(source: string): ArrayRows;
  /** Names of the calls so far, such as `tasks.write`, oldest first. */
  readonly calls: string[];
  /** Called before each call: what it throws, the call rejects with; what it returns, the call waits for. */
  before: ((call: string) => unknown) | null;
  /** The same behind each call, when its effect is there: a commit whose answer is lost. */
  after: ((call: string) => unknown) | null;
  /** Whether an instance cannot take or renew the lease: the database does not answer it. */
  refuses: (holder: string) => boolean;
  /** The clock of the database, milliseconds since 1970. */
  now: () => number;
  /** Sessions that are open. */
  openSessions: number;
}

/** How an array store differs from the usual one. */
export interface ArrayStoreOptions {
  readonly taskDays?: number;
  readonly rollupDays?: number;
}

interface Context {
  readonly store: ArrayStore;
  readonly rows: ArrayRows;
}

/** Creates an empty store. */
export function createArrayStore({ taskDays = 7, rollupDays = 90 }: ArrayStoreOptions = {}): ArrayStore {
  const sources = new Map<string, ArrayRows>();
  const store: ArrayStore = {
    engine: 'postgres',
    retention: { taskDays, rollupDays },
    isReadOnly: false,
    deployment: null,
    calls: [],
    before: null,
    after: null,
    refuses: () => false,
    now: Date.now,
    openSessions: 0,
    rows(source) {
      const rows = sources.get(source) ?? emptyRows();
      sources.set(source, rows);
      return rows;
    },
    open: (opening) => call(store, 'open', () => openSession(store, opening)),
    async close() {
      store.openSessions--;
    },
  };
  return store;
}

function emptyRows(): ArrayRows {
  return {
    deployment: null,
    tasks: new Map(),
    relations: new Map(),
    chunks: [],
    texts: new Map(),
    rollups: new Map(),
    lease: null,
    contended: null,
  };
}

async function call<Result>(store: ArrayStore, name: string, work: () => Result): Promise<Result> {
  store.calls.push(name);
  await store.before?.(name);
  const result = work();
  await store.after?.(name);
  return result;
}

function openSession(store: ArrayStore, { source, deployment, isReadOnly }: StoreOpening): StoreSession {
  const rows = store.rows(source);
  const isOther = deployment !== null && rows.deployment !== null && rows.deployment !== deployment;
  if (isOther) {
    throw Object.assign(new Error(`Another deployment writes under the name '${source}'.`), {
      code: 'source_taken',
    });
  }
  if (!isReadOnly) rows.deployment ??= deployment;
  store.openSessions++;
  const context = { store, rows };
  return {
    isReadOnly,
    tasks: taskStore(context),
    relations: relationStore(context),
    feed: feedStore(context),
    snapshots: snapshotStore(context),
    rollups: rollupStore(context),
    lease: leaseOf(context),
    size: () => call(store, 'size', () => rows.tasks.size * 800),
  };
}

function taskStore({ store, rows }: Context): TaskStore {
  const { tasks } = rows;
  const all = (): StoredTask[] => [...tasks.values()];
  const short = (task: StoredTask): StoredTask => ({ ...task, texts: null });
  return {
    write: (given) =>
      call(store, 'tasks.write', () => {
        const written = new Set<string>();
        for (const task of given) {
          const key = `${task.id} ${task.day}`;
          const known = tasks.get(key);
          if (known !== undefined && known.version !== task.version - 1) continue;
          tasks.set(key, { ...task });
          written.add(task.id);
        }
        return written;
      }),
    read: (ids) =>
      call(store, 'tasks.read', () => {
        const wanted = new Set(ids);
        return all().filter(({ id }) => wanted.has(id));
      }),
    linked: (link, ids, most) =>
      call(store, 'tasks.linked', () => {
        const wanted = new Set<string | null>(ids);
        return all()
          .filter((task) => task[link] !== null && wanted.has(task[link]))
          .slice(0, most)
          .map(short);
      }),
    list: (query) =>
      call(store, 'tasks.list', () => matching(all(), query, true).slice(0, query.limit).map(short)),
    count: (query, most) =>
      call(store, 'tasks.count', () => Math.min(most, matching(all(), query, false).length)),
    dropBefore: (day) =>
      call(store, 'tasks.dropBefore', () => {
        const today = Math.floor(store.now() / 86_400_000);
        for (const [key, task] of tasks) {
          if (task.day >= day) continue;
          tasks.delete(key);
          if (task.isOpen) tasks.set(`${task.id} ${today}`, { ...task, day: today });
        }
      }),
  };
}

const SORT_FIELDS = {
  timestamp: 'timestamp',
  received: 'received',
  started: 'started',
  finished: 'finished',
  runtime: 'runtime',
  name: 'name',
  state: 'state',
} as const;

/** The tasks of a list in its order; those without a value to sort by come last in both orders. */
function matching(tasks: StoredTask[], query: StoredQuery, isPaged: boolean): StoredTask[] {
  const { states, names, workers, queues, rootId, parentId, groupId, since, until, after } = query;
  const isAmong = (values: readonly string[], value: string | null): boolean =>
    values.length === 0 || (value !== null && values.includes(value));
  const field = SORT_FIELDS[query.sort];
  const sign = query.order === 'asc' ? 1 : -1;
  const order = (
    a: { readonly key: string | number | null; readonly id: string },
    b: { readonly key: string | number | null; readonly id: string },
  ): number => {
    if (a.key === null || b.key === null) {
      if (a.key !== b.key) return a.key === null ? 1 : -1;
    } else if (a.key !== b.key) return a.key < b.key ? -sign : sign;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  };
  const position = (task: StoredTask) => ({ key: task[field], id: task.id });
  return tasks
    .filter(
      (task) =>
        isAmong(states, task.state) &&
        isAmong(names, task.name) &&
        isAmong(workers, task.worker) &&
        isAmong(queues, task.queue) &&
        (rootId === null || task.rootId === rootId) &&
        (parentId === null || task.parentId === parentId) &&
        (groupId === null || task.groupId === groupId) &&
        (since === null || (task.timestamp !== null && task.timestamp >= since.getTime())) &&
        (until === null || (task.timestamp !== null && task.timestamp < until.getTime())) &&
        (!query.isOpen || task.isOpen) &&
        query.except?.includes(task.id) !== true &&
        (query.hint === null || JSON.stringify(task).toLowerCase().includes(query.hint)) &&
        (!isPaged || after === null || order(position(task), after) > 0),
    )
    .sort((a, b) => order(position(a), position(b)));
}

function relationStore({ store, rows }: Context): RelationStore {
  return {
    write: (given) =>
      call(store, 'relations.write', () => {
        for (const one of given) rows.relations.set(`${one.parent} ${one.child} ${one.relation}`, { ...one });
      }),
    read: (ids, most) =>
      call(store, 'relations.read', () => {
        const wanted = new Set<string | null>(ids);
        return [...rows.relations.values()]
          .filter(({ parent, child }) => wanted.has(parent) || wanted.has(child))
          .slice(0, most);
      }),
  };
}

function feedStore({ store, rows }: Context): FeedStore {
  const { chunks } = rows;
  let number = 0;
  const firstOf = (count: number): number => {
    let at = chunks.length;
    for (let found = 0; at > 0 && found < count; found += chunks[at]?.count ?? 0) at--;
    return at;
  };
  return {
    append: (instance, items, count) =>
      call(store, 'feed.append', () => {
        number = Math.max(number, chunks.at(-1)?.number ?? 0) + 1;
        chunks.push({ number, instance, items, count, addedAt: store.now() });
        return number;
      }),
    read: (after, most) =>
      call(store, 'feed.read', () => chunks.filter((chunk) => chunk.number > after).slice(0, most)),
    newest: (count) => call(store, 'feed.newest', () => chunks.slice(firstOf(count))),
    trim: (count) => call(store, 'feed.trim', () => void chunks.splice(0, firstOf(count))),
  };
}

function snapshotStore({ store, rows }: Context): SnapshotStore {
  const { texts } = rows;
  return {
    write: (given) =>
      call(store, 'snapshots.write', () => {
        for (const [kind, text] of given)
          texts.set(kind, { text, revision: (texts.get(kind)?.revision ?? 0) + 1 });
      }),
    revisions: () =>
      call(
        store,
        'snapshots.revisions',
        () => new Map([...texts].map(([kind, { revision }]) => [kind, revision])),
      ),
    read: (kinds) =>
      call(store, 'snapshots.read', () => {
        const found = new Map<string, string>();
        for (const kind of kinds) {
          const known = texts.get(kind);
          if (known !== undefined) found.set(kind, known.text);
        }
        return found;
      }),
  };
}

function rollupStore({ store, rows }: Context): RollupStore {
  const { rollups } = rows;
  const isAmong = (values: readonly string[], value: string | null): boolean =>
    values.length === 0 || (value !== null && values.includes(value));
  const find = ({ level, span, from, to, names, queues, workers }: RollupQuery): StoredRollup[] =>
    [...rollups.values()].filter(
      (cell) =>
        cell.level === level &&
        cell.span === span &&
        cell.start >= from &&
        cell.start < to &&
        isAmong(names, cell.name) &&
        isAmong(queues, cell.queue) &&
        isAmong(workers, cell.worker),
    );
  return {
    write: (cells) =>
      call(store, 'rollups.write', () => {
        for (const cell of cells) {
          const { span, level, start, writer, name, queue, worker } = cell;
          const key = JSON.stringify([span, level, start, writer, name, queue, worker]);
          const known = rollups.get(key);
          if (known === undefined || known.weight <= cell.weight) rollups.set(key, { ...cell });
        }
      }),
    read: (query, most) =>
      call(store, 'rollups.read', () =>
        find(query)
          .toSorted((a, b) => a.start - b.start)
          .slice(0, most),
      ),
    sums: (query) =>
      call(store, 'rollups.sums', () => {
        const sums = new Map<number, number[]>();
        for (const { start, counts } of find(query)) {
          const known = sums.get(start) ?? [];
          sums.set(
            start,
            counts.map((count, at) => count + (known[at] ?? 0)),
          );
        }
        return [...sums].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, counts }));
      }),
    dropBefore: (span, start) =>
      call(store, 'rollups.dropBefore', () => {
        for (const [key, cell] of rollups) if (cell.span === span && cell.start < start) rollups.delete(key);
      }),
  };
}

function leaseOf({ store, rows }: Context): StoreLease {
  const stateFor = (holder: string | null): LeaseState => {
    const now = store.now();
    const { lease, contended } = rows;
    const held = lease !== null && lease.expiresAt > now ? lease : null;
    const isContended = contended !== null && contended.by !== held?.holder;
    return {
      isHeld: held !== null && held.holder === holder,
      now,
      report: held?.report ?? null,
      contendedAt: isContended ? contended.at : null,
    };
  };
  return {
    acquire: (holder, forMs, report) =>
      call(store, 'lease.acquire', () => {
        if (store.refuses(holder)) throw new Error('Connection refused');
        const now = store.now();
        const { lease } = rows;
        if (lease === null || lease.holder === holder || lease.expiresAt <= now)
          rows.lease = { holder, expiresAt: now + forMs, report };
        else rows.contended = { by: holder, at: now };
        return stateFor(holder);
      }),
    look: () => call(store, 'lease.look', () => stateFor(null)),
    release: (holder) =>
      call(store, 'lease.release', () => {
        if (rows.lease?.holder === holder) rows.lease = null;
      }),
  };
}
