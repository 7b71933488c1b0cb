/**
 * The settings of a Celery app that this source reads, under Celery's own names
 * (https://docs.celeryq.dev/en/stable/userguide/configuration.html).
 */
import { wrongOption } from '../../check-options.ts';
import { filledString, isRecord } from '../../values.ts';
import { isTimeZone } from './zones.ts';

/** The app's settings. Keys that are not listed here are ignored. */
export interface CelerySettings {
  /**
   * Used unless the option `broker` is given. Of several URLs of Redis, the first is used; of Sentinels and of
   * RabbitMQ, all.
   */
  readonly broker_url?: string | readonly string[];
  /**
   * Used unless the option `backend` is given. Results in a database need the option `sql`. Any other backend that is
   * not Redis is shown, but not read.
   */
  readonly result_backend?: string | null;
  /** Name of the exchange of events. Default `celeryev`. */
  readonly event_exchange?: string;
  /** The prefix of the names of event queues in RabbitMQ. Default `celeryev`. */
  readonly event_queue_prefix?: string;
  /** Name of the exchange of remote control. Default `celery`. */
  readonly control_exchange?: string;
  readonly broker_transport_options?: CeleryTransportOptions;
  /**
   * TLS to a broker that is given by URL: `ssl_cert_reqs` (`required`, `optional`, `none`, or Python's
   * number), `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile` (paths), `ssl_check_hostname`. `true`: trust
   * the certificates that Node trusts. Parameters of the URL take precedence. For RabbitMQ, the names may lack `ssl_`,
   * as in py-amqp, and `server_hostname` is the name in the certificate if it differs from the host.
   */
  readonly broker_use_ssl?: boolean | CeleryTls;
  /** Seconds between heartbeats with RabbitMQ; 0: none. Default 10. */
  readonly broker_heartbeat?: number | null;
  /** `EXTERNAL`: log in to RabbitMQ by the client's certificate. Otherwise by user and password. */
  readonly broker_login_method?: string | null;
  /** `shuffle`: begin with a random one of several RabbitMQ hosts. Otherwise with the first. */
  readonly broker_failover_strategy?: unknown;
  /** The same for a result backend. */
  readonly redis_backend_use_ssl?: boolean | CeleryTls;
  readonly result_backend_transport_options?: {
    /** Name of the master of a `sentinel://` URL. */
    readonly master_name?: string;
    /** Login and TLS for the Sentinels. */
    readonly sentinel_kwargs?: CelerySentinelLogin;
    /** Prefix of the keys of results. Celery adds `_` unless it ends in one of `:` `_` `-` `.`. */
    readonly global_keyprefix?: string;
    readonly [option: string]: unknown;
  };
  /** Queues of the app: an array of names or of objects with a `name`, or an object by name. */
  readonly task_queues?: unknown;
  /** Default `celery`. */
  readonly task_default_queue?: string;
  /** The Redis in which redbeat stores its schedule. Default: the broker. */
  readonly redbeat_redis_url?: string;
  /** Prefix of redbeat's keys. Default `redbeat:`. */
  readonly redbeat_key_prefix?: string;
  /** IANA name of the time zone of schedules. Default UTC. */
  readonly timezone?: string;
  /** Entries of the periodic schedule. */
  readonly beat_schedule?: Readonly<Record<string, unknown>>;
  readonly [setting: string]: unknown;
}

/** Celery's `ssl_*` parameters; others are ignored. */
export interface CeleryTls {
  readonly ssl_cert_reqs?: string | number | null;
  readonly ssl_ca_certs?: string | null;
  readonly ssl_certfile?: string | null;
  readonly ssl_keyfile?: string | null;
  readonly ssl_check_hostname?: boolean | string;
  readonly cert_reqs?: string | number | null;
  readonly ca_certs?: string | null;
  readonly certfile?: string | null;
  readonly keyfile?: string | null;
  readonly server_hostname?: string | null;
  readonly [parameter: string]: unknown;
}

/** Options of connections to Sentinels, under redis-py's names; others are ignored. */
export interface CelerySentinelLogin extends CeleryTls {
  readonly username?: string | null;
  readonly password?: string | null;
  /** Whether the Sentinels themselves use TLS. Default `false`. */
  readonly ssl?: boolean;
}

