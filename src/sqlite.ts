/** `express-task-monitor/sqlite`: keeps the history in a SQLite file. */
export type { HistoryStore } from './history/store.ts';
export { type SqliteStoreOptions, sqliteStore } from './stores/sqlite/sqlite-store.ts';
