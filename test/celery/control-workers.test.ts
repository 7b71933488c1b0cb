import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import { type Control, createControl } from '../../src/sources/celery/control/control.ts';
import { CONTROL_COMMANDS } from '../../src/sources/celery/control/encoder.ts';
import { createPing } from '../../src/sources/celery/control/ping.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { askEverything, namesIn } from './ask-everything.ts';

const missing = redisMissing ?? celeryMissing;

/** Workers that publish nothing by themselves, so that what is published can be counted. */
const QUIET = ['--without-heartbeat', '--without-gossip', '--without-mingle'];
const NAMES = ['prefork@a', 'solo@c', 'threads@b'];

/** A client, as far as it is needed here. */
interface Keys {
  keys(pattern: string): Promise<string[]>;
  info(section: string): Promise<string>;
}

/** One deployment: its Redis, its workers, and what asks them. */
interface Lab {
  readonly redis: RedisServer;
  readonly app: CeleryApp;
  readonly client: Keys;
  readonly control: Control;
  close(): Promise<void>;
}

async function startLab(more: CelerySettings = {}, known: () => readonly string[] = () => []): Promise<Lab> {
  const redis = await startRedis();
  const settings = { broker_url: redis.url(), result_backend: redis.url(2), ...more };
  const app = celeryApp(settings);
  const client = createClient({ url: redis.url() });
  await client.connect();
  const endpoint = brokerEndpoint(undefined, settings);
  const control = createControl({
    mailbox: createRedisMailbox(endpoint, settings),
    known,
    mayEnableEvents: true,
  });
  return {
    redis,
    app,
    client,
    control,
    async close() {
      await control.close();
      client.destroy();
      await app.close();
      await redis.close();
    },
  };
}

