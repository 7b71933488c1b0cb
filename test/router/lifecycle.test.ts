import { describe, expect, it, vi } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { runScript } from '../helpers/run-script.ts';
import { serve, until } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

const PATHS = [
  '/healthcheck',
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/a/',
  '/api/workers/',
  '/metrics',
];

describe('close()', () => {
  it('answers later requests with 503 overloaded', async () => {
    const { get, router } = await serve(EXPRESS, { sources: createShop().sources });
    await get('/api/tasks/');
    await router.close();
    for (const path of PATHS) {
      const { status, body, headers } = await get<ProblemBody>(path);
      expect([path, status, body.code]).toEqual([path, 503, 'overloaded']);
      expect(headers['retry-after']).toBe('1');
    }
  });

  it('ends requests that wait for a source', async () => {
    const listWorkers = vi.fn(() => new Promise<never>(() => {}));
    const { get, router } = await serve(EXPRESS, { sources: { workers: { name: 'shop', listWorkers } } });
    const waiting = get<ProblemBody>('/api/workers/');
    await until(() => listWorkers.mock.calls.length === 1);
    await router.close();
    const { status, body } = await waiting;
    expect([status, body.code]).toEqual([503, 'overloaded']);
  });

  it('closes the sources once, however often it is called', async () => {
    const close = vi.fn(async () => {});
    const { router } = await serve(EXPRESS, { sources: { ...createShop().sources, close } });
    await Promise.all([router.close(), router.close()]);
    await router.close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  it.each<[string, () => unknown]>([
    ['hang', () => new Promise(() => {})],
    [
      'throw',
      () => {
        throw new Error('no');
      },
    ],
    ['reject', () => Promise.reject(new Error('no'))],
    [
      'return a thenable that throws',
      () =>
        Object.defineProperty({}, 'then', {
          get() {
            throw new Error('no');
          },
        }),
    ],
  ])('resolves within a second and a half when the sources %s', async (_, close) => {
    const { router } = await serve(EXPRESS, { sources: { close: close as () => void } });
    let isClosed = false;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const closed = router.close().then(() => {
        isClosed = true;
      });
      await vi.advanceTimersByTimeAsync(1_500);
      expect(isClosed).toBe(true);
      await closed;
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a client that leaves', () => {
  it('has its read aborted, and nobody is told', async () => {
    const signals: AbortSignal[] = [];
    const onError = vi.fn();
    const listWorkers = vi.fn((context: { readonly signal: AbortSignal }) => {
      signals.push(context.signal);
      return new Promise<never>((_, reject) => {
        context.signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    });
    const sources = { workers: { name: 'shop', listWorkers } };
    const { base } = await serve(EXPRESS, { sources, onError });
    const client = new AbortController();
    const request = fetch(`${base}/api/workers/`, { signal: client.signal });
    await until(() => signals.length === 1);
    client.abort();
    await expect(request).rejects.toThrow();
    await until(() => signals[0]?.aborted === true);
    expect(onError).not.toHaveBeenCalled();
  });

  it('does not take the answer away from the others', async () => {
    let finish: (workers: never[]) => void = () => {};
    const listWorkers = vi.fn(
      () =>
        new Promise<never[]>((resolve) => {
          finish = resolve;
        }),
    );
    let arrived = 0;
    const { base, get } = await serve(
      EXPRESS,
      { sources: { workers: { name: 'shop', listWorkers } } },
      {
        before: (app) =>
          void app.use((_request, response, next) => {
            arrived += 1;
            response.on('close', () => {
              arrived -= 1;
            });
            next();
          }),
      },
    );
    const client = new AbortController();
    const leaving = fetch(`${base}/api/workers/`, { signal: client.signal });
    const staying = get('/api/workers/');
    await until(() => arrived === 2);
    client.abort();
    await expect(leaving).rejects.toThrow();
    await until(() => arrived === 1);
    finish([]);
    expect((await staying).status).toBe(200);
    expect(listWorkers).toHaveBeenCalledTimes(1);
  });
});

describe('a process with a monitor', () => {
  async function run(script: string): Promise<{ readonly code: number | null; readonly output: string }> {
    // On Node 24, http-proxy-middleware 3 causes this warning; npm installs its version 4 there.
    const quiet = '--disable-warning=DEP0060';
    const { code, stdout, stderr } = await runScript(script, ['--unhandled-rejections=strict', quiet]);
    return { code, output: stdout + stderr };
  }

  it('ends by itself when it imports the library, makes a router, and never closes it', async () => {
    const script = `
      import { createMonitorRouter } from './src/index.ts';
      createMonitorRouter({ exporter: 'http://127.0.0.1:9/metrics' });
      console.log(process.getActiveResourcesInfo().filter((name) => /Timeout|TCP|Immediate/.test(name)).join());`;
    expect(await run(script)).toEqual({ code: 0, output: '\n' });
  });

  it('ends by itself after close(), whatever its sources and hooks left undone', async () => {
    const script = `
      import express from 'express';
      import { createMonitorRouter } from './src/index.ts';
      const never = () => new Promise(() => {});
      const late = () => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 100));
      let asked = 0;
      const router = createMonitorRouter({
        authorize: (request) => {
          asked += 1;
          return request.url.includes('task-1') ? never() : true;
        },
        exporter: 'http://127.0.0.1:9/metrics',
        timeoutMs: 60_000,
        onError() {},
        sources: {
          tasks: { name: 'a', listTasks: never, getTask: late, getTaskTree: never },
          workers: { name: 'a', listWorkers: late },
          health: { name: 'a', checkBroker: never },
          close: never,
        },
      });
      const app = express().use('/m', router);
      const server = app.listen(0, '127.0.0.1', () => {
        const base = 'http://127.0.0.1:' + server.address().port + '/m';
        const paths = ['/api/tasks/', '/api/tasks/task-1/', '/api/tasks/b/', '/api/tasks/b/graph/', '/api/workers/', '/healthcheck', '/metrics'];
        for (const path of paths) fetch(base + path).then((r) => r.text(), () => {});
        const closeOnceAllAreAsked = async () => {
          if (asked < paths.length) return setTimeout(closeOnceAllAreAsked, 5);
          await router.close();
          server.closeAllConnections();
          server.close();
          console.log('closed');
        };
        closeOnceAllAreAsked();
      });`;
    expect(await run(script)).toEqual({ code: 0, output: 'closed\n' });
  });

  it('keeps the listeners of a process as they are over two hundred routers', async () => {
    const { createMonitorRouter } = EXPRESS;
    const count = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    const before = count();
    for (let index = 0; index < 200; index += 1) {
      const router = createMonitorRouter({ authorize: false, exporter: 'http://127.0.0.1:9/metrics' });
      if (index % 2 === 0) await router.close();
    }
    expect(count()).toBe(before);
  });
});
