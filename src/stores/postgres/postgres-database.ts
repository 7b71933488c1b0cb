import type { SqlDatabase } from '../sql/sql-database.ts';
import type { RunQuery } from './postgres-client.ts';
import { ARRAYS, POSTGRES } from './postgres-dialect.ts';

/** PostgreSQL over the host's client, which stays open when the store is closed. */
export function createPostgresDatabase(run: RunQuery): SqlDatabase {
  return {
    dialect: POSTGRES,
    query: (text, values = []) => run(text, values),
    insert({ into, columns, tail }, values) {
      const names = columns.map(([name]) => name).join(', ');
      const arrays = columns.map(([, type], at) => `$${at + 1}::${ARRAYS[type]}`).join(', ');
      return run(
        `INSERT INTO ${into} (${names}) SELECT ${names} FROM unnest(${arrays}) AS given(${names}) ${tail}`,
        values,
      );
    },
    // Without values, the server takes the text as one transaction. So no connection has to be held.
    script: async (text) => void (await run(text, [])),
    close: async () => {},
  };
}
