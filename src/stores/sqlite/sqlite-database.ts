import { DEADLINES } from '../sql/guarded-database.ts';
import type { SqlBatch, SqlDatabase, SqlField, SqlValue } from '../sql/sql-database.ts';
import { SQLITE } from './sqlite-dialect.ts';
import { createSqliteWorker } from './sqlite-worker.ts';

/**
 * SQLite in threads of its own: one writes and one reads, so that a long read holds up no write.
 *
 * @param path of the file, which is created with the tables
 * @param program of the threads
 */
export function createSqliteDatabase(path: string, program: URL): SqlDatabase {
  const writer = createSqliteWorker({ path, writes: true }, program);
  const reader = createSqliteWorker({ path, writes: false }, program);
  const query = (text: string, values: readonly SqlValue[]) =>
    ({ kind: 'query', text: numbered(text), values: values.map(bound) }) as const;
  return {
    dialect: SQLITE,
    read: (text, values) => reader.ask(query(text, values), DEADLINES.read),
    write: (text, values) => writer.ask(query(text, values), DEADLINES.write),
    batch: (batch, rows) => writer.ask({ kind: 'batch', text: batchText(batch), rows }, DEADLINES.write),
    script: async (text) => void (await writer.ask({ kind: 'script', text }, DEADLINES.write)),
    async close() {
      // One after the other: of two connections that close at once, neither is the last, which empties the log.
      await reader.close();
      await writer.close();
    },
  };
}

/** `given` is the one row for which the statement runs. */
function batchText({ text, columns }: SqlBatch): string {
  const names = columns.map(([name]) => `new_${name}`).join(', ');
  const places = columns.map((_, at) => `?${at + 1}`).join(', ');
  return `WITH given (${names}) AS (VALUES (${places})) ${text}`;
}

/** SQLite takes `$1` for a name, and `?1` for the first value. */
function numbered(text: string): string {
  return text.replaceAll(/\$(\d+)/g, '?$1');
}

/** An array is bound as JSON, which `json_each` reads. */
function bound(value: SqlValue): SqlField {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
