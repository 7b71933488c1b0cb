/** Turns tables of the present version into those of version 1. */

/** @param tasks the tables of tasks that have columns of their own */
export function toVersion1(tasks: readonly string[]): readonly string[] {
  return [
    ...tasks.map((table) => `DROP INDEX IF EXISTS ${table.replace('monitor_task', 'monitor_task_cause')}`),
    ...tasks.map((table) => `ALTER TABLE ${table} DROP COLUMN cause`),
    'DROP TABLE monitor_cause',
    'DROP TABLE monitor_failures',
    "UPDATE monitor_meta SET value = '1' WHERE key = 'schema'",
  ];
}
