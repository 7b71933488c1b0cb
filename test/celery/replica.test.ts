import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Component } from '../../src/model.ts';
import { context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'a master that was made a replica'), () => {
  let master: RedisServer;
  let demoted: RedisServer;
  let sources: CelerySources;

  beforeAll(async () => {
    [master, demoted] = await Promise.all([startRedis(), startRedis()]);
    sources = celerySources({ broker: demoted.url(0), backend: demoted.url(1) });
    await until(() => sources.tasks.status?.().ok === true);
  });

  afterAll(async () => {
    await sources?.close();
    await Promise.all([master?.close(), demoted?.close()]);
  });

  async function replicate(...target: string[]): Promise<void> {
    const client = createClient({ url: demoted.url() });
    client.on('error', () => {});
    await client.connect();
    await client.sendCommand(['REPLICAOF', ...target]);
    client.destroy();
  }

  async function component(key: string): Promise<Component | undefined> {
    return (await sources.components.listComponents(context)).find((one) => one.key === key);
  }

  it('fails the check of the broker, with a hint, until it is a master again', async () => {
    expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
    await replicate('127.0.0.1', String(master.port));
    const error = 'This Redis is a replica and accepts no writes.';
    await until(async () => (await sources.health.checkBroker?.(context))?.error === error);
    expect(await sources.health.checkBroker?.(context)).toEqual({ ok: false, error });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
    await until(async () => (await component('broker'))?.status === 'down');
    const { config } = (await component('broker')) ?? {};
    expect(config?.error).toBe(error);
    expect(String(config?.hints)).toContain('REPLICAOF NO ONE');
    expect((await component('backend'))?.status).toBe('up');
    await replicate('NO', 'ONE');
    expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
    await until(async () => (await component('broker'))?.status === 'up');
    expect((await component('broker'))?.config?.hints).not.toContain('REPLICAOF');
  }, 90_000);
});
