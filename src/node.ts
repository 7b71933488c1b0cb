/**
 * `express-task-monitor/node`: the same as `express-task-monitor`, for every other server that passes on the request
 * and the response of Node's `http`. It does not need Express.
 */
export { createMonitorHandler, type MonitorHandler } from './handler.ts';
export * from './names.ts';
export type { Authorize, MonitorHandlerOptions, MonitorOptions } from './options.ts';
