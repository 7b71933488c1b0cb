/** The names that the entries for Express and for any Node server have in common. */
export { combineSources } from './combine.ts';
export { MonitorError, type MonitorErrorCode } from './errors.ts';
export type { FindingNotice, OnFinding } from './findings/finding.ts';
export type {
  Component,
  HealthCheck,
  Queue,
  Schedule,
  Task,
  TaskDetail,
  TaskEvent,
  TaskRelation,
  TaskState,
  TaskTree,
  Worker,
  WorkerHealthCheck,
} from './model.ts';
export type {
  Marker,
  Markers,
  MonitorErrorContext,
  OnError,
  RouteName,
  TaskLink,
  TaskLinks,
} from './options.ts';
export type { RedactFunction, RedactOptions } from './redact.ts';
export { pageFrom, passesConditions, selectTasks, summarizeTasks } from './select.ts';
export type {
  ComponentSource,
  HealthSource,
  HistorySource,
  HistoryStats,
  MonitorSources,
  QueueSource,
  ReadContext,
  ScheduleSource,
  SourcePart,
  SourceStatus,
  TaskCapabilities,
  TaskCondition,
  TaskEventPage,
  TaskEventQuery,
  TaskEventSource,
  TaskPage,
  TaskPosition,
  TaskQuery,
  TaskSource,
  TaskStats,
  TaskStatsQuery,
  WorkerSource,
} from './source.ts';
