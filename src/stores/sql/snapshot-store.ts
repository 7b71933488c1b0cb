/** Texts that one instance keeps for the others. */
import type { SnapshotStore } from '../../history/store.ts';
import { bounded, insertBatch } from './batches.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import { fromColumn, toColumn } from './text-key.ts';

export function createSnapshotStore(source: SourceDatabase): SnapshotStore {
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
