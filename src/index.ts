/**
 * `express-task-monitor`: Celery, BullMQ and in-process tasks, workers, events and workflows as JSON, from
 * your own Express app.
 */
export { combineSources } from './combine.ts';
export { MonitorError, type MonitorErrorCode, type ParameterFault } from './errors.ts';
export type { MetricsOptions } from './metrics/metrics-options.ts';
export type {
  Component,
  HealthCheck,
  Queue,
  Schedule,
  Task,
  TaskChangeEntry,
  TaskDetail,
  TaskEvent,
  TaskFlag,
  TaskRelation,
  TaskRelationKind,
  TaskState,
  TaskTextField,
  TaskTree,
  Worker,
  WorkerHealthCheck,
  WorkerStatus,
} from './model.ts';
export type {
  Authorize,
  DashboardLink,
  DashboardOptions,
  HealthOptions,
  LimitOptions,
  Marker,
  Markers,
  MonitorErrorContext,
  MonitorOptions,
  OnError,
  Refusal,
  RouteName,
  SignInRedirect,
} from './options.ts';
export type { RedactFunction, RedactOptions } from './redact.ts';
export { createMonitorRouter, type MonitorRouter } from './router.ts';
export { selectTasks, summarizeTasks } from './select.ts';
export type {
  Activity,
  Awaitable,
  ComponentSource,
  DurationFigures,
  DurationKind,
  HealthSource,
  HistogramBucket,
  HistorySource,
  HistoryStats,
  MinuteCounts,
  MonitorSources,
  OpenTaskSummary,
  QueueDepths,
  QueueSource,
  ReadContext,
  RunningTask,
  ScheduleSource,
  SilentWorker,
  SourcePart,
  SourceStatus,
  StatsTotals,
  TaskCounts,
  TaskEventPage,
  TaskEventQuery,
  TaskEventSource,
  TaskGroup,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSort,
  TaskSource,
  TaskStats,
  TaskStatsQuery,
  WorkerSource,
} from './source.ts';
