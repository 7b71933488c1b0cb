/** BullMQ on Redis, as `express-task-monitor/bullmq`. */

export type { BullMQQueue, BullMQSourcesOptions } from './sources/bullmq/access/options.ts';
export { type BullMQSources, bullmqSources } from './sources/bullmq/bullmq-sources.ts';
