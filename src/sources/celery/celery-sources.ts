import type { StoreEngine } from '../../history/store.ts';
import { createStoredHistory } from '../../history/stored/create-stored-history.ts';
import { markBundle } from '../../source/bundles.ts';
import type { MonitorSources } from '../../source.ts';
import type { Broker } from './broker.ts';
import { type ClosableParts, createCelerySource, valueLengthOf } from './celery-source.ts';
import { connectionsOf } from './connect.ts';
import type { LiveOptions } from './live.ts';
import { type CelerySourcesOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import type { ResultBackend } from './result-backend.ts';
import type { CelerySettings } from './settings.ts';
import { createLedSource } from './shared/shared-source.ts';

/** What `celerySources` returns: every part, and `close`. */
export type CelerySources = Required<Omit<MonitorSources, 'redact'>> & Pick<MonitorSources, 'redact'>;

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
  if (resolved.store !== null)
    return markBundle(createStoredSource(resolved, resolved.store), options.redact);
  const { close, ...connections } = connectionsOf(resolved);
  const source = createCelerySource({ ...resolved, ...connections, closeConnections: close });
  return markBundle(source, options.redact);
}

/** @throws TypeError that says what to write; it never contains a URL */
function createStoredSource(options: ResolvedOptions, store: StoreEngine): ClosableParts {
  const { name, collect, retention, redactor, settings } = options;
  const connect = (): LiveOptions => {
    const { close, ...connections } = connectionsOf(options);
    return { ...options, ...connections, valueLength: valueLengthOf(retention), closeConnections: close };
  };
  // Wrong options throw here, even if this instance does not connect yet.
  const live = collect ? connect() : null;
  const history = createStoredHistory(
    { ...retention, redactor, eventless: live !== null && live.broker === null },
    {
      store,
      source: name,
      deployment: live === null ? null : deploymentId({ ...live, settings }),
      hearing: 'nothing',
      isReadOnly: !collect,
    },
  );
  const hasConsumers = live?.broker?.queues?.listsMessages === false;
  return createLedSource({ name, history, connect: collect ? connect : null, hasConsumers });
}

/** From where a deployment is read. */
interface Read {
  readonly broker: Pick<Broker, 'describe'> | null;
  readonly backend: Pick<ResultBackend, 'describe'> | null;
  readonly settings: CelerySettings;
}

/** Addresses of this machine, which mean the same one. */
const LOCAL = /^(?:127\.0\.0\.1|\[::1\])(?=:|$)/;

/**
 * Host, port and database of the broker, or else of the result backend, without user and password; also the prefix that
 * keeps apps in one database apart.
 *
 * @returns `null` if a client of the host does not reveal its address
 */
function deploymentId({ broker, backend, settings }: Read): string | null {
  const description = broker?.describe() ?? backend?.describe();
  if (description === undefined || description.url === null) return null;
  const transport =
    broker === null ? settings.result_backend_transport_options : settings.broker_transport_options;
  const parts = [
    addressesOf(description.url),
    description.config.database,
    transport?.master_name,
    transport?.global_keyprefix,
  ];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}

/** Sentinels may be named in any order. A scheme says how to connect, but not to what. */
function addressesOf(urls: string): string {
  return urls
    .split(';')
    .map((url) => url.replace(/^[\w+]+:\/\//, '').replace(/\/\d+$/, ''))
    .map((server) => server.replace(LOCAL, 'localhost'))
    .toSorted()
    .join(';');
}
