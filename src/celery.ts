/** `express-task-monitor/celery`: tasks of Celery on Redis. */

export type {
  CeleryRedisClient,
  CeleryRedisConnection,
  RedisListener,
} from './redis/node-redis.ts';
export type { EventQueueOptions } from './sources/celery/brokers/amqp/event-queue.ts';
export { type CelerySources, celerySources } from './sources/celery/celery-sources.ts';
export type { CelerySourcesOptions } from './sources/celery/options.ts';
export type {
  CelerySentinelLogin,
  CelerySettings,
  CeleryTls,
  CeleryTransportOptions,
} from './sources/celery/settings.ts';
export type { CelerySqlOptions, CelerySqlQuery, CelerySqlTable } from './sources/celery/sql/sql-options.ts';
