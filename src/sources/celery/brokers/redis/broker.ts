import type { RedisEndpoint } from '../../../../redis/connection.ts';
import {
  findDatabases,
  findPrefixes,
  type HeardChannels,
  hasAnyKey,
  hearChannels,
  lookAt,
} from '../../../../redis/diagnosis.ts';
import {
  aclLine,
  describeError,
  escapeGlob,
  READ_RULES,
  redisError,
  subscriptionAcl,
} from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import { evictionHint, INFO_HIDDEN, infoOf, type ServerInfo, versionOf } from '../../../../redis/replies.ts';
import type { Broker, BrokerAccess } from '../../broker.ts';
import { type Hint, listed, quoted } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { withDatabase } from './endpoints.ts';
import { createRedisEvents, eventSubscriptions } from './events.ts';
import { createRedisMailbox } from './mailbox.ts';
import { controlAddress } from './pidbox.ts';
import { createRedisQueueReader } from './queues/queue-reader.ts';

/** A broker on Redis. */
export function createRedisBroker({
  endpoint,
  reader,
  settings,
  queues,
}: {
  readonly endpoint: RedisEndpoint;
  /** For commands. It may be shared with a result backend in the same database, and is not closed here. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
  /** Names of queues that the host gives. */
  readonly queues: readonly string[];
}): Broker {
  const events = createRedisEvents(endpoint, settings);
  const control = createRedisMailbox(endpoint, settings);
  const { check, server } = createRedisCheck(reader);
  return {
    events,
    control,
    queues: createRedisQueueReader(reader, settings, queues),
    describe: () => ({
      url: endpoint.url,
      config: {
        transport: 'redis',
        database: endpoint.database,
        version: versionOf(server() ?? new Map()),
        maxmemory_policy: policyOf(server()),
        // Only the names, because the values may be passwords of Sentinels.
        transport_options: Object.keys(settings.broker_transport_options ?? {}),
      },
    }),
    visibilityMs: visibilityMs(settings),
    check,
    hints: () => serverHints(server()),
    deniedHint: (access) => deniedHint(access, settings, endpoint.database),
    diagnose: (signal) => diagnoseEvents(endpoint, settings, signal),
    async close() {
      await Promise.all([events.close(), control.close()]);
    },
  };
}

/** Seconds in kombu's own terms, an hour by default (kombu/transport/redis.py). */
function visibilityMs({ broker_transport_options: options }: CelerySettings): number {
  const seconds = options?.visibility_timeout;
  return 1_000 * (typeof seconds === 'number' && seconds > 0 ? seconds : 3_600);
}

/** The hint for a Redis user who lacks a right, with the command that grants it. */
function deniedHint(access: BrokerAccess, settings: CelerySettings, database: number): Hint {
  if (access === 'writes') return READ_ONLY;
  const { may, rules } = rightFor(access, settings, database);
  return {
    code: 'missing_right',
    component: 'broker',
    sentence: `This Redis user may not ${may}. Run ${rules}`,
  };
}

function rightFor(
  access: Exclude<BrokerAccess, 'writes'>,
  settings: CelerySettings,
  database: number,
): { readonly may: string; readonly rules: string } {
  const read = aclLine(READ_RULES);
  switch (access) {
    case 'events':
      return {
        may: "subscribe to Celery's events",
        rules: subscriptionAcl(eventSubscriptions(settings, database), database),
      };
    case 'queues':
      return { may: 'read the queues, so waiting tasks are not shown', rules: read };
    case 'schedules':
      return { may: 'read the keys of redbeat, so its schedules are not shown', rules: read };
    case 'control':
      return {
        may: 'send requests to workers, so their pool, queues and registered tasks are not shown',
        rules: aclLine(controlRules(settings, database)),
      };
  }
}

const READ_ONLY: Hint = {
  code: 'broker_read_only',
  component: 'broker',
  sentence:
    'The broker is a read-only replica: clients cannot send tasks, and workers cannot take them. Use the address of its ' +
    'master, or promote it, which discards data that it has not replicated yet: REPLICAOF NO ONE.',
};

/** Asking workers needs a channel to publish on, and a list that receives the replies. */
function controlRules(settings: CelerySettings, database: number): string[] {
  const { bindingKey, replyKey, channels } = controlAddress(settings, database);
  const prefix = settings.broker_transport_options?.global_keyprefix ?? '';
  return [
    `~${escapeGlob(bindingKey)}`,
    `~${escapeGlob(prefix)}${replyKey('*').slice(prefix.length)}`,
    ...['+sadd', '+srem', '+del', '+brpop', '+sscan', '+srandmember'],
    // The brackets allow PUBLISH on these channels only, and not on those that the user may subscribe to.
    `(+publish ${channels.map((channel) => `&${escapeGlob(channel)}`).join(' ')})`,
  ];
}

/** Queues and reserved messages never expire, so that only these policies drop them. */
const DROPS_QUEUES = /^allkeys-/;

function serverHints(server: ServerInfo | null): readonly Hint[] {
  if (server === null) return [{ code: 'missing_right', component: 'broker', sentence: INFO_HIDDEN }];
  const policy = policyOf(server) ?? '';
  if (!DROPS_QUEUES.test(policy)) return [];
  return [{ code: 'eviction_policy', component: 'broker', sentence: evictionHint(policy, 'waiting tasks') }];
}

function policyOf(server: ServerInfo | null): string | null {
  return server?.get('maxmemory_policy') ?? null;
}

/** Asks nothing before the first check. */
function createRedisCheck(reader: Pick<RedisReader, 'outcomes'>) {
  let known: ServerInfo | null = new Map();
  return {
    /**
     * Requests a sign of life, and whether Redis accepts writes: a master that was made a replica keeps its connections, so
     * nothing else shows it. Nothing is written. A user who may not send INFO gets only the sign of life.
     *
     * @returns what is wrong; a read-only replica has the code `READONLY`
     */
    async check(signal: AbortSignal) {
      try {
        const commands = [['PING'], ['INFO', 'replication'], ['INFO', 'server'], ['INFO', 'memory']];
        const [ping, replication, server, memory] = await reader.outcomes(commands, { signal });
        if (ping?.problem) return ping.problem;
        const isRefused = server?.problem?.code === 'NOPERM';
        known = isRefused ? null : new Map([...infoOf(server?.reply), ...infoOf(memory?.reply)]);
        return isReadOnlyReplica(infoOf(replication?.reply)) ? redisError('READONLY').problem : null;
      } catch (error) {
        return describeError(error);
      }
    },
    /** What INFO says about the server and its memory: no fields before the first check; `null`: this user may not run it. */
    server: () => known,
  };
}

function isReadOnlyReplica(info: ServerInfo): boolean {
  return info.get('role') === 'slave' && info.get('slave_read_only') !== '0';
}

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
 * Listens to all channels that may carry events and looks at names of keys, once, when none arrive on our channels.
 */
async function diagnoseEvents(
  endpoint: RedisEndpoint,
  settings: CelerySettings,
  signal: AbortSignal,
): Promise<readonly Hint[]> {
  const [heard, keys] = await Promise.all([
    hearChannels(endpoint, EVENT_PATTERNS, withoutType, signal),
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