describe.skipIf(missing !== null)(titleUnless(missing, 'remote control of running workers'), () => {
  describe.each<{ title: string; settings: CelerySettings }>([
    { title: 'as Celery comes', settings: {} },
    {
      title: 'with a key prefix, an exchange of its own and other priorities',
      settings: {
        control_exchange: 'ctl',
        broker_transport_options: { global_keyprefix: 'shop:', priority_steps: [1, 5], sep: ':' },
      },
    },
  ])('$title', ({ settings }) => {
    let lab: Lab;
    let workers: CeleryWorker[];

    beforeAll(async () => {
      lab = await startLab(settings);
      workers = await Promise.all([
        lab.app.plainWorker('-n', 'prefork@a', '-P', 'prefork', '-c', '2', '-Q', 'q0'),
        lab.app.plainWorker('-n', 'threads@b', '-P', 'threads', '-c', '2', '-Q', 'q1'),
        lab.app.plainWorker('-n', 'solo@c', '-P', 'solo', '-Q', 'q2'),
      ]);
      await until(async () => namesIn(await lab.control.ask('ping')).length === 3);
    });

    afterAll(() => lab?.close());

    it('leaves every worker at work with every message that can be sent, and nothing in Redis', {
      timeout: 90_000,
    }, async () => {
      const pids = await pidsOf(lab.control);
      const before = (await lab.client.keys('*')).sort();
      for (let round = 0; round < 3; round += 1) {
        for (const replies of await askEverything(lab.control)) {
          expect(namesIn(replies)).toEqual(NAMES);
          expect(replies).toMatchObject({ receivers: 3, isComplete: true, errors: 0, unreadable: 0 });
          expect([...(replies?.values.values() ?? [])]).not.toContain(null);
        }
      }
      // All at once, too.
      await Promise.all(
        CONTROL_COMMANDS.map((command) => command !== 'enable_events' && lab.control.ask(command)),
      );
      expect(await pidsOf(lab.control)).toEqual(pids);
      await until(async () => (await lab.client.keys('*')).join().includes('reply') === false);
      expect((await lab.client.keys('*')).sort()).toEqual(before);
      await expectTaken(lab.app, workers);
      expect(workers.map((worker) => worker.output()).join('')).not.toMatch(/CRITICAL|ERROR|Traceback/);
    });
  });

  describe('when not all can answer', () => {
    let lab: Lab;
    let prefork: CeleryWorker;
    let before: string[];

    beforeAll(async () => {
      lab = await startLab();
      const started = await Promise.all([
        lab.app.plainWorker('-n', 'prefork@a', '-P', 'prefork', '-c', '1', '-Q', 'fast', ...QUIET),
        lab.app.plainWorker('-n', 'threads@b', '-P', 'threads', '-c', '2', '-Q', 'other', ...QUIET),
        lab.app.plainWorker('-n', 'solo@c', '-P', 'solo', '-Q', 'slow', ...QUIET),
      ]);
      prefork = started[0];
      await until(async () => namesIn(await lab.control.ask('ping')).length === 3);
      await until(async () => !(await replyKeys()));
      before = (await lab.client.keys('*')).sort();
    });

    afterAll(() => lab?.close());

    const replyKeys = async (): Promise<boolean> => (await lab.client.keys('*reply*')).length > 0;

    it('asks once for a hundred health checks, whose answer serves for a moment', async () => {
      const settings = { broker_url: lab.redis.url() };
      const endpoint = brokerEndpoint(undefined, settings);
      const control = createControl({ mailbox: createRedisMailbox(endpoint, settings), known: () => [] });
      const pingWorkers = createPing(control, createMemoryHistory());
      const count = async (): Promise<number> => {
        const info = await lab.client.info('commandstats');
        return Number(/cmdstat_publish:calls=(\d+)/.exec(info)?.[1]);
      };
      const sent = await count();
      const checks = await Promise.all(Array.from({ length: 100 }, () => pingWorkers()));
      expect(checks[99]).toEqual({ ok: true, error: null, responding: NAMES, missing: [] });
      expect(new Set(checks.map((check) => JSON.stringify(check))).size).toBe(1);
      expect(await pingWorkers()).toEqual(checks[0]);
      expect(await count()).toBe(sent + 1);
      await control.close();
    });

    it('answers without a worker that is frozen, and with it again when it goes on', async () => {
      const pid = (await pidsOf(lab.control))['threads@b'] as number;
      process.kill(pid, 'SIGSTOP');
      try {
        const first = await lab.control.ask('ping', { timeoutMs: 1000 });
        expect(namesIn(first)).toEqual(['prefork@a', 'solo@c']);
        expect(first).toMatchObject({ receivers: 3, isComplete: false });
        const second = await lab.control.ask('ping', { timeoutMs: 50_000 });
        expect(namesIn(second)).toEqual(['prefork@a', 'solo@c']);
        expect(second?.tookMs).toBeLessThan(40_000);
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await until(async () => (await lab.control.ask('ping'))?.isComplete === true);
      await until(async () => !(await replyKeys()));
      expect((await lab.client.keys('*')).sort()).toEqual(before);
    });

    it('answers without a solo worker that is busy, whose late answers leave nothing', async () => {
      await lab.app.send({ name: 'shop.slow', args: [3], queue: 'slow' });
      await until(async () => {
        const busy = await lab.control.ask('active', { timeoutMs: 150 });
        return busy?.values.has('solo@c') === false;
      });
      expect(namesIn(await lab.control.ask('stats', { timeoutMs: 150 }))).toEqual(['prefork@a', 'threads@b']);
      // It answers these two when it gets to it, to a list that nobody reads any more.
      await until(async () => !(await replyKeys()));
      await until(async () => (await lab.control.ask('ping', { timeoutMs: 150 }))?.isComplete === true);
      await until(async () => !(await replyKeys()));
      const now = (await lab.client.keys('*')).filter((key) => !key.startsWith('unacked'));
      expect(now.sort()).toEqual(before);
    });

    it('answers at once without a worker that was killed', async () => {
      await prefork.kill();
      await until(async () => (await lab.control.ask('ping', { timeoutMs: 50_000 }))?.receivers === 2);
      const replies = await lab.control.ask('ping', { timeoutMs: 50_000 });
      expect(namesIn(replies)).toEqual(['solo@c', 'threads@b']);
      expect(replies).toMatchObject({ receivers: 2, isComplete: true });
      expect(replies?.tookMs).toBeLessThan(40_000);
    });
  });
});

/**
 * Sends each worker a task, to `q0` for the first one. A worker whose mailbox was reset answers nothing and takes no
 * task any more.
 */
async function expectTaken(app: CeleryApp, workers: readonly CeleryWorker[]): Promise<void> {
  await app.send(...workers.map((_, at) => ({ name: 'shop.add', args: [1, 2], queue: `q${at}` })));
  await until(() => workers.every((worker) => /Task shop\.add\[[^\]]+\] succeeded/.test(worker.output())));
}

async function pidsOf(control: Control): Promise<Record<string, unknown>> {
  const stats = await control.ask('stats');
  return Object.fromEntries(
    [...(stats?.values ?? [])].map(([name, value]) => [name, (value as { pid: unknown }).pid]).sort(),
  );
}
