/** A store in a SQL database, which several sources of this process share. */
import type { StoreEngine, StoreOpening, StoreRetention, StoreSession } from '../../history/store.ts';
import { createCauseStore } from './cause-store.ts';
import { createLease, ensureSchema, registerSource, type SchemaScripts } from './register.ts';
import { type DayTables, presentDay } from './retention.ts';
import { createRollupStore } from './rollup-store.ts';
import { createStatements, SCHEMA_VERSION, type TableNames } from './schema.ts';
import { createFeedStore, createSnapshotStore } from './snapshot-store.ts';
import { createSourceDatabase, type SourceDatabase } from './source-database.ts';
import type { SqlDatabase } from './sql-database.ts';
import { createRelationStore, createTaskStore } from './task-store.ts';

/** Parameters of a SQL store. */
export interface SqlStoreOptions {
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
export interface SessionOptions {
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
