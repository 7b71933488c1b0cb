/**
 * Types of every JSON body of the API. `openapi.json` is generated from this file alone. Bodies always have
 * all their fields; `null` means "unknown".
 */

export type { DrainBody, WaitBody } from './wire/answers.ts';
export type { Integer, ProblemBody, SourceBody, SourceErrorCode, Timestamp } from './wire/common.ts';
export type {
  ComponentBody,
  ComponentsBody,
  EventBody,
  EventsBody,
  FindingBody,
  HealthBody,
  HealthCheckBody,
  QueueBody,
  RuleBody,
  ScheduleBody,
  ScheduleRunBody,
  SchedulesBody,
  WorkerHealthCheckBody,
} from './wire/deployment.ts';
export type {
  StatsBeforeBody,
  StatsColumnsBody,
  StatsCountsBody,
  WorkerCountsBody,
} from './wire/overview.ts';
export type {
  TaskAttemptBody,
  TaskDetailBody,
  TaskLinkBody,
  TaskLogBody,
  TimelineEntryBody,
} from './wire/task-detail.ts';
export type {
  MarkerBody,
  StatsBucketBody,
  StatsCallerBody,
  StatsCauseBody,
  StatsNameBody,
  StatsQueueBody,
  StatsStepBody,
  StatsTotalsBody,
  TaskBody,
  TaskCapabilitiesBody,
  TaskMatchBody,
  TaskProgressBody,
  TaskStatsBody,
  TasksBody,
} from './wire/tasks.ts';
export type { RunningTaskBody, UnassignedTasksBody, WorkerBody, WorkersBody } from './wire/workers.ts';
export type {
  GraphBody,
  GraphEdgeBody,
  GraphNodeBody,
  GraphNodeUpdateBody,
  GraphUpdatesBody,
  RelationBody,
  RelationsBody,
  StateCountsBody,
} from './wire/workflow.ts';
