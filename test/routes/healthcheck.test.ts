import type { IncomingMessage } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import type { HealthSource, MonitorOptions } from '../../src/index.ts';
import type { HealthBody, ProblemBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

describe('/healthcheck', () => {
  async function check(health: Partial<HealthSource>, options: MonitorOptions = {}, query = '') {
    const { get } = await serve(EXPRESS, { sources: { health: { name: 'shop', ...health } }, ...options });
    return get<HealthBody>(`/healthcheck${query}`);
  }

  const well = {
    checkBroker: () => ({ ok: true }),
    checkBackend: async () => ({ ok: true, error: null }),
    checkWorkers: () => ({ ok: true, responding: ['a'], missing: ['b'] }),
  };
  const workers = { responding: [], missing: [] };

  it('passes with 200 when every check passes', async () => {
    const { status, body, headers } = await check(well);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers.etag).toBeUndefined();
    expect(body).toMatchObject({
      ok: true,
      status: 'pass',
      checks: {
        broker: { ok: true, error: null, latency_ms: expect.any(Number) },
        backend: { ok: true, error: null, latency_ms: expect.any(Number) },
        workers: { ok: true, error: null, latency_ms: expect.any(Number), responding: ['a'], missing: ['b'] },
      },
    });
  });

  it('passes with null checks when nothing is configured', async () => {
    const { get } = await serve(EXPRESS, {});
    const { status, body } = await get<HealthBody>('/healthcheck');
    expect(status).toBe(200);
    expect(body.ok).toBe(true);
    const unknown = { ok: null, error: null, latency_ms: null };
    expect(body.checks).toEqual({ broker: unknown, backend: unknown, workers: { ...unknown, ...workers } });
  });

  it('fails with 503 and the same body when a check fails', async () => {
    const { status, body } = await check({
      ...well,
      checkBackend: () => ({ ok: false, error: 'It is gone.' }),
    });
    expect(status).toBe(503);
    expect(body).toMatchObject({
      ok: false,
      status: 'fail',
      checks: { backend: { ok: false, error: 'It is gone.' } },
    });
  });

  it('shows details only to whom the host allows', async () => {
    const failing = { ...well, checkBroker: () => ({ ok: false, error: 'It is gone.' }) };
    const onError = vi.fn();
    const secret = { ok: null, error: null, latency_ms: null };
    for (const details of [
      () => false,
      () => 'yes' as never,
      () => {
        throw new Error('no');
      },
    ]) {
      const { status, body } = await check(failing, { health: { details }, onError });
      expect([status, body.ok]).toEqual([503, false]);
      expect(body.checks).toEqual({
        broker: { ...secret, ok: false },
        backend: { ...secret, ok: true },
        workers: { ...secret, ...workers, ok: true },
      });
    }
    expect(onError.mock.lastCall?.[1]).toMatchObject({ call: 'health.details' });
    const details = (request: IncomingMessage): boolean => request.headers.host !== undefined;
    const { body } = await check(failing, { health: { details } });
    expect(body.checks.broker?.error).toBe('It is gone.');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('redis://:hunter2@db');
      },
      'The source cannot be reached.',
    ],
    ['rejects', () => Promise.reject('hunter2'), 'The source cannot be reached.'],
    ['hangs', () => new Promise<never>(() => {}), 'The source did not answer within the time limit.'],
    ['returns nonsense', () => ({ ok: 'hunter2' }) as never, 'The source returned invalid data.'],
  ])('says in words of ours why a check failed that %s', async (_, checkBroker, error) => {
    const { status, body, text } = await check({ ...well, checkBroker }, { timeoutMs: 50 });
    expect(status).toBe(503);
    expect(body.checks.broker).toMatchObject({ ok: false, error });
    expect(body.checks.backend?.ok).toBe(true);
    expect(text).not.toContain('hunter2');
  });

  it('takes secrets out of what a check says on purpose', async () => {
    const error = 'Cannot reach redis://:hunter2@db:6379/0';
    const { text } = await check({ checkBroker: () => ({ ok: false, error }) });
    expect(text).toContain('Cannot reach redis');
    expect(text).not.toContain('hunter2');
  });

  it.each([
    ['broker', ['broker']],
    ['workers,broker', ['broker', 'workers']],
    ['backend,backend', ['backend']],
  ])('runs only the checks that are asked for: %s', async (checks, names) => {
    const calls: string[] = [];
    const called =
      <T>(name: string, result: T) =>
      () => {
        calls.push(name);
        return result;
      };
    const source = {
      checkBroker: called('broker', { ok: true }),
      checkBackend: called('backend', { ok: true }),
      checkWorkers: called('workers', { ok: true, ...workers }),
    };
    const { body } = await check(source, {}, `?checks=${checks}`);
    expect(Object.keys(body.checks)).toEqual(names);
    expect(calls.sort()).toEqual(names);
  });

  it('does not fail for a check that is not asked for', async () => {
    const { status } = await check(
      { ...well, checkWorkers: () => ({ ok: false, ...workers }) },
      {},
      '?checks=broker',
    );
    expect(status).toBe(200);
  });

  it('refuses checks that it does not know', async () => {
    const { get } = await serve(EXPRESS, {});
    const { status, body } = await get<ProblemBody>('/healthcheck?checks=broker,database');
    expect([status, body.errors?.[0]?.parameter]).toEqual([400, 'checks']);
  });

  it.each([
    [undefined, false],
    [true, true],
  ] as const)('allows control pings when told so: %s', async (ping, allowed) => {
    const checkWorkers = vi.fn(() => ({ ok: true, ...workers }));
    await check({ checkWorkers }, { health: { ...(ping && { ping }) } });
    expect(checkWorkers).toHaveBeenCalledWith({ ping: allowed, signal: expect.any(AbortSignal) });
  });

  it('shares one run among probes at the same moment and for a moment after', async () => {
    const checkBroker = vi.fn(async () => ({ ok: true }));
    const sources = { health: { name: 'shop', checkBroker } };
    const { get } = await serve(EXPRESS, { sources, health: { reuseMs: 60_000 } });
    await Promise.all([get('/healthcheck'), get('/healthcheck'), get('/healthcheck?checks=broker')]);
    await get('/healthcheck');
    expect(checkBroker).toHaveBeenCalledTimes(1);
  });

  it('runs its checks again when the host wants no result used twice', async () => {
    const checkBroker = vi.fn(() => ({ ok: true }));
    const { get } = await serve(EXPRESS, {
      sources: { health: { name: 'shop', checkBroker } },
      health: { reuseMs: 0 },
    });
    await get('/healthcheck');
    await get('/healthcheck');
    expect(checkBroker).toHaveBeenCalledTimes(2);
  });

  it('is answered while every other read is taken', async () => {
    const { get } = await serve(EXPRESS, {
      sources: {
        health: { name: 'shop', checkBroker: async () => ({ ok: true }) },
        workers: { name: 'shop', listWorkers: () => new Promise<never>(() => {}) },
      },
      limits: { concurrency: 1 },
    });
    const stuck = get('/api/workers/').catch(() => null);
    expect((await get('/healthcheck')).status).toBe(200);
    void stuck;
  });
});
