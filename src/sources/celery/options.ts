import type { RetentionOptions } from '../../history/retention.ts';
import { resolveRetention } from '../../history/retention.ts';
import type { CeleryRedisClient } from '../../redis/node-redis.ts';
import { type DeploymentEndpoints, deploymentEndpoints } from './brokers/redis/endpoints.ts';
import { type CelerySettings, checkSettings } from './settings.ts';

/** What `celerySources` takes. */
export interface CelerySourcesOptions {
  /**
   * Where the broker is: `redis://user:password@host:6379/0`, `rediss://…`, `redis+socket:///path`,
   * `sentinel://host:26379/0;sentinel://…` (with `settings.broker_transport_options.master_name`), of a
   * fail-over list the first; or a client made by `createClient` of the package `redis` (5 or 6) or by
   * its `createSentinel` (6), which is duplicated and never closed. The number of the database is part of the channels' names: it is
   * that of the URL, and for a client that of `settings.broker_url` or of the client's own options.
   * Default: `settings.broker_url`. Where that is not Redis, only results are read.
   */
  readonly broker?: string | CeleryRedisClient;
  /**
   * Where results are stored, in the same forms. It tells final states that events do not, so give it
   * where the app has one. Default: `settings.result_backend`; without either, as in Celery itself,
   * there is none. `null`: do not read it.
   */
  readonly backend?: string | CeleryRedisClient | null;
  /** Name of this source in answers. 1 to 64 of `A-Z a-z 0-9 _ -`. Default `celery`. */
  readonly name?: string;
  /** The Celery app's configuration, under Celery's own names. Keys that do not matter here are ignored. */
  readonly settings?: CelerySettings;
  /** Bounds of what is held in memory. */
  readonly retention?: RetentionOptions;
  /** Names of queues to show beside those that Redis and the workers name. Default none. */
  readonly queues?: readonly string[];
  /**
   * Whether the results that are stored already are read in at the start, a few at a time. Without it
   * the history begins at the start; single tasks are still looked up. Default true.
   */
  readonly readResults?: boolean;
  /**
   * Whether workers are asked what only they know (pool, queues, registered tasks, what runs), by Celery's
   * remote control. It needs a Redis user who may publish to the workers and keep a list for the replies,
   * which is removed again. Default true; where the user may not, the fields are `null`.
   */
  readonly control?: boolean;
  /**
   * Whether workers that send no events are told to, until they restart: the one thing that changes what
   * they do. Default false.
   */
  readonly enableEvents?: boolean;
}

/** Checked options. */
export interface ResolvedOptions extends DeploymentEndpoints {
  readonly name: string;
  readonly settings: CelerySettings;
  readonly retention: RetentionOptions;
  readonly queues: readonly string[];
  readonly readResults: boolean;
  readonly control: boolean;
  readonly enableEvents: boolean;
}

/** Every option, checked by the compiler to be complete. */
const OPTIONS: Readonly<Record<keyof CelerySourcesOptions, true>> = {
  broker: true,
  backend: true,
  name: true,
  settings: true,
  retention: true,
  queues: true,
  readResults: true,
  control: true,
  enableEvents: true,
};

/** What people write instead of an option, and what to write. */
const HINTS: Readonly<Record<string, string>> = {
  url: 'broker',
  redis: 'broker',
  client: 'broker',
  brokerUrl: 'broker',
  broker_url: 'broker',
  backendUrl: 'backend',
  resultBackend: 'backend',
  result_backend: 'backend',
  conf: 'settings',
  config: 'settings',
  broker_transport_options: 'settings: { broker_transport_options }',
  result_backend_transport_options: 'settings: { result_backend_transport_options }',
  event_exchange: 'settings: { event_exchange }',
  global_keyprefix: 'settings: { broker_transport_options: { global_keyprefix } }',
  prefix: 'settings: { broker_transport_options: { global_keyprefix } }',
  maxTasks: 'retention: { maxTasks }',
  task_queues: 'queues',
  enable_events: 'enableEvents',
  inspect: 'control',
};

/**
 * Checks and completes options.
 *
 * @throws TypeError that says what to write; it never holds a URL
 */
export function resolveOptions(options: unknown): ResolvedOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError("celerySources: write celerySources({ broker: 'redis://host:6379/0' }).");
  }
  for (const key of Object.keys(options)) checkKey(key);
  const given = options as CelerySourcesOptions;
  const { broker, backend, name = 'celery', settings, retention = {}, queues = [] } = given;
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw new TypeError('celerySources: name must be 1 to 64 letters, digits, _ or -, such as celery.');
  }
  if (typeof retention !== 'object' || retention === null) {
    throw new TypeError('celerySources: retention must be an object, such as { maxTasks: 100_000 }.');
  }
  if (!Array.isArray(queues) || !queues.every((queue) => typeof queue === 'string' && queue !== '')) {
    throw new TypeError("celerySources: queues must be names of queues, such as ['celery', 'mail'].");
  }
  const control = flag(given, 'control', true);
  const enableEvents = flag(given, 'enableEvents', false);
  if (enableEvents && !control) {
    throw new TypeError('celerySources: enableEvents is sent by remote control. Leave control: false out.');
  }
  // Before anything is connected.
  resolveRetention(retention, 'celerySources');
  const checked = settings === undefined ? {} : checkSettings(settings);
  return {
    name,
    settings: checked,
    retention,
    queues: [...queues],
    readResults: flag(given, 'readResults', true),
    control,
    enableEvents,
    ...deploymentEndpoints(broker, backend, checked),
  };
}

function flag(
  options: CelerySourcesOptions,
  key: 'readResults' | 'control' | 'enableEvents',
  fallback: boolean,
): boolean {
  const value: unknown = options[key] ?? fallback;
  if (typeof value !== 'boolean') throw new TypeError(`celerySources: ${key} must be true or false.`);
  return value;
}

function checkKey(key: string): void {
  if (Object.hasOwn(OPTIONS, key)) return;
  const hint = Object.hasOwn(HINTS, key) ? HINTS[key] : undefined;
  throw new TypeError(
    `celerySources: there is no option ${JSON.stringify(key.slice(0, 40))}. ` +
      (hint === undefined ? `Its options are ${Object.keys(OPTIONS).join(', ')}.` : `Write ${hint} instead.`),
  );
}
