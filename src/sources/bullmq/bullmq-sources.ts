import { storeComponent } from '../../history/store-parts.ts';
import { markBundle } from '../../source/bundle-mark.ts';
import { withEngine } from '../../source/engine.ts';
import type {
  Awaitable,
  ComponentSource,
  HealthSource,
  HistorySource,
  MetricsSource,
  MonitorSources,
  QueueSource,
  ScheduleSource,
  TaskEventSource,
  TaskSource,
  WorkerSource,
} from '../../source.ts';
import { type BullMQSourcesOptions, resolveOptions } from './access/options.ts';
import { createQueueAccess, type QueueAccess } from './access/queue-access.ts';
import { createActivity } from './activity/activity.ts';
import { createComponentSource } from './components/component-source.ts';
import { createEventFeed } from './events/event-feed.ts';
import { createFeedTails, type FeedTails } from './events/feed-tails.ts';
import { createHealth } from './health.ts';
import { createMetricsSource } from './metrics/job-meter.ts';
import { createQueueSource } from './queues/queue-source.ts';
import { createJobStore, type JobStore } from './recorded/job-store.ts';
import { withRemoved } from './recorded/with-removed.ts';
import { createScheduleSource } from './schedules/schedules.ts';
import { createKeptSince } from './tasks/kept-since.ts';
import { createPortionCache, type PortionCache } from './tasks/sorted-portion.ts';
import { readTaskDetail } from './tasks/task-detail.ts';
import { listTasks, searchCauses } from './tasks/task-list.ts';

import { readTaskStats, type StatsReads } from './tasks/task-stats.ts';
import { readFlowTree } from './tasks/task-tree.ts';
import { createWorkerSource } from './workers/read-workers.ts';

/** The result of `bullmqSources`. */
export interface BullMQSources extends MonitorSources {
  readonly tasks: TaskSource;
  readonly schedules: ScheduleSource;
  readonly workers: WorkerSource;
  readonly health: HealthSource;
  readonly queues: QueueSource;
  readonly components: ComponentSource;
  readonly events: TaskEventSource;
  readonly metrics: MetricsSource;
  /** Only with a `store`. */
  readonly history?: HistorySource;
  /**
   * Ends connections of its own; those of the host's queues and clients stay. With a `store`, returns a promise that
   * resolves once everything has been written.
   */
  close(): Awaitable<void>;
}

/**
 * Shows queues of BullMQ 5 and 6 on Redis. It only reads: it makes no `Queue`, writes no key, and blocks no
 * connection. A job is a task; its id is `<queue>:<job id>`. With a `store`, it also records jobs there, and shows those
 * that BullMQ has removed.
 *
 * The queues' own connections are used, or one of its own that is opened at the first request.
 *
 * @example
 * app.use('/monitor', createMonitorRouter({
 *   sources: bullmqSources({ queues: [mailQueue, imageQueue] }),
 *   authorize: (request) => request.user?.isAdmin === true,
 * }));
 *
 * @throws TypeError for options that are unknown or wrong, saying what to write
 * @throws Error if the package ioredis is needed and not installed
 */
export function bullmqSources(options: BullMQSourcesOptions): BullMQSources {
  const resolved = resolveOptions(options);
  const { name } = resolved;
  const access = createQueueAccess(resolved);
  const portions = createPortionCache();
  const recorded = resolved.store === null ? null : createJobStore(resolved, resolved.store, access);
  const tails = createFeedTails(access);
  const activity = createActivity(access, tails);
  const { queues, endedJobs } = activity;
  const reads: StatsReads = { access, keptSince: createKeptSince(access, endedJobs), queues };
  const tasks = { ...taskSource(name, reads, portions), getActivity: activity.read };
  const parts = {
    tasks: withCauses(recorded === null ? tasks : withRemoved(tasks, reads, recorded)),
    schedules: createScheduleSource(name, access),
    workers: createWorkerSource(name, access),
    health: createHealth(name, access),
    queues: createQueueSource(name, access),
    components: componentSource(name, access, recorded),
    events: eventSource(name, access, tails),
    metrics: createMetricsSource(name, access),
    ...(recorded === null ? {} : { history: historySource(name, recorded) }),
  };
  const close = (): void => {
    portions.clear();
    access.close();
  };
  return markBundle({
    ...withEngine(parts, 'bullmq'),
    close: recorded === null ? close : () => recorded.close().then(close),
  });
}

/** The servers, and the status of the store. */
function componentSource(name: string, access: QueueAccess, recorded: JobStore | null): ComponentSource {
  const servers = createComponentSource(name, access);
  if (recorded === null) return servers;
  return {
    ...servers,
    async listComponents(context) {
      const listed = await servers.listComponents(context);
      return [...listed, storeComponent(recorded.status(), Date.now())];
    },
  };
}

function historySource(name: string, { reader, openNotes }: JobStore): HistorySource {
  return { name, getHistoryStats: (context) => reader.getStats(context), openNotes };
}

function withCauses(tasks: TaskSource): TaskSource {
  const { listTasks: list, getTaskStats: sum } = tasks;
  return {
    ...tasks,
    listTasks: (query, context) => list(searchCauses(query), context),
    ...(sum !== undefined && {
      getTaskStats: (query, context) => sum({ ...query, filter: searchCauses(query.filter) }, context),
    }),
  };
}

function taskSource(name: string, reads: StatsReads, portions: PortionCache): TaskSource {
  const { access } = reads;
  return {
    name,
    knowsConditions: true,
    status: access.status,
    listTasks: (query, { signal }) => listTasks(access, portions, query, { signal }),
    getTask: (id, { signal }) => readTaskDetail(access, id, { signal }),
    getTaskTree: (id, { signal }) => readFlowTree(access, id, { signal }),
    getTaskStats: (query, { signal }) => readTaskStats(reads, query, { signal }),
  };
}

function eventSource(name: string, access: QueueAccess, tails: FeedTails): TaskEventSource {
  const feed = createEventFeed(access, tails);
  return {
    name,
    status: feed.status,
    listEvents: (query, { signal }) => feed.list(query, { signal }),
  };
}
