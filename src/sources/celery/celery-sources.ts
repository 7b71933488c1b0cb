import { historySources } from '../../history/history-sources.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import type { MonitorSources } from '../../source.ts';
import { createDeployment } from './deployment.ts';
import { type CelerySourcesOptions, resolveOptions } from './options.ts';

/** What `celerySources` returns: every part, and `close`. */
export type CelerySources = Required<Omit<MonitorSources, 'queues'>> & Pick<MonitorSources, 'queues'>;

/**
 * Shows a Celery deployment on Redis. It listens to Celery's events and to what the result backend
 * publishes, reads in the results that are stored, looks into the queues and at the schedules, asks the
 * workers for what only they know, and answers from all of that. Unless the host allows more, all that it
 * ever writes to Redis are the keys of the workers' replies, which it removes again.
 *
 * Connecting starts at once and goes on for ever; until it succeeds, answers are 503, and while Redis is
 * away later, the last data with `ok: false`. Workers tell most when they run with `-E`, clients what
 * they send only with `task_send_sent_event = True`; the components' hints say which setting hides data.
 *
 * @example
 * app.use('/monitor', createMonitorRouter({
 *   sources: celerySources({ broker: 'redis://localhost:6379/0', backend: 'redis://localhost:6379/1' }),
 *   authorize: (request) => request.user?.isAdmin === true,
 * }));
 *
 * @throws TypeError for options that are unknown or wrong, saying what to write
 */
export function celerySources(options: CelerySourcesOptions): CelerySources {
  const resolved = resolveOptions(options);
  const history = createMemoryHistory(resolved.retention);
  const deployment = createDeployment(resolved, history);
  const { collector } = deployment;
  const parts = historySources(resolved.name, history.reader, collector.status);
  const { workers } = historySources(resolved.name, history.reader, collector.workerStatus);
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    await deployment.close();
    history.close();
  }

  return {
    ...parts,
    tasks: deployment.withTasks(parts.tasks),
    workers: deployment.withWorkers(workers),
    schedules: deployment.schedules,
    health: deployment.health,
    components: deployment.components,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
