/**
 * The Redis users that a monitor may run as, with no more rights than it needs. The documentation
 * quotes these rules for database 0 without prefixes.
 */

import type { CelerySettings } from '../../src/celery.ts';
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
  ...['dbsize', 'scan', 'exists', 'pttl', 'getrange'],
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
  const { event_exchange: events = 'celeryev', result_backend_transport_options: results } = settings;
  const prefix = results?.global_keyprefix ?? '';
  // Celery adds an underscore unless there is a separator.
  const stored = `${escapeGlob(prefix)}${/^$|[:_.-]$/.test(prefix) ? '' : '_'}`;
  const channels = [
    `&${escapeGlob(brokerPrefix(settings))}/${database}.${events}/*`,
    `&${stored}celery-task-meta-*`,
    `&${stored}celery-taskset-meta-*`,
  ];
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
  const { database = 0, settings = {} } = scope;
  const exchange = `${settings.control_exchange ?? 'celery'}.pidbox`;
  const prefix = escapeGlob(brokerPrefix(settings));
  return [
    ...readRules(scope),
    `~${prefix}_kombu.binding.reply.${exchange}`,
    `~${prefix}*.reply.${exchange}`,
    ...CONTROL_COMMANDS.map((name) => `+${name}`),
    // The brackets allow publishing only there, not on the channels to which it may subscribe.
    `(+publish &${prefix}/${database}.${exchange})`,
  ];
}

/** Every command that the BullMQ source sends. */
const BULLMQ_COMMANDS: readonly string[] = [
  ...['ping', 'select', 'info', 'client|list', 'scan', 'exists'],
  ...['get', 'pttl', 'hget', 'hmget', 'hkeys', 'hlen', 'hrandfield', 'hstrlen', 'llen', 'lrange', 'lpos'],
  ...['zcard', 'zcount', 'zscore', 'zrevrank', 'zrange', 'zrevrange', 'zrangebyscore', 'zrevrangebyscore'],
  ...['scard', 'smembers', 'srandmember', 'xrange', 'xrevrange', 'xinfo|stream', 'memory|usage', 'eval_ro'],
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

/** A text as a pattern that matches itself alone. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, '\\$&');
}

const brokerPrefix = ({ broker_transport_options: options }: CelerySettings): string =>
  options?.global_keyprefix ?? '';

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
