/** BullMQ on Redis, as `express-task-monitor/bullmq`. */
export { type BullMQSources, bullmqSources } from './sources/bullmq/bullmq-sources.ts';
export type { BullMQQueue, BullMQSourcesOptions } from './sources/bullmq/options.ts';
