import { createClient } from 'redis';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { controlAddress } from '../../src/sources/celery/control/address.ts';
import {
  type Control,
  type ControlOptions,
  createControl,
} from '../../src/sources/celery/control/control.ts';
import { brokerEndpoint } from '../../src/sources/celery/endpoints.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

type Client = ReturnType<typeof createClient>;

const BINDING = '_kombu.binding.reply.celery.pidbox';
const SEPARATOR = '\x06\x16';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what stays of remote control'), () => {
  let redis: RedisServer;
  let client: Client;
  const ends: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
    return async () => {
      client.destroy();
      await redis.close();
    };
  });

  beforeEach(() => client.flushAll());

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  function control(more: Partial<ControlOptions> = {}, url = redis.url()): Control {
    const settings = more.settings ?? {};
    const endpoint = brokerEndpoint(url, settings);
    const made = createControl({ endpoint, settings, known: () => [], ...more });
    ends.push(() => made.close());
    return made;
  }

  /** Something that hears messages as a worker does; `answer` makes the elements of the reply list. */
  async function listener(
    answer: (ticket: string, method: string) => string[],
    settings: CelerySettings = {},
  ): Promise<{ heard: string[] }> {
    const heard: string[] = [];
    const own = client.duplicate();
    await own.connect();
    const address = controlAddress(settings, 0);
    await own.pSubscribe([...address.channels], async (message) => {
      const { method, ticket, reply_to } = JSON.parse(
        Buffer.from(JSON.parse(message).body, 'base64').toString(),
      );
      heard.push(method);
      for (const reply of answer(ticket, method))
        await client.lPush(address.replyKey(reply_to.routing_key), reply);
    });
    ends.push(async () => own.destroy());
    return { heard };
  }

  function reply(ticket: string, body: object): string {
    return JSON.stringify({
      body: Buffer.from(JSON.stringify(body)).toString('base64'),
      'content-type': 'application/json',
      headers: { ticket },
      properties: { body_encoding: 'base64' },
    });
  }

  const pong = (name: string) => (ticket: string) => [reply(ticket, { [name]: { ok: 'pong' } })];

  /** Once no question is asked any more, nothing is in Redis. */
  async function expectNothingLeft(): Promise<void> {
    await until(async () => (await client.dbSize()) === 0);
  }

  it('leaves nothing behind when it is closed while it waits, nor when nobody waits any more', async () => {
    await listener(() => []);
    const asked = control();
    const pending = asked.ask('ping', { timeoutMs: 15_000 });
    await until(async () => (await client.exists(BINDING)) === 1);
    const before = performance.now();
    await asked.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(await pending).toBeNull();
    expect(await client.dbSize()).toBe(0);
    expect(await asked.ask('ping')).toBeNull();

    const other = control();
    const leaving = new AbortController();
    const left = other.ask('ping', { timeoutMs: 500, signal: leaving.signal });
    const stays = other.ask('ping');
    leaving.abort();
    expect(await left).toBeNull();
    expect(await stays).toMatchObject({ receivers: 1 });
    expect(await other.ask('ping', { signal: AbortSignal.abort() })).toBeNull();
    await expectNothingLeft();
  });

  it('removes what comes behind the end of a question', async () => {
    const keys: string[] = [];
    const own = client.duplicate();
    await own.connect();
    await own.subscribe('/0.celery.pidbox', (message) => {
      const { reply_to } = JSON.parse(Buffer.from(JSON.parse(message).body, 'base64').toString());
      keys.push(controlAddress({}, 0).replyKey(reply_to.routing_key));
    });
    ends.push(async () => own.destroy());
    const asked = control();
    await asked.ask('ping', { timeoutMs: 50 });
    // As a worker does that had looked up the list before it was unbound.
    await until(async () => (await client.exists(BINDING)) === 0);
    await client.lPush(keys[0] ?? '', 'late');
    await expectNothingLeft();
  });

  it('removes what a process left that ended while it waited, and nothing else', async () => {
    const { member, replyKey } = controlAddress({}, 0);
    const hours = 3_600_000;
    const oids = [
      `express-task-monitor.${(Date.now() - 2 * hours).toString(36)}.dead`,
      `express-task-monitor.${Date.now().toString(36)}.alive`,
      'a8f0c1de-0000-4000-8000-000000000000',
    ];
    const others = [`express-task-monitor.x${SEPARATOR}odd`, ...oids.map(member)];
    await client.sAdd(BINDING, others);
    for (const oid of oids) await client.lPush(replyKey(oid), 'x');
    await control().ask('ping');
    await until(async () => (await client.exists(replyKey(oids[0] ?? ''))) === 0);
    await until(async () => (await client.sCard(BINDING)) === 3);
    expect((await client.sMembers(BINDING)).sort()).toEqual(
      others.filter((text) => !text.includes('dead')).sort(),
    );
    expect(await client.exists(oids.slice(1).map(replyKey))).toBe(2);
  });

  describe('by a user with few rights', () => {
    const READ = ['on', '>pw', 'resetkeys', 'resetchannels', '-@all', '+@read', '+ping', '%R~*'];
    const CONTROL: Record<string, string> = {
      publish: '&/0.celery.pidbox',
      sadd: `~${BINDING}`,
      srem: `~${BINDING}`,
      del: '~*.reply.celery.pidbox',
      brpop: '~*.reply.celery.pidbox',
    };
    const rules = Object.entries(CONTROL).flatMap(([command, where]) => [`+${command}`, where]);

    function asUser(): Control {
      return control({}, redis.url().replace('redis://', 'redis://mon:pw@'));
    }

    beforeEach(async () => {
      await client.aclDelUser('mon');
    });

    it('works with those that are documented, and no others', async () => {
      await client.aclSetUser('mon', [...READ, ...rules]);
      await listener(pong('w1@a'));
      const asked = asUser();
      expect(await asked.ask('ping')).toMatchObject({ receivers: 1, isComplete: true });
      expect(asked.problem()).toBeNull();
      await expectNothingLeft();
      expect(await client.aclLog()).toEqual([]);
    });

    it('is off without any, and says which is missing', async () => {
      await client.aclSetUser('mon', READ);
      const { heard } = await listener(pong('w1@a'));
      const asked = asUser();
      expect(await asked.ask('ping')).toBeNull();
      expect(asked.problem()).toMatchObject({ code: 'NOPERM', missingRights: `+srem ~${BINDING}` });
      expect(heard).toEqual([]);
      // It does not try again and again.
      const { denied } = await statsOf(client, 'srem');
      expect(await asked.ask('stats')).toBeNull();
      expect((await statsOf(client, 'srem')).denied).toBe(denied);
      expect(await client.dbSize()).toBe(0);
    });

    it.each(Object.entries(CONTROL))(
      'says that %s %s is missing, and leaves nothing',
      async (command, where) => {
        await client.aclSetUser('mon', [...READ, ...rules, `-${command}`]);
        await listener(pong('w1@a'));
        const asked = asUser();
        expect(await asked.ask('ping')).toBeNull();
        expect(asked.problem()).toMatchObject({ code: 'NOPERM', missingRights: `+${command} ${where}` });
        await expectNothingLeft();
        expect(JSON.stringify(asked.problem())).not.toContain('pw');
      },
    );

    it('sends nothing that it cannot know to be understood', async () => {
      await client.aclSetUser('mon', [...READ, ...rules, '-srandmember']);
      const asked = asUser();
      expect(await asked.ask('ping')).toBeNull();
      expect(asked.problem()?.missingRights).toBe('+srandmember %R~_kombu.binding.celery.pidbox');
      expect(await client.dbSize()).toBe(0);
    });

    it('says which channel is missing', async () => {
      await client.aclSetUser('mon', [...READ, ...rules, 'resetchannels', '&/1.celery.pidbox']);
      const asked = asUser();
      expect(await asked.ask('ping')).toBeNull();
      expect(asked.problem()?.missingRights).toBe('+publish &/0.celery.pidbox');
      await expectNothingLeft();
    });
  });
});

/** How often a command was refused. */
async function statsOf(client: Client, command: string): Promise<{ denied: number }> {
  const info = await client.info('commandstats');
  return { denied: Number(new RegExp(`cmdstat_${command}:.*rejected_calls=(\\d+)`).exec(info)?.[1] ?? 0) };
}
