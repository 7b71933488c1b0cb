import { afterEach, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import { RedisError } from '../../src/redis/problems.ts';
import { createRedisMailbox } from '../../src/sources/celery/brokers/redis/mailbox.ts';
import { createControl } from '../../src/sources/celery/control/control.ts';
import type { Hint } from '../../src/sources/celery/hint.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { optionsOf, type Watch, watch } from './hints-watch.ts';

const missing = redisMissing ?? celeryMissing;

/** Sends tasks as the app's client and waits for their results. */
const SEND = `
import json, sys, shop
sent = [shop.add.delay(1, 2) for _ in range(6)]
print(json.dumps([result.get(timeout=20) for result in sent]))
`;

describe.skipIf(missing !== null)(titleUnless(missing, 'hints about a running Celery'), () => {
  const ends: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  }, 30_000);

  async function server(): Promise<RedisServer> {
    const redis = await startRedis();
    ends.push(() => redis.close());
    return redis;
  }

  function appOf(settings: CelerySettings): CeleryApp {
    const app = celeryApp({ ...settings, worker_hijack_root_logger: false });
    ends.push(() => app.close());
    return app;
  }

  function watching(options: Parameters<typeof watch>[0]): Watch {
    const watched = watch(options);
    ends.push(() => watched.close());
    return watched;
  }

  const send = (app: CeleryApp): Promise<unknown> => app.script('-c', SEND);

  it('name one setting of Celery after the other until all is shown', { timeout: 180_000 }, async () => {
    const redis = await server();
    const urls = { broker_url: redis.url(), result_backend: redis.url() };
    const watched = watching({ broker: redis.url(), backend: redis.url() });
    await until(watched.isUp);
    const beats = (): number | null => watched.observer.facts().workers.get('quiet@gamma')?.lastBeat ?? null;
    /** Runs the app as the lines say, until the condition holds. */
    async function run(
      pool: string,
      lines: readonly string[],
      condition: (sentAt: number) => boolean,
    ): Promise<Hint[]> {
      const settings = Object.fromEntries(lines.map((line) => [line.replace(/ = True$/, ''), true]));
      const app = appOf({ ...urls, ...settings });
      const worker = await app.plainWorker('-n', 'quiet@gamma', '-c', '1', '-P', pool);
      // The first heartbeat says where the count of tasks begins.
      const beats = (): number | null =>
        watched.observer.facts().workers.get('quiet@gamma')?.lastBeat ?? null;
      await until(() => beats() !== null);
      watched.observer.queues([{ name: 'celery', waiting: 0, reserved: 0, consumers: 1 }]);
      await send(app);
      const sentAt = Date.now();
      await until(() => condition(sentAt), 40_000);
      const hints = watched.details();
      await worker.stop();
      return hints;
    }
    const lines: string[] = [];
    const first = await run('prefork', lines, () => watched.codes().length >= 3);
    expect(first.map(({ code }) => code)).toEqual(['events_off', 'track_started_off', 'result_extended_off']);
    expect(first[0]?.sentence).toBe(
      'Worker quiet@gamma runs tasks but sends no events about them. Start it with -E or set ' +
        'worker_send_task_events = True.',
    );
    lines.push(first[0]?.line ?? '');
    const second = await run('solo', lines, () => watched.codes().includes('sent_events_off'));
    expect(second.map(({ code, line }) => [code, line])).toEqual([
      ['sent_events_off', 'task_send_sent_event = True'],
      ['result_extended_off_restart', 'result_extended = True'],
    ]);
    lines.push(...second.map(({ line }) => line));
    // One more reconnection forgets what had not been announced, as a restart does.
    watched.observer.connected('broker');
    const last = await run('threads', lines, (sentAt) => {
      // Long enough for events to be missed that never come.
      const isLate = (beats() ?? 0) - sentAt > 6000;
      return isLate && watched.observer.facts().sent.announced >= 6;
    });
    expect(last).toEqual([]);
  });

  it('name the settings of this source that make it hear', { timeout: 60_000 }, async () => {
    const redis = await server();
    const app = appOf({
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      broker_transport_options: { global_keyprefix: 'shop:' },
    });
    await app.worker('-n', 'w1@alpha', '-c', '1');
    const watched = watching({ broker: redis.url(0), backend: redis.url(1) });
    await until(() => watched.codes().includes('wrong_channel'));
    const line = watched.line('wrong_channel') ?? '';
    expect(line).toBe(
      "broker: 'redis://…/1', settings: { broker_transport_options: { global_keyprefix: 'shop:' } }",
    );
    await send(app);
    await until(() => watched.codes().includes('wrong_result_database'));
    const other = watched.line('wrong_result_database') ?? '';
    expect(other).toBe("backend: 'redis://…/2'");
    const mended = watching(optionsOf(`${line}, ${other}`, redis));
    await until(mended.isUp);
    await send(app);
    await until(() => mended.observer.facts().results.heard >= 6);
    expect(mended.codes().filter((code) => code.startsWith('wrong'))).toEqual([]);
  });

  it('name the rules that a Redis user lacks', { timeout: 60_000 }, async () => {
    const redis = await server();
    const admin = createClient({ url: redis.url() });
    await admin.connect();
    ends.push(() => admin.close());
    const acl = (line: string): Promise<unknown> =>
      admin.sendCommand(
        // As redis-cli reads it: what is in quotes is one word.
        [...line.replace('<user>', 'mon').matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word),
      );
    await acl('ACL SETUSER mon on >pw resetkeys resetchannels -@all');
    const app = appOf({ broker_url: redis.url(), result_backend: redis.url(), result_extended: true });
    await app.worker('-n', 'w1@alpha', '-c', '1');
    const url = redis.url().replace('//', '//mon:pw@');
    const watched = watching({ broker: url, backend: url });

    await until(() => watched.codes().length === 2);
    const lines = watched.details().map(({ line }) => line);
    expect(lines).toEqual([
      'ACL SETUSER <user> +ping +psubscribe &/0.celeryev/*',
      'ACL SETUSER <user> +ping +psubscribe &celery-task-meta-*',
    ]);
    for (const line of lines) await acl(line);
    await until(watched.isUp);
    await until(() => watched.observer.facts().events > 0);
    expect(watched.codes()).toEqual([]);

    const reader = createRedisReader('test', watched.broker);
    ends.push(() => reader.close());
    const scan = async (): Promise<unknown> => {
      try {
        await reader.command(['SCAN', '0']);
        await reader.command(['LRANGE', 'celery', '-1', '-1']);
        return watched.observer.access('results', null);
      } catch (error) {
        if (error instanceof RedisError) watched.observer.access('results', error.problem);
        return error;
      }
    };
    await scan();
    expect(watched.codes()).toEqual(['acl_results']);
    await acl(watched.line('acl_results') ?? '');
    expect(await scan()).toBeUndefined();
    expect(watched.codes()).toEqual([]);

    const control = (): ReturnType<typeof createControl> => {
      const made = createControl({
        mailbox: createRedisMailbox(watched.broker, {}),
        known: () => ['w1@alpha'],
      });
      ends.push(() => made.close());
      return made;
    };
    const refused = control();
    expect(await refused.ask('ping')).toBeNull();
    watched.observer.access('control', refused.problem());
    expect(watched.codes()).toEqual(['acl_control']);
    await acl(watched.line('acl_control') ?? '');
    const allowed = control();
    const replies = await allowed.ask('ping', { timeoutMs: 5000 });
    expect(replies?.values.has('w1@alpha')).toBe(true);
    watched.observer.access('control', allowed.problem());
    if (replies !== null) watched.observer.replies(replies);
    expect(watched.codes()).toEqual([]);
  });

  it('stand in the components until this source has switched events on', { timeout: 90_000 }, async () => {
    const redis = await server();
    const app = appOf({ broker_url: redis.url(), result_backend: redis.url() });
    const start = (enableEvents: boolean): CelerySources => {
      const sources = celerySources({ broker: redis.url(), backend: redis.url(), enableEvents });
      ends.push(async () => sources.close());
      return sources;
    };
    const sources = start(false);
    await until(() => sources.tasks.status?.().ok === true);
    await app.plainWorker('-n', 'quiet@gamma', '-c', '1');
    const hints = async (key: string): Promise<unknown> => (await componentOf(sources, key)).config.hints;
    expect(await hints('collector')).toEqual([]);
    await send(app);
    await until(async () => String(await hints('collector')).startsWith('Worker quiet@gamma runs tasks'));
    expect(await hints('collector')).toEqual([
      expect.stringMatching(/-E .*_events = True.* enableEvents: true\.$/),
    ]);
    expect(await hints('backend')).toEqual([
      expect.stringContaining('task_track_started = True'),
      expect.stringContaining('result_extended = True'),
    ]);
    expect(await hints('broker')).toEqual([]);
    start(true);
    await until(async () => {
      await send(app);
      return !String(await hints('collector')).includes('quiet@gamma');
    }, 40_000);
  });
});
