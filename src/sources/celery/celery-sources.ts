import { historySources } from '../../history/history-sources.ts';
import { createMemoryHistory } from '../../history/memory-history.ts';
import type { MonitorSources } from '../../source.ts';
import { createCollector } from './collector.ts';
import { componentsOf } from './components.ts';
import { createHealth } from './health.ts';
import { type CelerySourcesOptions, resolveOptions } from './options.ts';

/** What `celerySources` returns: every part but schedules, and `close`. */
export type CelerySources = Required<Omit<MonitorSources, 'schedules'>>;

/**
 * Shows a Celery deployment on Redis: subscribes to Celery's events and to what the result backend
 * publishes, and answers from what it has seen since. It writes nothing to Redis.
 *
 * Connecting starts at once and goes on for ever; until it succeeds, answers are 503, and while Redis is
 * away later, the last data with `ok: false`. Workers tell of tasks only when they run with
 * `-E`, clients of what they send only with `task_send_sent_event = True`.
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
  const collector = createCollector(resolved, history);
  const health = createHealth(resolved, history, collector);
  const parts = historySources(resolved.name, history, collector.status);
  const { workers } = historySources(resolved.name, history, collector.workerStatus);
  let closing: Promise<void> | null = null;

  async function close(): Promise<void> {
    await Promise.all([collector.close(), health.close()]);
    history.close();
  }

  return {
    ...parts,
    workers,
    health: health.source,
    components: componentsOf(resolved, collector),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
