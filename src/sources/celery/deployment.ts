/**
 * The data of a deployment that answers need besides its tasks, workers and feed, which are in a history: their
 * freshness, the tasks that wait in queues, and everything that is not a task.
 */
import type { HistorySources } from '../../history/store-parts.ts';
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

/** The freshness of the data of a deployment. */
export type DeploymentStatus = Pick<SourceStatus, 'ok' | 'asOf' | 'error' | 'reason'>;

/** The data for the rules that a history does not have. */
export interface Sight {
  /** Why tasks may run unobserved; `null`: nothing is known to hide them. */
  readonly blind: string | null;
  /** The tasks that wait in queues; `null` if messages cannot be listed. */
  readonly waiting: Activity['open']['waiting'] | null;
}

/** A deployment, with texts that are redacted. */
export interface Deployment {
  /** The freshness of the tasks and the feed. */
  status(): DeploymentStatus;
  /** The freshness of the workers: only events report them. */
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
  /** The worker source of a history, with the data that only the workers themselves have. */
  withInspection(workers: WorkerSource): WorkerSource;
}
