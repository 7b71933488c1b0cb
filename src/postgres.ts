/** `express-task-monitor/postgres`: keeps the history in PostgreSQL. */
export type { HistoryStore } from './history/store.ts';
export type { PgPool, PostgresJs } from './stores/postgres/postgres-client.ts';
export { type PostgresStoreOptions, postgresStore } from './stores/postgres/postgres-store.ts';
export { type PostgresSchemaOptions, postgresSchema } from './stores/postgres/print-schema.ts';
export type { StoreRetentionOptions } from './stores/store-options.ts';
