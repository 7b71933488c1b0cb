/** Finds out where else on this Redis Celery's events are published, when none arrive on our channels. */
import { aclLine } from '../../../../redis/acl.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import { findDatabases, findPrefixes, hasAnyKey, lookAt } from '../../../../redis/find-keys.ts';
import { type HeardChannels, hearChannels } from '../../../../redis/hear-channels.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { type Hint, listed, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';
import { withDatabase } from './endpoints.ts';

/**
 * Patterns that match the events of any deployment. The second one finds those with another
 * `event_exchange`. A user of Redis 7 needs these very texts in its access rules.
 */
const EVENT_PATTERNS: readonly string[] = ['*celeryev*', '*worker.heartbeat'];

/** Sets that every broker has on which workers have ever run (kombu/transport/redis.py, `_queue_bind`). */
const BINDING = '_kombu.binding.';
const BINDINGS = [`${BINDING}celery`, `${BINDING}celeryev`, `${BINDING}celery.pidbox`];

/** Maximum number of alternatives in a sentence. */
const MOST = 3;

/** Where keys of a broker were found. */
interface BrokerKeys {
  /** Our database has them under our prefix. */
  readonly isHere: boolean;
  /** Other prefixes under which our database has them. */
  readonly prefixes: readonly string[];
  /** Other databases that have them under our prefix. */
  readonly databases: readonly number[];
}

const NO_KEYS: BrokerKeys = { isHere: false, prefixes: [], databases: [] };

/**
 * Listens to all channels that may carry events and looks at names of keys, once.
 *
 * @param listenMs how long to listen, in milliseconds: workers send a heartbeat every two seconds
 */
export async function diagnoseEvents(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
  listenMs: number,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const [heard, keys] = await Promise.all([
    hearChannels(endpoint, EVENT_PATTERNS, withoutType, listenMs, signal),
    lookAt(endpoint, (reader) => findBrokerKeys(reader, endpoint, keyPrefixOf(settings), signal)),
  ]);
  const found = keys ?? NO_KEYS;
  const hint =
    channelHint(heard.channels, endpoint, settings) ??
    keyHint(found, endpoint, settings) ??
    forbiddenHint(heard, found, endpoint, settings);
  return hint === null ? [] : [hint];
}

async function findBrokerKeys(
  reader: RedisReader,
  endpoint: RedisEndpoint,
  prefix: string,
  signal: AbortSignal,
): Promise<BrokerKeys> {
  const keys = BINDINGS.map((key) => `${prefix}${key}`);
  if (await hasAnyKey(reader, keys, signal)) return { ...NO_KEYS, isHere: true };
  const prefixes = await findPrefixes(reader, BINDING, signal);
  // The exchange has another name.
  if (prefixes.includes(prefix)) return { ...NO_KEYS, isHere: true };
  const databases = prefixes.length > 0 ? [] : await findDatabases(reader, endpoint, keys, signal);
  return { isHere: false, prefixes, databases };
}

/** One name for all types of events that are published on channels of their own. */
function withoutType(channel: string): string | null {
  return channel.length > 300 ? null : channel.replace(/\/(?:worker|task)\.[^/]*$/, '/task.multi');
}

function keyPrefixOf(settings: CelerySettings): string {
  return settings.broker_transport_options?.global_keyprefix ?? '';
}

/** Evidence: other channels carry events. */
function channelHint(
  channels: readonly string[],
  endpoint: RedisEndpoint,
  settings: CelerySettings,
): Hint | null {
  const ours = eventSubscriptions(settings, endpoint.database).map(({ name }) =>
    nameOf(name.replace(/\\(.)/gs, '$1')),
  );
  const others = [...new Set(channels.map(nameOf))].filter((name) => !ours.includes(name));
  if (others.length === 0) return null;
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence:
      `Events are published on ${listed(others)}, and none on ${listed(ours)}, where this source listens. If they belong ` +
      'to this app, write its broker_url as broker, and its event_exchange and broker_transport_options as settings.',
  };
}

/** A channel without the routing key. */
function nameOf(channel: string): string {
  return channel.replace(/\/(?:\*|(?:worker|task)\.[^/]*)$/, '');
}

/** Evidence: our database has no keys of a broker under our prefix, but another prefix or database has. */
function keyHint(found: BrokerKeys, endpoint: RedisEndpoint, settings: CelerySettings): Hint | null {
  if (found.isHere) return null;
  const own = keyPrefixOf(settings);
  const here = `Database ${endpoint.database} has no Celery queues`;
  const prefixes = found.prefixes.slice(0, MOST);
  if (prefixes.length > 0) {
    const under = own === '' ? ' without a prefix' : ` under the prefix ${quoted(own)}`;
    const lines = prefixes.map(
      (other) => `settings: { broker_transport_options: { global_keyprefix: ${quoted(other)} } }`,
    );
    return {
      code: 'wrong_channel',
      component: 'broker',
      sentence: `${here}${under}, but has some under ${prefixes.map(quoted).join(', ')}. Write ${lines.join(' or ')}.`,
    };
  }
  const lines = found.databases.slice(0, MOST).map((database) => withDatabase('broker', endpoint, database));
  if (lines.length === 0) return null;
  const under = own === '' ? '' : ` under the prefix ${quoted(own)}`;
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence: `${here}${under}, but ${databasesHave(found.databases)}. Write ${lines.join(' or ')}.`,
  };
}

function databasesHave(numbers: readonly number[]): string {
  return numbers.length === 1
    ? `database ${numbers[0]} has`
    : `databases ${listed(numbers.map(String))} have`;
}

/** Evidence: nothing was found, and Redis answered NOPERM to listening on other channels. */
function forbiddenHint(
  { isForbidden }: HeardChannels,
  { isHere }: BrokerKeys,
  endpoint: RedisEndpoint,
  settings: CelerySettings,
): Hint | null {
  if (!isForbidden || isHere) return null;
  const ours = eventSubscriptions(settings, endpoint.database).map(({ name }) => name);
  return {
    code: 'missing_right',
    component: 'broker',
    sentence:
      `No event arrives on ${listed(ours)}, and this Redis user may not subscribe to other channels to find the right ` +
      "prefix and database. Compare them with the app's broker_url, or run " +
      aclLine(EVENT_PATTERNS.map((pattern) => `&${pattern}`)),
  };
}
