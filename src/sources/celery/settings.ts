/**
 * The part of a Celery app's configuration that decides what its traffic looks like, under Celery's own
 * names (https://docs.celeryq.dev/en/stable/userguide/configuration.html).
 */

/** Celery's settings, as the app has them. Only those below matter; any other key is ignored. */
export interface CelerySettings {
  /** Used when the option `broker` is not given; of several, the first, but of Sentinels all. */
  readonly broker_url?: string | readonly string[];
  /** Used when the option `backend` is not given. One that is not Redis is shown, but not read. */
  readonly result_backend?: string | null;
  /** Name of the exchange of events. Default `celeryev`. */
  readonly event_exchange?: string;
  /** Name of the exchange of remote control. Default `celery`. */
  readonly control_exchange?: string;
  readonly broker_transport_options?: CeleryTransportOptions;
  /**
   * TLS to a broker that is given by URL: `ssl_cert_reqs` (`required`, `optional`, `none`, or Python's
   * number), `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile` (paths), `ssl_check_hostname`; `true`: with
   * the certificates that Node trusts. What the URL itself says goes first.
   */
  readonly broker_use_ssl?: boolean | CeleryTls;
  /** The same for a result backend. */
  readonly redis_backend_use_ssl?: boolean | CeleryTls;
  readonly result_backend_transport_options?: {
    /** Name of the master of a `sentinel://` URL. */
    readonly master_name?: string;
    /** How to log in at the Sentinels. */
    readonly sentinel_kwargs?: CelerySentinelLogin;
    /** Put before the keys of results, and `_` behind it unless it ends in one of `:` `_` `-` `.`. */
    readonly global_keyprefix?: string;
    readonly [option: string]: unknown;
  };
  /** Queues of the app: names, or objects with a `name`; as a table, by name. */
  readonly task_queues?: unknown;
  /** Default `celery`. */
  readonly task_default_queue?: string;
  /** Seconds for which results are kept; `null` and 0: for ever. Default one day. */
  readonly result_expires?: number | null;
  /** Redbeat's Redis. Default: the broker. */
  readonly redbeat_redis_url?: string;
  /** Put before redbeat's keys. Default `redbeat:`. */
  readonly redbeat_key_prefix?: string;
  /** IANA name of the zone that schedules are read in. Default UTC. */
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
  readonly [parameter: string]: unknown;
}

/** Arguments for connections to Sentinels, under redis-py's names; others are ignored. */
export interface CelerySentinelLogin extends CeleryTls {
  readonly username?: string | null;
  readonly password?: string | null;
  /** Whether the Sentinels themselves speak TLS. Default `false`. */
  readonly ssl?: boolean;
}

/** Options of kombu's Redis transport (kombu/transport/redis.py). */
export interface CeleryTransportOptions {
  /** Put before every key and channel, as it is. */
  readonly global_keyprefix?: string;
  /** Put before every channel; `true` (the default) is `/{db}.`, `false` is nothing. */
  readonly fanout_prefix?: boolean | string;
  /** `false`: one channel for all events. Default `true`: one for each routing key. */
  readonly fanout_patterns?: boolean;
  /** Between a queue's name and its priority. Default the two characters 06 and 16. */
  readonly sep?: string;
  /** Priorities that have a list of their own. Default 0, 3, 6, 9. */
  readonly priority_steps?: readonly number[];
  /** Name of the hash of messages that workers have taken. Default `unacked`. */
  readonly unacked_key?: string;
  /** Name of the sorted set beside it. Default `unacked_index`. */
  readonly unacked_index_key?: string;
  /** Name of the master of a `sentinel://` URL. */
  readonly master_name?: string;
  /** How to log in at the Sentinels. User and password of the URL are the master's. */
  readonly sentinel_kwargs?: CelerySentinelLogin;
  readonly [option: string]: unknown;
}

type Check = readonly [test: (value: unknown) => boolean, what: string];

const TEXT: Check = [(value) => typeof value === 'string', 'a string'];
const NAME: Check = [(value) => typeof value === 'string' && value !== '', 'a string that is not empty'];
const FLAG: Check = [(value) => typeof value === 'boolean', 'true or false'];
const TABLE: Check = [isObject, 'an object'];
const TLS: Check = [
  (value) => typeof value === 'boolean' || isObject(value),
  'true, false or an object with ssl_cert_reqs, ssl_ca_certs, ssl_certfile and ssl_keyfile',
];
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
  broker_transport_options: TABLE,
  result_backend_transport_options: TABLE,
  broker_use_ssl: TLS,
  redis_backend_use_ssl: TLS,
  task_default_queue: NAME,
  result_expires: [(value) => typeof value === 'number' && value >= 0, 'a number of seconds'],
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
 * Checks the settings that this source reads; `null` and absent ones count as not set, as in Python.
 *
 * @throws TypeError naming the setting and what to write
 */
export function checkSettings(settings: unknown): CelerySettings {
  if (!isObject(settings)) throw new TypeError(`celerySources: write settings: { … }, ${NAMES_HINT}.`);
  check(settings, SETTINGS, 'settings');
  for (const group of ['broker_transport_options', 'result_backend_transport_options']) {
    const options = settings[group];
    if (isObject(options)) check(options, TRANSPORT_OPTIONS, `settings.${group}`);
  }
  return settings;
}

const NAMES_HINT = "an object with Celery's own names, such as broker_transport_options";

function check(values: Readonly<Record<string, unknown>>, checks: typeof SETTINGS, path: string): void {
  for (const [name, [test, what]] of Object.entries(checks)) {
    const value = values[name];
    // The value is not shown: it may be a URL with a password.
    if (value !== undefined && value !== null && !test(value)) {
      throw new TypeError(`celerySources: ${path}.${name} must be ${what}, not ${kindOf(value)}.`);
    }
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `this ${typeof value}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTimeZone(value: unknown): boolean {
  if (typeof value !== 'string' || value === '') return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}
