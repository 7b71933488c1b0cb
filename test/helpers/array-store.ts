/** A history store made of arrays, without a database. Failures and delays can be injected. */
import type {
  FeedChunk,
  FeedStore,
  LeaseState,
  RelationStore,
  SnapshotStore,
  StoredCause,
  StoredRollup,
  StoredTask,
  StoreEngine,
  StoreLease,
  StoreOpening,
  StoreSession,
} from '../../src/history/store.ts';
import type { TaskRelation } from '../../src/model.ts';
import { arrayCauses } from './array-causes.ts';
import { arrayRollups, arrayTasks, call } from './array-parts.ts';

/** The stored data of one source. */
export interface ArrayRows {
  deployment: string | null;
  /** By `id day`. */
  readonly tasks: Map<string, StoredTask>;
  readonly relations: Map<string, TaskRelation>;
  readonly chunks: FeedChunk[];
  readonly texts: Map<string, { readonly text: string; readonly revision: number }>;
  readonly rollups: Map<string, StoredRollup>;
  readonly causes: Map<string, StoredCause>;
  lease: { holder: string; expiresAt: number } | null;
  contended: { by: string; at: number } | null;
}

/** A store in memory. Several histories may share it, as several processes share a database. */
export interface ArrayStore extends StoreEngine {
  /** The stored data of a source. */
  rows(source: string): ArrayRows;
  /** Names of the calls so far, such as `tasks.write`, oldest first. */
  readonly calls: string[];
  /** Called before each call: the call rejects with its error, and awaits its result. */
  before: ((call: string) => unknown) | null;
  /** The same after each call, when it has taken effect: a commit whose answer is lost. */
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

/** Data shared by the parts of a session. */
export interface ArrayContext {
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
    causes: new Map(),
    lease: null,
    contended: null,
  };
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
    tasks: arrayTasks(context),
    relations: relationStore(context),
    feed: feedStore(context),
    snapshots: snapshotStore(context),
    rollups: arrayRollups(context),
    causes: arrayCauses(context),
    lease: leaseOf(context),
    size: () => call(store, 'size', () => rows.tasks.size * 800),
  };
}

function relationStore({ store, rows }: ArrayContext): RelationStore {
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
    isEmpty: () => call(store, 'relations.isEmpty', () => rows.relations.size === 0),
  };
}

function feedStore({ store, rows }: ArrayContext): FeedStore {
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

function snapshotStore({ store, rows }: ArrayContext): SnapshotStore {
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

function leaseOf({ store, rows }: ArrayContext): StoreLease {
  const stateFor = (holder: string | null): LeaseState => {
    const now = store.now();
    const { lease, contended } = rows;
    const held = lease !== null && lease.expiresAt > now ? lease : null;
    const isContended = contended !== null && contended.by !== held?.holder;
    return {
      isHeld: held !== null && held.holder === holder,
      now,
      holder: held?.holder ?? null,
      contendedAt: isContended ? contended.at : null,
    };
  };
  return {
    acquire: (holder, forMs) =>
      call(store, 'lease.acquire', () => {
        if (store.refuses(holder)) throw new Error('Connection refused');
        const now = store.now();
        const { lease } = rows;
        if (lease === null || lease.holder === holder || lease.expiresAt <= now)
          rows.lease = { holder, expiresAt: now + forMs };
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
