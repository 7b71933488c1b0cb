/** `express-task-monitor/celery`: tasks of Celery on Redis or RabbitMQ. */

export type { CelerySourcesOptions } from './sources/celery/celery-sources.ts';
export { type CelerySources, celerySources } from './sources/celery/celery-sources.ts';
export type { CelerySettings } from './sources/celery/settings.ts';
export type { CelerySqlOptions } from './sources/celery/sql/sql-options.ts';
