/** The databases of an app, each with the client that its host would use. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import pg from 'pg';
import type { CelerySqlOptions } from '../../../src/celery.ts';
import { mariadbMissing, startMariadb } from '../../helpers/mariadb.ts';
import { sqliteMissing } from '../../helpers/other-node.ts';
import { postgresMissing, startPostgres } from '../../helpers/postgres.ts';
import { openSqlite } from '../../helpers/sqlite-query.ts';

/** A database of an app. */
export interface AppDatabase {
  /** As Django's `DATABASES` has it. */
  readonly django: Readonly<Record<string, string | number>>;
  /** As Celery's `result_backend` has it. */
  readonly sqlalchemy: string;
  readonly sql: CelerySqlOptions;
  /** Statements that the source has sent, with the values in their places. */
  readonly sent: readonly { readonly text: string; readonly values: readonly string[] }[];
  /** Runs a statement with all rights. */
  admin(text: string): Promise<readonly object[]>;
  close(): Promise<void>;
}

async function postgres(): Promise<AppDatabase> {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url(), max: 1 });
  pool.on('error', () => {});
  const database = { ENGINE: 'django.db.backends.postgresql', NAME: 'postgres', USER: 'postgres' };
  const { sent, query } = recorded((text, values) =>
    pool.query(text, values).then(({ rows }) => rows as object[]),
  );
  return {
    django: { ...database, HOST: '127.0.0.1', PORT: server.port },
    sqlalchemy: `db+postgresql://postgres@127.0.0.1:${server.port}/postgres`,
    sql: { dialect: 'postgres', query },
    sent,
    admin: (text) => server.query(text),
    async close() {
      await pool.end();
      await server.close();
    },
  };
}

async function mariadb(): Promise<AppDatabase> {
  const server = await startMariadb();
  await server.query('CREATE DATABASE shop CHARACTER SET utf8mb4');
  const { port } = server;
  const pool = mysql.createPool({ host: '127.0.0.1', port, user: 'root', database: 'shop' });
  const database = { ENGINE: 'django.db.backends.mysql', NAME: 'shop', USER: 'root', HOST: '127.0.0.1' };
  const { sent, query } = recorded((text, values) =>
    pool.execute(text, values).then(([rows]) => rows as object[]),
  );
  return {
    django: { ...database, PORT: port },
    sqlalchemy: `db+mysql://root@127.0.0.1:${port}/shop`,
    sql: { dialect: 'mysql', query },
    sent,
    admin: (text) => server.query(text, 'shop'),
    async close() {
      await pool.end();
      await server.close();
    },
  };
}

async function sqlite(): Promise<AppDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-results-'));
  const file = join(folder, 'shop.db');
  const client = openSqlite(file);
  const { sent, query } = recorded(client.query);
  await client.query('PRAGMA journal_mode = WAL', []);
  return {
    django: { ENGINE: 'django.db.backends.sqlite3', NAME: file },
    sqlalchemy: `db+sqlite:///${file}`,
    sql: { dialect: 'sqlite', query },
    sent,
    admin: (text) => client.query(text, []),
    async close() {
      client.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function recorded(run: (text: string, values: string[]) => Promise<readonly object[]>) {
  const sent: { text: string; values: readonly string[] }[] = [];
  const query: CelerySqlOptions['query'] = (text, values) => {
    sent.push({ text, values });
    return run(text, values);
  };
  return { sent, query };
}

/** Each with why it cannot run here; `null` when it can. */
export const DATABASES = [
  { name: 'PostgreSQL', missing: postgresMissing, open: postgres },
  { name: 'MariaDB', missing: mariadbMissing, open: mariadb },
  { name: 'SQLite', missing: sqliteMissing, open: sqlite },
] as const;
