import { wrongOption } from '../../../../check-options.ts';
import { addressOf, type ClientAddress } from '../../../../redis/client.ts';
import type { RedisEndpoint } from '../../../../redis/connection.ts';
import { type CeleryRedisClient, clientsOf, duplicatesOf } from '../../../../redis/node-redis.ts';
import { isDuplicable } from '../../../../redis/on-demand-reader.ts';
import {
  displaySentinelUrl,
  mastersOf,
  parseSentinelUrl,
  type SentinelContext,
} from '../../../../redis/sentinel.ts';
import { displayUrl, isRedisUrl, isSentinelUrl, parseRedisUrl } from '../../../../redis/urls.ts';
import { requirePackage } from '../../../../server-problems.ts';
import { schemeOf } from '../../../../server-urls.ts';
import { type TlsParameters, tlsSetting } from '../../../../tls.ts';
import type { CelerySettings } from '../../settings.ts';

/** The Redis endpoints of a deployment. */
export interface DeploymentEndpoints {
  readonly broker: RedisEndpoint | null;
  /** The scheme of a broker that is not Redis, such as `amqp`. */
  readonly foreignBroker: string | null;
  readonly backend: RedisEndpoint | null;
  /** The scheme of a result backend that is not Redis; `null` without one. */
  readonly foreignBackend: string | null;
}

/** The transports of kombu that are not Redis (kombu/transport/__init__.py). */
const FOREIGN =
  /^(?:(?:py)?amqps?|librabbitmq|sqs|sqla|sqlalchemy|mongodb|zookeeper|memory|filesystem|consul|etcd|qpid|pyro|slmq|azurestoragequeues|azureservicebus|kafka|confluentkafka|gcpubsub)[+:]/i;

/** The options and settings of the broker or of the result backend. */
interface ServerSettings {
  readonly option: 'broker' | 'backend';
  readonly setting: string;
  readonly configured: string | undefined;
  readonly transport: 'broker_transport_options' | 'result_backend_transport_options';
  readonly ssl: 'broker_use_ssl' | 'redis_backend_use_ssl';
}

/**
 * Resolves broker and result backend. If one of them is not Redis, only the other one is read.
 *
 * @param broker the option as given
 * @param backend the option as given; `null`: do not read it
 * @param hasSqlResults whether results are read from a database of the app, so that there is no other result backend
 * @throws TypeError that says what to write; it never contains a URL
 */
export function deploymentEndpoints(
  broker: unknown,
  backend: unknown,
  settings: CelerySettings,
  hasSqlResults = false,
): DeploymentEndpoints {
  const names = brokerSettings(settings);
  const foreign = foreignBroker(broker, names);
  const results = backendEndpoint(hasSqlResults ? null : backend, settings);
  if (foreign === null) {
    const endpoint = endpointOf(broker ?? undefined, names, settings);
    if (endpoint !== null) return { broker: endpoint, foreignBroker: null, ...results };
    throw new TypeError("celerySources: 'broker' is missing. Write broker: 'redis://host:6379/0'.");
  }
  if (results.backend !== null || hasSqlResults)
    return { broker: null, foreignBroker: foreign.scheme, ...results };
  throw new TypeError(
    `celerySources: '${foreign.option}' begins with ${foreign.scheme}:, and there is no result backend in Redis. ` +
      "This source reads Redis and RabbitMQ. If results are stored in a Redis, write backend: 'redis://host:6379/0'.",
  );
}

function foreignBroker(
  broker: unknown,
  { setting, configured }: ServerSettings,
): { scheme: string; option: string } | null {
  const isOption = broker !== undefined && broker !== null;
  const url = isOption ? broker : configured;
  if (typeof url !== 'string' || isReadable(url)) return null;
  const scheme = schemeOf(url).slice(0, -1);
  // Settings may name any transport. In the option, an unknown scheme is a typing error.
  if (scheme === '' || (isOption && !FOREIGN.test(url.trim()))) return null;
  return { scheme, option: isOption ? 'broker' : setting };
}

/**
 * Resolves the result backend. If the settings name one that is not Redis, it is only reported. If the option
 * does, that is an error.
 *
 * @throws TypeError that says what to write
 */
