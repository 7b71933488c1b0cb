import type { SqlDatabase, SqlField, SqlValue } from '../sql/sql-database.ts';
import type { PostgresClient } from './postgres-client.ts';
import { ARRAYS, POSTGRES } from './postgres-dialect.ts';

/** PostgreSQL over the host's client, which stays open when the store is closed. */
export function createPostgresDatabase(client: PostgresClient): SqlDatabase {
  const run = (text: string, values: readonly SqlValue[]) => client.query(text, values.map(bound));
  return {
    dialect: POSTGRES,
    read: run,
    write: run,
    batch({ text, columns }, rows) {
      const names = columns.map(([name]) => `new_${name}`).join(', ');
      const arrays = columns.map(([, type], at) => `$${at + 1}::${ARRAYS[type]}`).join(', ');
      const values = columns.map((_, at) => arrayText(rows.map((row) => row[at] ?? null)));
      return client.query(`WITH given (${names}) AS (SELECT * FROM unnest(${arrays})) ${text}`, values);
    },
    script: (text) => client.script(text),
    close: async () => {},
  };
}

function bound(value: SqlValue): SqlField {
  return typeof value === 'object' && value !== null ? arrayText(value) : value;
}

/**
 * An array as PostgreSQL reads it. Drivers could write it, too, but postgres.js only where it may ask the server for
 * its types.
 */
function arrayText(values: readonly SqlField[]): string {
  const texts = values.map((value) => {
    if (value === null) return 'NULL';
    return typeof value === 'number' ? String(value) : `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${texts.join(',')}}`;
}
