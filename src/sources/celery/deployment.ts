/**
 * What the answers of a source need to know of a deployment beside its tasks, workers and feed, which a history has:
 * how fresh all of that is, what waits in queues, and everything that is not a task.
 */
import type { HistorySources } from '../../history/history-sources.ts';
import type {
  Activity,
  ComponentSource,
  HealthSource,
  QueueSource,
  ScheduleSource,
  SourceStatus,
  WorkerSource,
} from '../../source.ts';
import type { Waiting } from './queues/waiting-tasks.ts';

/** How fresh the data of a deployment is. */
export type DeploymentStatus = Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'>;

/** What the rules judge, as far as a history cannot know it. */
export interface Sight {
  /** Why tasks may happen unseen; `null`: nothing is known to hide them. */
  readonly blind: string | null;
  /** What waits in queues; `null` where their messages cannot be listed. */
  readonly waiting: Activity['open']['waiting'] | null;
}

/** A deployment, with texts that are redacted. */
export interface Deployment {
  /** How fresh the tasks and the feed are. */
  status(): DeploymentStatus;
  /** How fresh the workers are: only events report them. */
  workerStatus(): DeploymentStatus;
  /** Tasks that wait in queues; `null` where their messages cannot be listed. */
  readonly waiting: Waiting | null;
  readonly queues: QueueSource;
  readonly schedules: ScheduleSource;
  readonly health: HealthSource;
  readonly components: ComponentSource;
  sight(): Sight;
  /** The task source of a history, which then also finds what only the deployment knows. */
  withLookup(tasks: HistorySources['tasks']): HistorySources['tasks'];
  /** The worker source of a history, with what only the workers themselves know. */
  withInspection(workers: WorkerSource): WorkerSource;
}
