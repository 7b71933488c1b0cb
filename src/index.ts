/**
 * `express-task-monitor`: Celery, BullMQ and in-process tasks, workers, events and workflows as JSON, from
 * your own Express app.
 */
export * from './names.ts';
export { type Authorize, createMonitorRouter, type MonitorOptions, type MonitorRouter } from './router.ts';
