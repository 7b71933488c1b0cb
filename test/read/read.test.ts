import { describe, expect, it, vi } from 'vitest';
import { until } from '../router/host-kit.ts';
import { deferred, PAGE, setUp } from './read-kit.ts';

describe('a reader', () => {
  it('makes the result once for all who wait', async () => {
    const redact = vi.fn((text: string) => text);
    let arrived = 0;
    const answer = deferred<typeof PAGE>();
    const { ask } = await setUp(
      () => answer.promise,
      { redact },
      {
        before: (app) =>
          void app.use((_request, _response, next) => {
            arrived += 1;
            next();
          }),
      },
    );
    const waiting = Array.from({ length: 5 }, () => ask());
    await until(() => arrived === 5);
    answer.resolve(PAGE);
    await Promise.all(waiting);
    const once = redact.mock.calls.length;
    expect(once).toBeGreaterThan(0);
    await ask(2);
    expect(redact).toHaveBeenCalledTimes(2 * once);
  });

  it('refuses as overloaded what exceeds the reads at once, but for urgent ones', async () => {
    const answer = deferred<typeof PAGE>();
    const listTasks = vi.fn(() => answer.promise);
    const checkBroker = async () => ({ ok: true });
    const { ask, get } = await setUp(listTasks, {
      limits: { concurrency: 4 },
      sources: {
        tasks: { name: 'fake', listTasks, getTask: () => null },
        health: { name: 'fake', checkBroker, checkBackend: checkBroker },
      },
    });
    const waiting = [1, 2].map(ask);
    await until(() => listTasks.mock.calls.length === 2);
    expect((await ask(3)).code).toBe('overloaded');
    expect((await get('/healthcheck?checks=broker')).status).toBe(200);
    answer.resolve(PAGE);
    expect(await Promise.all(waiting)).toMatchObject([{ total: 1 }, { total: 1 }]);
    expect(await ask(3)).toMatchObject({ total: 1 });
  });

  it('aborts a read that the last client has left, and starts another one for the next', async () => {
    const signals: AbortSignal[] = [];
    const answer = deferred<typeof PAGE>();
    const { ask, base, reports } = await setUp(({ signal }) => {
      signals.push(signal);
      return answer.promise;
    });
    const client = new AbortController();
    const leaving = fetch(`${base}/api/tasks/?limit=1`, { signal: client.signal });
    await until(() => signals.length === 1);
    client.abort();
    await expect(leaving).rejects.toThrow();
    await until(() => signals[0]?.aborted === true);
    const next = ask();
    await until(() => signals.length === 2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    answer.reject(new Error('aborted'));
    expect((await next).code).toBe('source_unavailable');
    expect(reports).toHaveLength(1);
  });

  it('listens no more for a client that has its answer', async () => {
    const left: number[] = [];
    const { ask } = await setUp(
      async () => PAGE,
      {},
      {
        before: (app) =>
          void app.use((_request, response, next) => {
            const { end } = response;
            const before = response.listenerCount('close');
            response.end = ((...given: Parameters<typeof end>) => {
              left.push(response.listenerCount('close') - before);
              return end.apply(response, given);
            }) as typeof end;
            next();
          }),
      },
    );
    await ask();
    expect(left).toEqual([0]);
  });

  it('ends every read as overloaded when it is closed, and starts no other', async () => {
    const answer = deferred<typeof PAGE>();
    const listTasks = vi.fn((_context: { readonly signal: AbortSignal }) => answer.promise);
    const { ask, router, reports } = await setUp(listTasks);
    const waiting = ask();
    await until(() => listTasks.mock.calls.length === 1);
    const [[context] = []] = listTasks.mock.calls;
    expect(context?.signal.aborted).toBe(false);
    await router.close();
    expect((await waiting).code).toBe('overloaded');
    expect(context?.signal.aborted).toBe(true);
    expect((await ask()).code).toBe('overloaded');
    answer.reject(new Error('late'));
    await new Promise(setImmediate);
    expect(listTasks).toHaveBeenCalledTimes(1);
    expect(reports).toEqual([]);
  });
});
