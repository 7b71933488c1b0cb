import { aclLine, escapeGlob, READ_RULES, subscriptionAcl } from '../../../../redis/acl.ts';
import type { RedisEndpoint } from '../../../../redis/endpoint.ts';
import { describeError, type RedisProblem, redisError } from '../../../../redis/problems.ts';
import type { RedisReader } from '../../../../redis/reader.ts';
import {
  evictionHint,
  INFO_HIDDEN,
  infoOf,
  type ServerInfo,
  versionOf,
} from '../../../../redis/server-info.ts';
import type { Broker, BrokerAccess } from '../../broker.ts';
import type { Hint } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';
import { diagnoseEvents } from './diagnose.ts';
import { createRedisEvents } from './events.ts';
import { createRedisMailbox } from './mailbox.ts';
import { controlAddress } from './pidbox.ts';
import { createRedisQueueReader } from './queues/queue-reader.ts';

/** How long a diagnosis listens, in milliseconds: workers send a heartbeat every two seconds. */
const LISTEN_MS = 8000;

/** Parameters of a broker on Redis. */
interface RedisBrokerOptions {
  readonly endpoint: RedisEndpoint;
  /** For commands. It may be shared with a result backend in the same database, and is not closed here. */
  readonly reader: RedisReader;
  readonly settings: CelerySettings;
  /** Names of queues that the host gives. */
  readonly queues: readonly string[];
}

/** A broker on Redis. */
export function createRedisBroker({ endpoint, reader, settings, queues }: RedisBrokerOptions): Broker {
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
    diagnose: (signal) => diagnoseEvents(endpoint, settings, LISTEN_MS, signal),
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

/** Checks, and remembers which server answered. */
interface RedisCheck {
  /**
   * Requests a sign of life, and whether Redis accepts writes: a master that was made a replica keeps its connections, so
   * nothing else shows it. Nothing is written. A user who may not send INFO gets only the sign of life.
   *
   * @returns what is wrong; a read-only replica has the code `READONLY`
   */
  check(signal: AbortSignal): Promise<RedisProblem | null>;
  /** What INFO says about the server and its memory: no fields before the first check; `null`: this user may not run it. */
  server(): ServerInfo | null;
}

/** Asks nothing before the first check. */
function createRedisCheck(reader: Pick<RedisReader, 'outcomes'>): RedisCheck {
  let known: ServerInfo | null = new Map();
  return {
    async check(signal) {
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
    server: () => known,
  };
}

function isReadOnlyReplica(info: ServerInfo): boolean {
  return info.get('role') === 'slave' && info.get('slave_read_only') !== '0';
}
