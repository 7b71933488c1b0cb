import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, context, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a Redis'), () => {
  it('is read over its socket file, of which the URL names the database', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor socket-'));
    const path = join(folder, 'redis.sock');
    const redis = await startRedis(
      '--unixsocket',
      path,
      '--unixsocketperm',
      '700',
      '--requirepass',
      'p@ss/w%rd',
    );
    const shown = `redis+socket://${path}`;
    const file = `${encodeURIComponent('p@ss/w%rd')}@${path.replaceAll(' ', '%20')}`;
    const sources = celerySources({
      broker: `redis+socket://:${file}?virtual_host=7`,
      backend: `socket://:${file}?virtual_host=8`,
    });
    await until(() => sources.tasks.status?.().ok === true);
    const client = createClient({ socket: { path, tls: false }, password: 'p@ss/w%rd' });
    await client.connect();
    await client.publish('/7.celeryev/task.multi', received('a'));
    await until(async () => (await stateOf(sources, 'a')) === 'RECEIVED');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    const databases = (await client.clientList()).map(({ db }) => db);
    expect(new Set(databases)).toEqual(new Set([0, 7, 8]));
    expect(await componentOf(sources, 'broker')).toMatchObject({ status: 'up', url: decodeURI(shown) });
    client.destroy();
    await redis.kill();
    rmSync(path, { force: true });
    await until(async () => (await componentOf(sources, 'broker')).status === 'down');
    await until(
      async () => (await checkBroker(sources)).error === 'The socket file of Redis does not exist.',
    );
    await redis.start();
    await until(() => sources.tasks.status?.().ok === true);
    await sources.close();
    await redis.close();
    rmSync(folder, { recursive: true });
  });

  it('beside another is read with the user, password and database of each', async () => {
    const users = (name: string): string[] =>
      `--user ${name} on >pw:${name}@/ ~* &* +@all --user default off`.split(' ');
    const [first, second] = await Promise.all([startRedis(...users('ann')), startRedis(...users('bob'))]);
    const of = (name: string, port: number, database: number): string =>
      `redis://${name}:${encodeURIComponent(`pw:${name}@/`)}@127.0.0.1:${port}/${database}`;
    const settings = { broker_url: of('ann', first.port, 3), result_backend: of('bob', second.port, 9) };
    const sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    for (const [name, { port }, database, channel, message] of [
      ['ann', first, 3, '/3.celeryev/task.multi', received('b')],
      ['bob', second, 9, 'celery-task-meta-b', '{"status": "SUCCESS", "result": 1, "task_id": "b"}'],
    ] as const) {
      const client = createClient({ url: of(name, port, 0) });
      await client.connect();
      expect(await client.publish(channel, message)).toBe(1);
      const ours = (await client.clientList()).filter(({ psub }) => psub > 0);
      expect(ours.map(({ db, user }) => [db, user])).toEqual([[database, name]]);
      client.destroy();
    }
    await until(async () => (await stateOf(sources, 'b')) === 'SUCCESS');
    expect(await checkBroker(sources)).toEqual({ ok: true, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    expect((await componentOf(sources, 'broker')).url).toBe(first.url(3));
    expect((await componentOf(sources, 'backend')).url).toBe(second.url(9));
    await sources.close();
    await Promise.all([first.close(), second.close()]);
  });
});