/** Options of kombu's Redis transport (kombu/transport/redis.py). */
export interface CeleryTransportOptions {
  /** Prefix of every key and channel, used as it is. */
  readonly global_keyprefix?: string;
  /** Prefix of every channel. `true` (the default) means `/{db}.`, `false` means none. */
  readonly fanout_prefix?: boolean | string;
  /** `true` (the default): a channel per routing key. `false`: one channel for all events. */
  readonly fanout_patterns?: boolean;
  /** Separator of a queue's name and its priority. Default the two characters 06 and 16 (hexadecimal). */
  readonly sep?: string;
  /** The priorities that have lists of their own. Default 0, 3, 6, 9. */
  readonly priority_steps?: readonly number[];
  /** Name of the hash of unacknowledged messages. Default `unacked`. */
  readonly unacked_key?: string;
  /** Name of the sorted set that belongs to it. Default `unacked_index`. */
  readonly unacked_index_key?: string;
  /** Name of the master of a `sentinel://` URL. */
  readonly master_name?: string;
  /** Login and TLS for the Sentinels. User and password of the URL are for the master. */
  readonly sentinel_kwargs?: CelerySentinelLogin;
  readonly [option: string]: unknown;
}

/** A Celery configuration: the host's settings, or a worker's answer to `conf`. */
export type Configuration = Readonly<Record<string, unknown>>;

type Check = readonly [test: (value: unknown) => boolean, what: string];

const TEXT: Check = [(value) => typeof value === 'string', 'a string'];
const NAME: Check = [(value) => typeof value === 'string' && value !== '', 'a string that is not empty'];
const FLAG: Check = [(value) => typeof value === 'boolean', 'true or false'];
const TABLE: Check = [isRecord, 'an object'];
const TLS: Check = [
  (value) => typeof value === 'boolean' || isRecord(value),
  'true, false or an object with ssl_cert_reqs, ssl_ca_certs, ssl_certfile and ssl_keyfile',
];
const SECONDS: Check = [(value) => typeof value === 'number' && value >= 0, 'a number of seconds'];
const NUMBERS: Check = [
  (value) => Array.isArray(value) && value.every((item) => Number.isInteger(item)),
  'an array of whole numbers',
];

const SETTINGS: Readonly<Record<string, Check>> = {
  broker_url: [
    (value) => typeof value === 'string' || (Array.isArray(value) && typeof value[0] === 'string'),
    'a URL or an array of URLs',
  ],
  result_backend: TEXT,
  event_exchange: NAME,
  control_exchange: NAME,
  event_queue_prefix: NAME,
  broker_heartbeat: SECONDS,
  broker_login_method: NAME,
  broker_transport_options: TABLE,
  result_backend_transport_options: TABLE,
  broker_use_ssl: TLS,
  redis_backend_use_ssl: TLS,
  task_default_queue: NAME,
  redbeat_redis_url: NAME,
  redbeat_key_prefix: TEXT,
  timezone: [isTimeZone, 'the IANA name of a time zone, such as Europe/Prague'],
  beat_schedule: TABLE,
};

const TRANSPORT_OPTIONS: Readonly<Record<string, Check>> = {
  global_keyprefix: TEXT,
  fanout_prefix: [
    (value) => typeof value === 'boolean' || typeof value === 'string',
    'true, false or a string',
  ],
  fanout_patterns: FLAG,
  sep: NAME,
  priority_steps: NUMBERS,
  unacked_key: NAME,
  unacked_index_key: NAME,
  master_name: NAME,
  sentinel_kwargs: TABLE,
};

/**
 * Checks the settings that this source reads. `null` means not set, like `None` in Python.
 *
 * @throws TypeError naming the setting and what to write
 */
export function checkSettings(settings: unknown = {}): CelerySettings {
  if (!isRecord(settings)) throw wrongOption('celerySources', 'settings', EXAMPLE, settings);
  check(settings, SETTINGS, 'settings');
  for (const group of ['broker_transport_options', 'result_backend_transport_options']) {
    const options = settings[group];
    if (isRecord(options)) check(options, TRANSPORT_OPTIONS, `settings.${group}`);
  }
  return settings;
}

const EXAMPLE = "an object with Celery's own names, such as { result_backend: 'redis://host/1' }";

function check(values: Readonly<Record<string, unknown>>, checks: typeof SETTINGS, path: string): void {
  for (const [name, [test, what]] of Object.entries(checks)) {
    const value = values[name];
    if (value !== undefined && value !== null && !test(value)) {
      throw wrongOption('celerySources', `${path}.${name}`, what, value);
    }
  }
}

/** The names in `task_queues` as a host may write it: names, objects with a name, or an object by name. */
export function configuredQueues({ task_queues: queues }: CelerySettings): string[] {
  if (typeof queues !== 'object' || queues === null) return [];
  if (!Array.isArray(queues)) return Object.keys(queues);
  return queues.flatMap((queue: unknown) => {
    const own = typeof queue === 'object' && queue !== null ? (queue as { name?: unknown }).name : queue;
    return filledString(own) ?? [];
  });
}
