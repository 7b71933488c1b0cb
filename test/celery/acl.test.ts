import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import {
  type AclScope,
  CONTROL_COMMANDS,
  controlRules,
  createAclUsers,
  READ_COMMANDS,
  readRules,
  urlAs,
} from '../helpers/acl-users.ts';
import { checkBroker, componentOf, context, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

type Client = ReturnType<typeof createClient>;

const SEPARATOR = '\x06\x16';
/** Commands that Redis lets everybody send. */
const FOR_ALL = ['auth', 'hello', 'quit', 'reset'];
/** What is allowed for some channels alone. */
const BY_CHANNEL = new Set(['subscribe', 'psubscribe']);
const READING = [...FOR_ALL, ...READ_COMMANDS].filter((name) => !BY_CHANNEL.has(name)).sort();

const scopes: [string, AclScope, string][] = [
  ['that is as Celery makes it', {}, ''],
  [
    'with prefixes and names of its own',
    {
      database: 3,
      settings: {
        broker_transport_options: { global_keyprefix: 'sh[op]:' },
        result_backend_transport_options: { global_keyprefix: 'res' },
        event_exchange: 'ev',
        control_exchange: 'ctl',
      },
    },
    'sh[op]:',
  ],
];

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis user'), () => {
  let redis: RedisServer;
  let admin: Client;
  const clients: Client[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    admin = await connect(redis.url());
  });

  afterAll(async () => {
    for (const client of clients) client.destroy();
    await redis?.close();
  });

  async function connect(url: string): Promise<Client> {
    const client: Client = createClient({ url });
    client.on('error', () => {});
    await client.connect();
    clients.push(client);
    return client;
  }

  async function clientAs(user: 'read' | 'control', scope: AclScope): Promise<Client> {
    await createAclUsers(redis.url(), scope);
    return connect(urlAs(user, redis.url(scope.database ?? 0)));
  }

  /** What of all that Redis knows this user may send, on keys that nothing is said of. */
  async function allowed(user: string): Promise<string[]> {
    const found: string[] = [];
    const names = (await admin.sendCommand(['COMMAND', 'LIST'])) as unknown as string[];
    const infos = (await admin.sendCommand(['COMMAND', 'INFO', ...names])) as unknown as [string, number][];
    for (const [name, arity] of infos) {
      const words = name.split('|');
      const rest = Array.from({ length: Math.max(Math.abs(arity) - words.length, 0) }, () => '1');
      const verdict = await admin
        .sendCommand(['ACL', 'DRYRUN', user, ...words, ...rest])
        .catch((error: unknown) => String(error));
      if (verdict === 'OK') found.push(name);
    }
    return found.sort();
  }

  it('needs the rights to what the sources send, and to nothing else', async () => {
    const folder = new URL('../../src/', import.meta.url);
    const ours = /^(?:redis|sources\/celery)\//;
    const known = new Set((await admin.sendCommand(['COMMAND', 'LIST'])) as unknown as string[]);
    // A command is written as the list that is sent, and begins with its name.
    const sent = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => ours.test(name) && name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(new URL(name, folder), 'utf8').matchAll(/\[\s*'([A-Z]+)'/g)])
      .map(([, word = '']) => word.toLowerCase())
      .filter((word) => known.has(word));
    const granted = new Set([...READ_COMMANDS, ...CONTROL_COMMANDS, 'publish']);
    // These are sent by node-redis.
    const ofClient = ['ping', 'subscribe', 'psubscribe'];
    expect([...new Set([...sent, ...ofClient])].sort()).toEqual([...granted].sort());
  });

  it('is made by the rules that are documented', () => {
    const read =
      'resetkeys %R~* resetchannels &/0.celeryev/* &celery-task-meta-* &celery-taskset-meta-* -@all +ping +select +info +role ' +
      '+subscribe +psubscribe +dbsize +scan +exists +pttl +getrange +llen +lrange +sscan ' +
      '+srandmember +hmget +hstrlen +zcard +zcount +zrange +zrangebyscore +zrevrange';
    expect(readRules().join(' ')).toBe(read);
    expect(controlRules().join(' ')).toBe(
      `${read} ~_kombu.binding.reply.celery.pidbox ~*.reply.celery.pidbox +sadd +srem +del +brpop ` +
        '(+publish &/0.celery.pidbox)',
    );
  });

  it.each(scopes)('for a deployment %s may read and listen, and nothing else', async (_, scope) => {
    await createAclUsers(redis.url(), scope);
    expect(await allowed('read')).toEqual(READING);
  });

  it.each(scopes)(
    'for a deployment %s that may ask workers changes no other key',
    async (_, scope, prefix) => {
      const exchange = scope.settings?.control_exchange ?? 'celery';
      const client = await clientAs('control', scope);
      expect(await allowed('control')).toEqual(READING);
      const set = `${prefix}_kombu.binding.reply.${exchange}.pidbox`;
      const list = `${prefix}someone.reply.${exchange}.pidbox`;
      const member = `someone${SEPARATOR}${SEPARATOR}someone.reply.${exchange}.pidbox`;
      const mailbox = `${prefix}/${scope.database ?? 0}.${exchange}.pidbox`;
      const replies: unknown[] = [];
      for (const command of [
        ['SADD', set, member],
        ['PUBLISH', mailbox, 'x'],
        ['SREM', set, member],
        ['DEL', list],
      ]) {
        replies.push(await client.sendCommand(command));
      }
      expect(replies).toEqual([1, 0, 1, 0]);
      for (const [kind, ...args] of [
        ['key', 'SADD', `${prefix}_kombu.binding.celery`, 'x'],
        ['key', 'DEL', `${prefix}celery`],
        ['key', 'BRPOP', `${prefix}celery`, '0'],
        ['channel', 'PUBLISH', `${prefix}/${scope.database ?? 0}.celeryev/worker.heartbeat`, 'x'],
        ['channel', 'PUBLISH', 'celery-task-meta-x', 'x'],
      ] as const) {
        await expect(client.sendCommand([...args])).rejects.toThrow(new RegExp(`^NOPERM .*${kind}`));
      }
      expect(CONTROL_COMMANDS.every((name) => !READ_COMMANDS.includes(name))).toBe(true);
    },
  );

  it.each([
    ['SET', 'celery', 'x'],
    ['DEL', 'celery-task-meta-a'],
    ['LPUSH', 'celery', 'x'],
    ['BRPOP', 'celery', '0'],
    ['EXPIRE', 'celery', '1'],
    ['SADD', '_kombu.binding.reply.celery.pidbox', 'x'],
    ['PUBLISH', '/0.celery.pidbox', 'x'],
    ['PUBLISH', '/0.celeryev/task.multi', 'x'],
    ['KEYS', '*'],
    ['EVAL', 'return 1', '0'],
    ['CONFIG', 'GET', 'requirepass'],
    ['ACL', 'LIST'],
    ['CLIENT', 'LIST'],
    ['MONITOR'],
    ['FLUSHALL'],
    ['SHUTDOWN'],
  ])('that reads is refused %s %s', async (...args) => {
    const client = await clientAs('read', {});
    const command = args[0]?.toLowerCase() ?? '';
    await expect(client.sendCommand([...args])).rejects.toThrow(new RegExp(`^NOPERM .*'${command}`));
    expect(await client.sendCommand(['DBSIZE'])).toBe(0);
  });

  it.each(['read', 'control'] as const)('%s is all that listening needs', async (user) => {
    const scope: AclScope = { database: 2 };
    await createAclUsers(redis.url(), scope);
    const broker = urlAs(user, redis.url(2));
    const sources = celerySources({ broker, backend: urlAs(user, redis.url(4)) });
    await until(() => sources.tasks.status?.().ok === true);
    const publisher = createClient({ url: redis.url() });
    await publisher.connect();
    await publisher.publish('/2.celeryev/task.multi', received('a'));
    await until(async () => (await stateOf(sources, 'a')) === 'RECEIVED');
    await publisher.publish('celery-task-meta-a', '{"status": "SUCCESS", "result": 1, "task_id": "a"}');
    await until(async () => (await stateOf(sources, 'a')) === 'SUCCESS');
    publisher.destroy();
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    expect((await componentOf(sources, 'broker')).url).toBe(redis.url(2));
    await sources.close();
  });

  it('that may not listen to these channels is told so', async () => {
    await createAclUsers(redis.url(), { database: 1 });
    const sources = celerySources({ broker: urlAs('read', redis.url(2)) });
    await until(async () => (await componentOf(sources, 'broker')).status === 'down');
    expect((await componentOf(sources, 'broker')).config.error).toMatch(
      /lacks a right that this monitor needs/,
    );
    await sources.close();
  });
});
