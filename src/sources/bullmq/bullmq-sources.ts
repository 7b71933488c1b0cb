import { storeComponent } from '../../history/store-parts.ts';
import type { HealthCheck, WorkerHealthCheck } from '../../model.ts';
import { describeError } from '../../redis/problems.ts';
import type { ServerProblem } from '../../server-problems.ts';
import { markBundle, withEngine } from '../../source/bundles.ts';
import type {
  Awaitable,
  ComponentSource,
  ExperimentalSource,
  HealthSource,
  HistorySource,
  MeterOptions,
  MonitorSources,
  QueueSource,
  ReadContext,
  ScheduleSource,
  TaskEventSource,
  TaskSource,
  WorkerSource,
} from '../../source.ts';
import { type BullMQSourcesOptions, resolveOptions } from './access/options.ts';
import { type BullMQRedis, createBullMQRedis, type QueueAccess } from './access/queue-access.ts';
import { createActivity } from './activity/activity.ts';
import { createKeptSince } from './activity/kept-jobs.ts';
import { listComponents } from './components/components.ts';
import { listQueues } from './components/queues.ts';
import { createEventSource } from './events/event-feed.ts';
import { createStreamFollower } from './events/stream-follower.ts';
import { openMeter } from './metrics/job-meter.ts';
import { createJobStore, type JobStore } from './recorded/job-recorder.ts';
import { listSchedules } from './schedules/schedules.ts';
import type { JobReads } from './tasks/removed-jobs.ts';
import { readTaskDetail } from './tasks/task-detail.ts';
import { listTasks, searchCauses } from './tasks/task-list.ts';
import { readTaskStats } from './tasks/task-stats.ts';
import { readTree } from './tasks/task-tree.ts';
import { listWorkers, readWorkers, WORKERS_HIDDEN } from './workers/workers.ts';

/** The result of `bullmqSources`. */
export interface BullMQSources extends MonitorSources {
  readonly tasks: TaskSource;
  readonly schedules: ScheduleSource;
  readonly workers: WorkerSource;
  readonly health: HealthSource;
  readonly queues: QueueSource;
  readonly components: ComponentSource;
  readonly events: TaskEventSource;
  readonly experimental: ExperimentalSource;
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
  const redis = createBullMQRedis(resolved);
  const follower = createStreamFollower(redis);
  const recorded = resolved.store === null ? null : createJobStore(resolved, resolved.store, follower);
  const activity = createActivity(redis, follower);
  const part = { name, status: redis.status };
  const parts = {
    tasks: taskSource(name, redis, activity, recorded),
    schedules: { ...part, listSchedules: (context) => listSchedules(redis.within(context)) },
    workers: { ...part, listWorkers: (context) => listWorkers(redis.within(context)) },
    health: createHealth(name, redis),
    queues: { ...part, listQueues: (context) => listQueues(redis.within(context)) },
    components: {
      ...part,
      async listComponents(context) {
        const servers = await listComponents(redis.within(context));
        return recorded === null ? servers : [...servers, storeComponent(recorded.status(), Date.now())];
      },
    },
    events: createEventSource(name, redis),
    experimental: {
      ...part,
      getActivity: activity.read,
      openMeter: (options: MeterOptions) => openMeter(redis, follower, options),
      ...(recorded === null ? {} : { openNotes: recorded.openNotes }),
    },
    ...(recorded === null
      ? {}
      : { history: { name, getHistoryStats: (context: ReadContext) => recorded.reader.getStats(context) } }),
  } satisfies MonitorSources;
  const close = recorded === null ? redis.close : () => recorded.close().then(redis.close);
  return markBundle({ ...withEngine(parts, 'bullmq'), close }, options.redact);
}

function taskSource(
  name: string,
  redis: BullMQRedis,
  activity: ReturnType<typeof createActivity>,
  store: JobStore | null,
): TaskSource {
  const data = { keptSince: createKeptSince(activity.endedJobs), queues: activity.queues };
  const readsOf = (context: ReadContext): JobReads => ({
    access: redis.within(context),
    recorded: store?.reader ?? null,
    context,
  });
  return {
    name,
    knowsConditions: true,
    status: redis.status,
    listTasks: (query, context) => listTasks(readsOf(context), searchCauses(query)),
    getTask: (id, context) => readTaskDetail(readsOf(context), id),
    getTaskTree: (id, context) => readTree(readsOf(context), id),
    getTaskStats(asked, context) {
      const query = { ...asked, filter: searchCauses(asked.filter) };
      if (store === null) return readTaskStats(readsOf(context), data, query);
      return store.readStats(query, context, (own, within, since) =>
        readTaskStats(readsOf(within), data, own, since),
      );
    },
  };
}

/**
 * Answers `/healthcheck`. Broker and backend are the same: BullMQ keeps queues and results in one Redis. It is
 * healthy if it answers and its queues can be read. Workers respond as long as they are connected; nothing is
 * sent to them, whether pings are allowed or not.
 */
function createHealth(name: string, redis: BullMQRedis): HealthSource {
  async function checkRedis(context: ReadContext): Promise<HealthCheck> {
    const problem = await findProblem(redis, context);
    return problem === null ? { ok: true, error: null } : { ok: false, error: problem.sentence };
  }

  return {
    name,
    status: redis.status,
    checkBroker: checkRedis,
    checkBackend: checkRedis,
    checkWorkers: (context) => checkWorkers(redis.within(context)),
  };
}

async function findProblem(redis: BullMQRedis, context: ReadContext): Promise<ServerProblem | null> {
  const access = redis.within(context);
  const reading = access.queues().then((queues) => access.readParts(queues, ['settings']));
  const [problem, failure] = await Promise.all([
    redis.check(context.signal),
    reading.then(() => null, describeError),
  ]);
  // A user who may not ping may still be able to read.
  return problem === null || problem.code === 'NOPERM' ? failure : problem;
}

async function checkWorkers(access: QueueAccess): Promise<WorkerHealthCheck> {
  try {
    const workers = await readWorkers(access);
    if (workers === null) return { ok: null, error: WORKERS_HIDDEN.sentence, responding: [], missing: [] };
    const named = (status: string): string[] =>
      workers.filter((worker) => worker.status === status).map(({ hostname }) => hostname);
    const responding = named('online');
    const ok = responding.length > 0;
    // A worker that is not connected may still hold jobs whose locks have not expired yet.
    return { ok, error: ok ? null : 'No worker is connected.', responding, missing: named('stale') };
  } catch {
    const error = 'Redis cannot be reached, so it is unknown whether workers respond.';
    return { ok: false, error, responding: [], missing: [] };
  }
}
