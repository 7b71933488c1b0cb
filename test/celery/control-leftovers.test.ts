import { beforeEach, describe, expect, it } from 'vitest';
import type { CelerySources } from '../../src/celery.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import {
  controlError,
  MAILBOX,
  ping,
  pong,
  REPLY_BINDING,
  replyKey,
  SEPARATOR,
  untilResponding,
  useControlLab,
} from './control-lab.ts';

const member = (oid: string): string => `${oid}${SEPARATOR}${SEPARATOR}${replyKey(oid)}`;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'what stays of remote control'), () => {
  const lab = useControlLab();
  const { open, expectNothingLeft, listener } = lab;

  it('is nothing when it is closed while it waits', async () => {
    await listener(() => []);
    const sources = await open();
    const pending = ping(sources);
    await until(async () => (await lab.client.exists(REPLY_BINDING)) === 1);
    await sources.close();
    expect(await pending).toMatchObject({ ok: false });
    expect(await lab.client.dbSize()).toBe(0);
    expect(await ping(sources)).toMatchObject({ ok: false, responding: [] });
  });

  it('is nothing when nobody waits any more, which ends the wait of no other', async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await listener(async (request) => {
      await answered;
      return pong('w1@a')(request);
    });
    const sources = await open();
    const leaving = new AbortController();
    const left = sources.health.checkWorkers?.({ signal: leaving.signal, ping: true });
    const stays = ping(sources);
    leaving.abort();
    expect(await left).toMatchObject({ responding: [] });
    answer();
    await stays;
    await untilResponding(sources, 'w1@a');
    await expectNothingLeft();
  });

  it('is not what comes behind the end of a question', async () => {
    const { heard } = await listener(() => []);
    const sources = await open();
    await ping(sources);
    await until(async () => heard.length > 0 && (await lab.client.exists(REPLY_BINDING)) === 0);
    // As a worker does that had looked up the list before it was unbound.
    await lab.client.lPush(replyKey(heard.at(-1)?.reply_to.routing_key ?? ''), 'late');
    await expectNothingLeft();
  });

  it('is removed where a process left it that ended while it waited, and nothing else', async () => {
    const hours = 3_600_000;
    const oids = [
      `express-task-monitor.${(Date.now() - 2 * hours).toString(36)}.dead`,
      `express-task-monitor.${Date.now().toString(36)}.alive`,
      'a8f0c1de-0000-4000-8000-000000000000',
    ];
    const odd = [
      `express-task-monitor.x${SEPARATOR}odd`,
      '',
      'o1',
      `o1${SEPARATOR}${SEPARATOR}${replyKey('o2')}`,
    ];
    const others = [...odd, ...oids.map(member)];
    await lab.client.sAdd(REPLY_BINDING, others);
    for (const oid of oids) await lab.client.lPush(replyKey(oid), 'x');
    await ping(await open());
    await until(async () => (await lab.client.exists(replyKey(oids[0] ?? ''))) === 0);
    await until(async () => (await lab.client.sCard(REPLY_BINDING)) === others.length - 1);
    expect((await lab.client.sMembers(REPLY_BINDING)).sort()).toEqual(
      others.filter((text) => !text.includes('dead')).sort(),
    );
    expect(await lab.client.exists(oids.slice(1).map(replyKey))).toBe(2);
  });

  describe('by a user with few rights', () => {
    const LISTEN = ['+subscribe', '+psubscribe', '&/0.celeryev/*'];
    const READ = ['on', '>S3CRET', 'resetkeys', 'resetchannels', '-@all', '+@read', '+ping', '+info', '%R~*'];
    const CONTROL: Readonly<Record<string, string>> = {
      publish: `&${MAILBOX}`,
      sadd: `~${REPLY_BINDING}`,
      srem: `~${REPLY_BINDING}`,
      del: '~*.reply.celery.pidbox',
      brpop: '~*.reply.celery.pidbox',
    };
    const rules = Object.entries(CONTROL).flatMap(([command, where]) => [`+${command}`, where]);

    const openAs = (): Promise<CelerySources> =>
      open({ broker: lab.redis.url().replace('redis://', 'redis://mon:S3CRET@') });

    /** The rules that the hint tells to run, once a right is missed. */
    async function rulesOfHint(sources: CelerySources): Promise<string[]> {
      await until(async () => {
        await ping(sources);
        return (await controlError(sources)) !== null;
      });
      const { hints } = (await componentOf(sources, 'broker')).config;
      const components = await sources.components.listComponents(context);
      expect(JSON.stringify(components)).not.toContain('S3CRET');
      const [, line = ''] = /Run ACL SETUSER <user> (.*)$/.exec(String(hints)) ?? [];
      return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    }

    beforeEach(async () => {
      await lab.client.aclDelUser('mon');
      await lab.client.aclLogReset();
    });

    it('works with those that are documented, and no others', async () => {
      await lab.client.aclSetUser('mon', [...READ, ...LISTEN, ...rules]);
      await listener(pong('w1@a'));
      const sources = await openAs();
      await untilResponding(sources, 'w1@a');
      expect(await controlError(sources)).toBeNull();
      await expectNothingLeft();
      expect(await lab.client.aclLog()).toEqual([]);
    });

    it('is off without any, and does not try again and again', async () => {
      await lab.client.aclSetUser('mon', [...READ, ...LISTEN]);
      const { heard } = await listener(pong('w1@a'));
      const sources = await openAs();
      expect(await rulesOfHint(sources)).not.toEqual([]);
      const denied = await deniedOf('srem');
      await ping(sources);
      await sources.workers.listWorkers(context);
      expect(await deniedOf('srem')).toBe(denied);
      expect(heard).toEqual([]);
      expect(await lab.client.dbSize()).toBe(0);
    });

    it.each([
      ...Object.keys(CONTROL).map((command) => `-${command}`),
      // Nothing is sent that cannot be known to be understood.
      '-srandmember',
      'resetchannels &/0.celeryev/* &/1.celery.pidbox',
    ])('with %s leaves nothing, and works once what the hint says is done', async (change) => {
      await lab.client.aclSetUser('mon', [...READ, ...LISTEN, ...rules, ...change.split(' ')]);
      await listener(pong('w1@a'));
      const granted = await rulesOfHint(await openAs());
      await expectNothingLeft();
      await lab.client.aclSetUser('mon', granted);
      // After a refusal, the first source pauses for a minute.
      const again = await openAs();
      await untilResponding(again, 'w1@a');
      expect(await controlError(again)).toBeNull();
      await expectNothingLeft();
    });

    /** How often a command was refused. */
    async function deniedOf(command: string): Promise<number> {
      const info = await lab.client.info('commandstats');
      return Number(new RegExp(`cmdstat_${command}:.*rejected_calls=(\\d+)`).exec(info)?.[1] ?? 0);
    }
  });
});
