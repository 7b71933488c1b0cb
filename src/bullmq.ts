/** `express-task-monitor/bullmq`: jobs of BullMQ on Redis. */

export type { BullMQQueue, BullMQSourcesOptions } from './sources/bullmq/access/options.ts';
export { type BullMQSources, bullmqSources } from './sources/bullmq/bullmq-sources.ts';
