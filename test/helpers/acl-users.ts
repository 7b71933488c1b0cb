/**
 * The Redis users that a monitor may run as, with no more rights than it needs. The documentation
 * quotes these rules for database 0 without prefixes.
 */

import { escapeGlob } from '../../src/redis/acl.ts';
import {
  groupSubscription,
  resultSubscription,
} from '../../src/sources/celery/backends/redis/result-channels.ts';
import { eventSubscriptions } from '../../src/sources/celery/brokers/redis/channels.ts';
import { controlAddress } from '../../src/sources/celery/brokers/redis/control-address.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { createClient } from './redis-client.ts';

/** Which deployment a user is for. */
export interface AclScope {
  /** Number of the broker's database. Default 0. */
  readonly database?: number;
  /** Prefixes and names, as the app has them. */
  readonly settings?: CelerySettings;
}

/** Every command that reading sends. */
export const READ_COMMANDS: readonly string[] = [
  ...['ping', 'select', 'info', 'role', 'subscribe', 'psubscribe'],
  ...['dbsize', 'scan', 'exists', 'pttl', 'mget', 'strlen', 'getrange'],
  ...['llen', 'lrange', 'sscan', 'srandmember', 'hmget', 'hstrlen'],
  ...['zcard', 'zcount', 'zrange', 'zrangebyscore', 'zrevrange'],
];

/** Commands that asking workers needs besides, on the keys of replies. */
export const CONTROL_COMMANDS: readonly string[] = ['sadd', 'srem', 'del', 'brpop'];

/**
 * Rules of the user *read*: it sees every key, since queues have any names, and changes none. Needs
 * Redis 7; before, write `~*` for `%R~*`.
 */
export function readRules({ database = 0, settings = {} }: AclScope = {}): string[] {
  const channels = [
    ...eventSubscriptions(settings, database),
    resultSubscription(settings),
    groupSubscription(settings),
  ].map(({ kind, name }) => `&${kind === 'pattern' ? name : escapeGlob(name)}`);
  return [
    'resetkeys',
    '%R~*',
    'resetchannels',
    ...channels,
    '-@all',
    ...READ_COMMANDS.map((name) => `+${name}`),
  ];
}

/** Rules of the user *control*: the rights of *read*, and asking workers. It still changes nothing else. */
export function controlRules(scope: AclScope = {}): string[] {
  const { bindingKey, replyKey, channels } = controlAddress(scope.settings ?? {}, scope.database ?? 0);
  return [
    ...readRules(scope),
    `~${escapeGlob(bindingKey)}`,
    `~${replyKeys(replyKey)}`,
    ...CONTROL_COMMANDS.map((name) => `+${name}`),
    // The brackets allow publishing only there, not on the channels to which it may subscribe.
    `(+publish ${channels.map((channel) => `&${escapeGlob(channel)}`).join(' ')})`,
  ];
}

/** Every command that the BullMQ source sends. */
const BULLMQ_COMMANDS: readonly string[] = [
  ...['ping', 'select', 'info', 'client|list', 'scan', 'exists'],
  ...['get', 'hget', 'hmget', 'hkeys', 'hlen', 'hrandfield', 'hstrlen', 'llen', 'lrange', 'lindex', 'lpos'],
  ...[
    'zcard',
    'zcount',
    'zscore',
    'zrank',
    'zrevrank',
    'zrange',
    'zrevrange',
    'zrangebyscore',
    'zrevrangebyscore',
  ],
  ...['scard', 'smembers', 'srandmember', 'xrange', 'xrevrange', 'xinfo|stream', 'memory|usage'],
];

/** Rules of the user *bullmq*: it reads keys of queues. Needs Redis 7; before, write `~` for `%R~`. */
export function bullmqRules(prefix = 'bull'): string[] {
  return [
    'resetkeys',
    `%R~${escapeGlob(prefix)}:*`,
    'resetchannels',
    '-@all',
    ...BULLMQ_COMMANDS.map((name) => `+${name}`),
  ];
}

/** The keys of all askers as a pattern. */
function replyKeys(replyKey: (oid: string) => string): string {
  return replyKey('\0').split('\0').map(escapeGlob).join('*');
}

/** The password of both users. */
const ACL_PASSWORD = 'SECRET-of-user';

/** Creates the users `read`, `control` and `bullmq`; every login of the server's own stays as it is. */
export async function createAclUsers(url: string, scope: AclScope = {}): Promise<void> {
  const client = createClient({ url });
  await client.connect();
  const first = ['reset', 'on', `>${ACL_PASSWORD}`];
  await client.sendCommand(['ACL', 'SETUSER', 'read', ...first, ...readRules(scope)]);
  await client.sendCommand(['ACL', 'SETUSER', 'control', ...first, ...controlRules(scope)]);
  await client.sendCommand(['ACL', 'SETUSER', 'bullmq', ...first, ...bullmqRules()]);
  await client.close();
}

/** The URL with the login of one of these users. */
export function urlAs(user: 'read' | 'control' | 'bullmq', url: string): string {
  return url.replace('redis://', `redis://${user}:${ACL_PASSWORD}@`);
}

/** The commands that Redis refused to a user. */
export async function refusals(url: string, user: string): Promise<string[]> {
  const client = createClient({ url, RESP: 2 });
  await client.connect();
  const log = (await client.sendCommand(['ACL', 'LOG'])) as unknown as string[][];
  await client.close();
  const entries = log.map((entry) => new Map(entry.map((word, index) => [word, entry[index + 1] ?? ''])));
  return entries
    .filter((entry) => entry.get('username') === user)
    .map((entry) => `${entry.get('reason')} ${entry.get('object')}`);
}