export function backendEndpoint(
  backend: unknown,
  settings: CelerySettings,
): { backend: RedisEndpoint | null; foreignBackend: string | null } {
  const configured = settings.result_backend ?? undefined;
  if (backend === null) return { backend: null, foreignBackend: null };
  if (backend === undefined && configured !== undefined && !isReadable(configured)) {
    const scheme = /^[\w+.-]+/.exec(configured)?.[0] ?? '';
    return { backend: null, foreignBackend: scheme === '' || scheme === 'disabled' ? null : scheme };
  }
  const names: ServerSettings = {
    option: 'backend',
    setting: 'settings.result_backend',
    configured,
    transport: 'result_backend_transport_options',
    ssl: 'redis_backend_use_ssl',
  };
  return { backend: endpointOf(backend, names, settings), foreignBackend: null };
}

function brokerSettings(settings: CelerySettings): ServerSettings {
  const urls = settings.broker_url ?? undefined;
  return {
    option: 'broker',
    setting: 'settings.broker_url',
    configured: typeof urls === 'string' ? urls : urls?.join(';'),
    transport: 'broker_transport_options',
    ssl: 'broker_use_ssl',
  };
}

function endpointOf(given: unknown, names: ServerSettings, settings: CelerySettings): RedisEndpoint | null {
  const { option, setting, configured } = names;
  if (given !== undefined && typeof given !== 'string') {
    return clientEndpoint(checkClient(given, option), configured);
  }
  const url = given ?? configured;
  if (url === undefined) return null;
  const endpoint = endpointOfUrl(url, given === undefined ? setting : option, names, settings);
  requirePackage('celerySources', 'redis');
  return endpoint;
}

/**
 * The Redis of a URL.
 *
 * @throws TypeError that says what to write; it never contains the URL
 */
export function urlEndpoint(url: string, option: string, ssl: TlsParameters | null = null): RedisEndpoint {
  const address = parseRedisUrl(url, option, ssl);
  const { database, ...server } = address;
  return { open: clientsOf(address), server: JSON.stringify(server), database, url: displayUrl(address) };
}

function endpointOfUrl(
  url: string,
  option: string,
  names: ServerSettings,
  settings: CelerySettings,
): RedisEndpoint {
  const ssl = tlsSetting(settings[names.ssl], `settings.${names.ssl}`);
  if (!isSentinelUrl(url)) return urlEndpoint(url, option, ssl);
  const transport = { option: `settings.${names.transport}`, values: settings[names.transport] ?? {} };
  return sentinelEndpoint(url, { option, transport, ssl });
}

/**
 * The master behind Sentinels.
 *
 * @throws TypeError that says what to write; it never contains the URL
 */
export function sentinelEndpoint(url: string, context: SentinelContext): RedisEndpoint {
  const address = parseSentinelUrl(url, context);
  const { database, ...server } = address;
  return {
    open: mastersOf(address),
    server: JSON.stringify(server),
    database,
    url: displaySentinelUrl(address),
  };
}

function isReadable(url: string): boolean {
  return isRedisUrl(url) || isSentinelUrl(url);
}

/** @param url the URL of the same Redis in the app's configuration, perhaps as seen from another network */
function clientEndpoint(client: CeleryRedisClient, url: string | undefined): RedisEndpoint {
  const options = (client.options ?? {}) as {
    database?: unknown;
    socket?: ClientAddress;
  };
  const own = typeof options.database === 'number' ? options.database : 0;
  const database = (url === undefined ? null : databaseOf(url)) ?? own;
  return {
    open: duplicatesOf(client),
    server: client,
    database,
    url: addressOf({ ...options.socket, db: own }),
  };
}

/** @throws TypeError that says what to write */
function checkClient(value: unknown, option: string): CeleryRedisClient {
  if (isDuplicable(value)) return value;
  const redis =
    'a URL such as redis://host:6379/0, or a client made by createClient() of the package redis, version 5 or 6';
  const amqp = 'or a connection made by connect() of amqplib, or a function that makes one';
  throw wrongOption('celerySources', option, option === 'broker' ? `${redis}, ${amqp}` : redis, value);
}

/** The database number in a URL of the configuration. Clients of Sentinels do not reveal theirs. */
function databaseOf(url: string): number | null {
  if (isRedisUrl(url)) return parseRedisUrl(url, 'settings').database;
  const digits = /^sentinel:\/\/[^/;]*\/(\d{1,6})\b/i.exec(url)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The option to write for the same Redis with another database, without host and password. */
export function withDatabase(
  option: 'broker' | 'backend',
  endpoint: RedisEndpoint,
  database: number,
): string {
  // `server` is a string for a URL, and the client itself for a client of the host.
  return typeof endpoint.server === 'string'
    ? `${option}: 'redis://…/${database}'`
    : `${option}: createClient({ url: 'redis://…/${database}' })`;
}
