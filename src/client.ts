/** `express-task-monitor/client`: a client for the eleven routes, for browsers and Node. */

export {
  applyGraphUpdates,
  type CallOptions,
  type ComponentsQuery,
  createMonitorClient,
  type EventQuery,
  type GraphQuery,
  type GraphState,
  type MonitorClient,
  type MonitorClientOptions,
  type TaskListQuery,
  type WatchOptions,
} from './client/monitor-client.ts';
export { MonitorClientError } from './client/request.ts';
export type {
  ComponentsBody,
  EventsBody,
  GraphBody,
  GraphUpdatesBody,
  HealthBody,
  ProblemBody,
  RelationsBody,
  SchedulesBody,
  TaskDetailBody,
  TasksBody,
  WorkersBody,
} from './wire.ts';
