import { beforeEach, describe, expect, it } from 'vitest';
import { controlAddress } from '../../src/sources/celery/brokers/redis/control-address.ts';
import type { Control } from '../../src/sources/celery/control/control.ts';
import type { createClient } from '../helpers/redis-client.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { useControlLab } from './control-lab.ts';

type Client = ReturnType<typeof createClient>;

const BINDING = '_kombu.binding.reply.celery.pidbox';
const SEPARATOR = '\x06\x16';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what stays of remote control'), () => {
  const lab = useControlLab();
  const { control, expectNothingLeft, listener, pong } = lab;

  it('leaves nothing behind when it is closed while it waits, nor when nobody waits any more', async () => {
    let answer: (ticket: string) => Promise<string[]> = async () => [];
    await listener((ticket) => answer(ticket));
    const asked = control();
    const pending = asked.ask('ping');
    await until(async () => (await lab.client.exists(BINDING)) === 1);
    const before = performance.now();
    await asked.close();
    expect(performance.now() - before).toBeLessThan(40_000);
    expect(await pending).toBeNull();
    expect(await lab.client.dbSize()).toBe(0);
    expect(await asked.ask('ping')).toBeNull();

    const other = control();
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    answer = async (ticket) => {
      await opened;
      return pong('w1@a')(ticket);
    };
    const leaving = new AbortController();
    const left = other.ask('ping', { signal: leaving.signal });
    const stays = other.ask('ping');
    leaving.abort();
    expect(await left).toBeNull();
    open();
    expect(await stays).toMatchObject({ receivers: 1 });
    expect(await other.ask('ping', { signal: AbortSignal.abort() })).toBeNull();
    await expectNothingLeft();
  });

  it('removes what comes behind the end of a question', async () => {
    const keys: string[] = [];
    const own = lab.client.duplicate();
    await own.connect();
    await own.subscribe('/0.celery.pidbox', (message) => {
      const { reply_to } = JSON.parse(Buffer.from(JSON.parse(message).body, 'base64').toString());
      keys.push(controlAddress({}, 0).replyKey(reply_to.routing_key));
    });
    lab.ends.push(async () => own.destroy());
    const asked = control();
    // On a busy machine a question may end before it was sent.
    await until(async () => {
      await asked.ask('ping', { timeoutMs: 50 });
      return keys.length > 0;
    });
    // As a worker does that had looked up the list before it was unbound.
    await until(async () => (await lab.client.exists(BINDING)) === 0);
    await lab.client.lPush(keys.at(-1) ?? '', 'late');
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
    await lab.client.sAdd(BINDING, others);
    for (const oid of oids) await lab.client.lPush(replyKey(oid), 'x');
    await control().ask('ping');
    await until(async () => (await lab.client.exists(replyKey(oids[0] ?? ''))) === 0);
    await until(async () => (await lab.client.sCard(BINDING)) === 3);
    expect((await lab.client.sMembers(BINDING)).sort()).toEqual(
      others.filter((text) => !text.includes('dead')).sort(),
    );
    expect(await lab.client.exists(oids.slice(1).map(replyKey))).toBe(2);
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
      return control({}, lab.redis.url().replace('redis://', 'redis://mon:pw@'));
    }

    beforeEach(async () => {
      await lab.client.aclDelUser('mon');
    });

    it('works with those that are documented, and no others', async () => {
      await lab.client.aclSetUser('mon', [...READ, ...rules]);
      await listener(pong('w1@a'));
      const asked = asUser();
      expect(await asked.ask('ping')).toMatchObject({ receivers: 1, isComplete: true });
      expect(asked.problem()).toBeNull();
      await expectNothingLeft();
      expect(await lab.client.aclLog()).toEqual([]);
    });

    it('is off without any, and says which is missing', async () => {
      await lab.client.aclSetUser('mon', READ);
      const { heard } = await listener(pong('w1@a'));
      const asked = asUser();
      expect(await asked.ask('ping')).toBeNull();
      expect(asked.problem()).toMatchObject({ code: 'NOPERM', missingRights: `+srem ~${BINDING}` });
      expect(heard).toEqual([]);
      // It does not try again and again.
      const { denied } = await statsOf(lab.client, 'srem');
      expect(await asked.ask('stats')).toBeNull();
      expect((await statsOf(lab.client, 'srem')).denied).toBe(denied);
      expect(await lab.client.dbSize()).toBe(0);
    });

    it.each(Object.entries(CONTROL))(
      'says that %s %s is missing, and leaves nothing',
      async (command, where) => {
        await lab.client.aclSetUser('mon', [...READ, ...rules, `-${command}`]);
        await listener(pong('w1@a'));
        const asked = asUser();
        expect(await asked.ask('ping')).toBeNull();
        expect(asked.problem()).toMatchObject({ code: 'NOPERM', missingRights: `+${command} ${where}` });
        await expectNothingLeft();
        expect(JSON.stringify(asked.problem())).not.toContain('pw');
      },
    );

    it('sends nothing that it cannot know to be understood', async () => {
      await lab.client.aclSetUser('mon', [...READ, ...rules, '-srandmember']);
      const asked = asUser();
      expect(await asked.ask('ping')).toBeNull();
      expect(asked.problem()?.missingRights).toBe('+srandmember %R~_kombu.binding.celery.pidbox');
      expect(await lab.client.dbSize()).toBe(0);
    });

    it('says which channel is missing', async () => {
      await lab.client.aclSetUser('mon', [...READ, ...rules, 'resetchannels', '&/1.celery.pidbox']);
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
