/** A store in a SQL database, which several sources of this process share. */
import type {
  FeedChunk,
  FeedStore,
  SnapshotStore,
  StoreEngine,
  StoreOpening,
  StoreRetention,
  StoreSession,
} from '../../history/store.ts';
import { bounded, insertBatch } from './batches.ts';
import { createCauseStore } from './cause-store.ts';
import { createLease, ensureSchema, registerSource, type SchemaScripts } from './register.ts';
import { type DayTables, presentDay } from './retention.ts';
import { createRollupStore } from './rollup-store.ts';
import { createStatements, SCHEMA_VERSION, TABLES, type TableNames } from './schema.ts';
import { createSourceDatabase, type SourceDatabase } from './source-database.ts';
import { type SqlDatabase, type SqlRow, StoreError } from './sql-database.ts';
import { fromColumn, toColumn } from './task-row.ts';
import { createRelationStore, createTaskStore } from './task-store.ts';

/** Parameters of a SQL store. */
interface SqlStoreOptions {
  readonly database: SqlDatabase;
  readonly names: TableNames;
  readonly retention: StoreRetention;
  readonly isReadOnly: boolean;
  readonly deployment: string | null;
  readonly days: DayTables;
  /** Bytes on disk of all tables. */
  readonly size: string;
  /** The statements that are needed before tables can be created. */
  beforeTables(): Promise<readonly string[]>;
  /** The statements that follow once the tables are created. */
  afterTables(): readonly string[];
}

export function createSqlStore(options: SqlStoreOptions): StoreEngine {
  const { database, retention, isReadOnly, deployment } = options;
  const sessions = new Set<StoreSession>();
  return {
    engine: database.dialect.name,
    retention,
    isReadOnly,
    deployment,
    async open(asked) {
      const opening = {
        source: asked.source,
        deployment: deployment ?? asked.deployment,
        isReadOnly: isReadOnly || asked.isReadOnly,
      };
      const register = (): Promise<number> => prepare(options, opening);
      const source = createSourceDatabase(database, options.names, register);
      const session = createSqlSession(source, { ...options, isReadOnly: opening.isReadOnly });
      sessions.add(session);
      try {
        await source.id();
      } catch (error) {
        await this.close(session);
        throw error;
      }
      return session;
    },
    async close(session) {
      if (sessions.delete(session) && sessions.size === 0) await database.close();
    },
  };
}

async function prepare(options: SqlStoreOptions, opening: StoreOpening): Promise<number> {
  const { database, names, days, retention } = options;
  await ensureSchema(database, names, scriptsOf(options), opening.isReadOnly);
  const number = await registerSource(database, names, opening, retention.taskDays);
  if (!opening.isReadOnly) await days.prepare(presentDay());
  return number;
}

function scriptsOf({ database, names, beforeTables, afterTables }: SqlStoreOptions): SchemaScripts {
  return {
    version: SCHEMA_VERSION,
    create: async () =>
      [...(await beforeTables()), ...createStatements(database.dialect, names), ...afterTables()].join(';\n'),
  };
}

/** Parameters of a session besides its source. */
interface SessionOptions {
  readonly isReadOnly: boolean;
  readonly days: DayTables;
  /** The statement that gives the bytes on disk. */
  readonly size: string;
}

function createSqlSession(source: SourceDatabase, { isReadOnly, days, size }: SessionOptions): StoreSession {
  return {
    isReadOnly,
    tasks: createTaskStore(source, days),
    relations: createRelationStore(source),
    feed: createFeedStore(source),
    snapshots: createSnapshotStore(source),
    rollups: createRollupStore(source),
    causes: createCauseStore(source),
    lease: createLease(source),
    async size() {
      const [row] = await source.database.read(size, [1]);
      return Number(row?.[0] ?? 0);
    },
  };
}

function createSnapshotStore(source: SourceDatabase): SnapshotStore {
  const table = source.names.snapshot;
  const upserted = insertBatch(
    table,
    TABLES.snapshot.columns,
    'ON CONFLICT (source_id, kind) DO UPDATE SET content = excluded.content, revision = stored.revision + 1',
  );
  return {
    async write(texts) {
      await source.batch(
        upserted,
        [...texts].map(([kind, text]) => [toColumn(kind), text, 1]),
      );
    },
    async revisions() {
      const rows = await source.read(`SELECT kind, revision FROM ${table} WHERE source_id = $1`);
      return new Map(rows.map(([kind, revision]) => [fromColumn(String(kind)), Number(revision)]));
    },
    async read(kinds) {
      if (kinds.length === 0) return new Map();
      const { isAny } = source.database.dialect;
      const text = `SELECT kind, ${bounded('content')} FROM ${table} WHERE source_id = $1 AND ${isAny('kind', 2)}`;
      const rows = await source.read(text, kinds.map(toColumn));
      return new Map(rows.map(([kind, content]) => [fromColumn(String(kind)), String(content ?? '')]));
    },
  };
}

const READ = `number, instance, ${bounded('items')}, item_count, added_at`;

/** How many times to retry when another instance takes the number of a chunk first. */
const ATTEMPTS = 20;

function createFeedStore(source: SourceDatabase): FeedStore {
  const table = source.names.feed;
  // A number follows the highest one that is committed. If another instance commits that number first, this row is not
  // inserted. So chunks appear in the order of their numbers.
  const append = `INSERT INTO ${table} (source_id, number, instance, items, item_count, added_at)
    SELECT CAST($1 AS integer), coalesce(max(number), 0) + 1, $2, $3, CAST($4 AS integer), ${source.database.dialect.now}
    FROM ${table} WHERE source_id = $1 ON CONFLICT DO NOTHING RETURNING number`;
  // Each chunk with the number of items in later ones.
  const later = `SELECT ${READ}, sum(item_count) OVER (ORDER BY number DESC) - item_count AS later FROM ${table} WHERE source_id = $1`;
  return {
    async append(instance, items, count) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const [row] = await source.write(append, toColumn(instance), items, count);
        if (row !== undefined) return Number(row[0]);
      }
      throw new StoreError('conflict', 'Too many instances add to the feed at once.');
    },
    async read(after, most) {
      const text = `SELECT ${READ} FROM ${table} WHERE source_id = $1 AND number > $2 ORDER BY number LIMIT $3`;
      return (await source.read(text, after, most)).map(chunkOf);
    },
    async newest(count) {
      const text = `SELECT ${READ} FROM (${later}) AS chunks WHERE later < $2 ORDER BY number`;
      return (await source.read(text, count)).map(chunkOf);
    },
    async trim(count) {
      // The newest chunk stays, since the next number follows from it.
      const text = `DELETE FROM ${table} WHERE source_id = $1 AND number <=
        (SELECT max(number) FROM (${later}) AS chunks WHERE later >= $2)`;
      await source.write(text, Math.max(1, count));
    },
  };
}

function chunkOf([number, instance, items, count, addedAt]: SqlRow): FeedChunk {
  return {
    number: Number(number),
    instance: fromColumn(String(instance)),
    items: String(items),
    count: Number(count),
    addedAt: Number(addedAt),
  };
}
