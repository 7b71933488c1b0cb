/** `express-task-monitor/postgres`: keeps the history in PostgreSQL. */
export type { HistoryStore } from './history/store.ts';
export {
  type PostgresStoreOptions,
  postgresSchema,
  postgresStore,
} from './stores/postgres/create-postgres-store.ts';
export type { PgPool, PostgresJs } from './stores/postgres/postgres-database.ts';
