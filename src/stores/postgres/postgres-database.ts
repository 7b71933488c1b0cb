import { runInSlices } from '../../scheduler/in-slices.ts';
import type { Steps } from '../../scheduler.ts';
import type { SqlDatabase, SqlField, SqlRow, SqlValue } from '../sql/sql-database.ts';
import type { PostgresClient } from './postgres-client.ts';
import { ARRAYS, POSTGRES } from './postgres-dialect.ts';

/** PostgreSQL over the host's client, which stays open when the store is closed. */
export function createPostgresDatabase(client: PostgresClient): SqlDatabase {
  const run = (text: string, values: readonly SqlValue[]) => client.query(text, values.map(bound));
  return {
    dialect: POSTGRES,
    read: run,
    write: run,
    async batch({ text, columns }, rows) {
      const names = columns.map(([name]) => `new_${name}`).join(', ');
      const arrays = columns.map(([, type], at) => `$${at + 1}::${ARRAYS[type]}`).join(', ');
      const values = await runInSlices('store', arraysOf(columns.length, rows));
      return client.query(`WITH given (${names}) AS (SELECT * FROM unnest(${arrays})) ${text}`, values);
    },
    script: (text) => client.script(text),
    close: async () => {},
  };
}

function bound(value: SqlValue): SqlField {
  return typeof value === 'object' && value !== null ? arrayText(value) : value;
}

/** Each column of the rows as an array. */
function* arraysOf(count: number, rows: readonly SqlRow[]): Steps<string[]> {
  const arrays: string[] = [];
  for (let at = 0; at < count; at++) {
    arrays.push(arrayText(rows.map((row) => row[at] ?? null)));
    yield;
  }
  return arrays;
}

/**
 * An array as PostgreSQL reads it. Drivers could write it, too, but postgres.js only where it may ask the server for
 * its types.
 */
function arrayText(values: readonly SqlField[]): string {
  const texts = values.map((value) => {
    if (value === null) return 'NULL';
    return typeof value === 'number' ? String(value) : quoted(value);
  });
  return `{${texts.join(',')}}`;
}

/** Characters that JSON and array literals write differently: control characters, and halves of a surrogate pair. */
const OTHER_IN_JSON = /[^ -\ud7ff\ue000-\uffff]/;

function quoted(text: string): string {
  // Much faster, and the same for nearly every text.
  if (!OTHER_IN_JSON.test(text)) return JSON.stringify(text);
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
