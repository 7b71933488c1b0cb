/** The reads and writes of one source in a SQL database. */
import type { StoreSession } from '../../history/store.ts';
import { createCauseStore } from './cause-store.ts';
import { createFeedStore } from './feed-store.ts';
import { createLease } from './lease.ts';
import { createRelationStore } from './relation-store.ts';
import type { DayTables } from './retention.ts';
import { createRollupStore } from './rollup-store.ts';
import { createSnapshotStore } from './snapshot-store.ts';
import type { SourceDatabase } from './source-database.ts';
import { createTaskStore } from './task-store.ts';

/** Parameters of a session besides its source. */
export interface SessionOptions {
  readonly isReadOnly: boolean;
  readonly days: DayTables;
  /** The statement that gives the bytes on disk. */
  readonly size: string;
}

export function createSqlSession(
  source: SourceDatabase,
  { isReadOnly, days, size }: SessionOptions,
): StoreSession {
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
