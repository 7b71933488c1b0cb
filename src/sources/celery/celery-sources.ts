import { markBundle } from '../../source/bundle-mark.ts';
import type { MonitorSources } from '../../source.ts';
import { createCelerySource } from './celery-source.ts';
import { connectionsOf } from './connect.ts';
import { type CelerySourcesOptions, resolveOptions } from './options.ts';
import { createStoredSource } from './stored-source.ts';

/** What `celerySources` returns: every part, and `close`. */
export type CelerySources = Required<MonitorSources>;

/**
 * Shows a Celery deployment on Redis or RabbitMQ. It listens to Celery's events and to new results, reads stored
 * results, queues and schedules, and asks the workers for what only they know. Unless the host allows more, it
 * writes only keys for the workers' replies in Redis, or declares only queues of its own in RabbitMQ, and removes them.
 * In a database of the app it only runs SELECT.
 *
 * It connects at once and retries until it succeeds. Until then, answers are 503; during a later outage, the
 * last data is shown with `ok: false`. Workers report most with `-E`, and clients report what they send only
 * with `task_send_sent_event = True`; the hints of the components name the setting that hides data.
 *
 * @example
 * app.use('/monitor', createMonitorRouter({
 *   sources: celerySources({ broker: 'redis://localhost:6379/0', backend: 'redis://localhost:6379/1' }),
 *   authorize: (request) => request.user?.isAdmin === true,
 * }));
 *
 * @throws TypeError for unknown or wrong options; its message says what to write
 * @throws Error for a package that is needed and not installed
 */
export function celerySources(options: CelerySourcesOptions): CelerySources {
  const resolved = resolveOptions(options);
  if (resolved.store !== null) return markBundle(createStoredSource(resolved, resolved.store));
  const { close, ...connections } = connectionsOf(resolved);
  return markBundle(createCelerySource({ ...resolved, ...connections, closeConnections: close }));
}
