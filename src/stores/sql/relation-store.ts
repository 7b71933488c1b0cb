/** The relations of a source. */
import type { RelationStore } from '../../history/store.ts';
import type { TaskRelation } from '../../model.ts';
import { insertBatch, readPacked } from './batches.ts';
import { presentDay } from './retention.ts';
import { TABLES } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import { fromColumn, toColumn } from './task-row.ts';

export function createRelationStore(source: SourceDatabase): RelationStore {
  const table = source.names.relation;
  const isNew = `NOT EXISTS (SELECT 1 FROM ${table} AS known WHERE known.source_id = new_source_id AND known.child = new_child
       AND known.relation = new_relation AND known.parent = new_parent)`;
  const added = insertBatch(table, TABLES.relation.columns, 'ON CONFLICT DO NOTHING', isNew);
  return {
    async write(relations) {
      const day = presentDay();
      const rows = relations.map(({ parent, child, relation }) => [
        toColumn(child),
        toColumn(relation),
        parentColumn(parent),
        day,
      ]);
      await source.batch(added, rows);
    },
    async read(ids, most) {
      if (ids.length === 0) return [];
      const { isAny } = source.database.dialect;
      // Two instances that wrote at midnight may have stored a relation twice.
      const part = (condition: string): string =>
        `SELECT DISTINCT child, relation, parent FROM ${table} WHERE source_id = $1 AND ${condition}`;
      const rows = await readPacked(
        source,
        ['child', 'relation', 'parent'],
        `${part(isAny('child', 2))} UNION ${part(isAny('parent', 3))} LIMIT $4`,
        [ids.map(toColumn), ids.map(parentColumn), most],
      );
      return rows.map(
        ([child, relation, parent]): TaskRelation => ({
          child: fromColumn(String(child)),
          relation: fromColumn(String(relation)),
          parent: parent === '' ? null : fromColumn(String(parent).slice(1)),
        }),
      );
    },
    async isEmpty() {
      const rows = await source.read(`SELECT 1 FROM ${table} WHERE source_id = $1 LIMIT 1`);
      return rows.length === 0;
    },
  };
}

function parentColumn(parent: string | null): string {
  return parent === null ? '' : `=${toColumn(parent)}`;
}
