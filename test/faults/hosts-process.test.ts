import type { Server } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { redisMissing, until } from '../helpers/redis-server.ts';
import { answer, BODY, startExporter } from '../metrics/fake-exporter.ts';
import { createShop } from '../router/shop-sources.ts';
import { runChild } from './kit/child.ts';
import { countArrivals } from './kit/condition.ts';
import { expressCase, faultCase } from './kit/fault-case.ts';
import { watchProcess } from './kit/process-watch.ts';
import { REDIS_SOURCES, redisFor, untilCurrent } from './kit/redis-sources.ts';
import { PATHS, serveShop, using } from './kit/shop-host.ts';

const redisOptions = { missing: redisMissing, timeout: 60_000 };

for (const source of REDIS_SOURCES) {
  faultCase(
    63,
    `the monitor is closed twice during requests while Redis is frozen under ${source.name}`,
    async (bench) => {
      const redis = await redisFor();
      await source.fill(redis);
      const arrivals = countArrivals();
      const host = await bench.serve({ sources: source.connect(redis.url()) }, arrivals);
      await untilCurrent(host);
      redis.freeze();
      const before = arrivals.count();
      const waiting = [401, 402, 403].map((limit) => host.get(`/api/tasks/?limit=${limit}`));
      await until(() => arrivals.count() === before + waiting.length);
      const start = performance.now();
      await Promise.all([host.router.close(), host.router.close()]);
      const ms = performance.now() - start;
      bench.figure('closed after, ms', Math.round(ms));
      expect(ms).toBeLessThan(10 * 1_500);
      for (const { status } of await Promise.all(waiting)) expect([200, 503]).toContain(status);
      const expected = { status: 503, code: 'overloaded', aimMs: 50 };
      for (const path of ['/api/tasks/', '/api/components/', '/metrics']) {
        await bench.expectAnswer(host, path, expected);
      }
      await host.router.close();
      redis.thaw();
    },
    redisOptions,
  );
}

faultCase(
  64,
  'a process that imports everything, connects and never closes ends by itself',
  async (bench) => {
    const redis = await redisFor();
    const script = `
      import { createMonitorRouter } from 'express-task-monitor';
      import { bullmqSources } from 'express-task-monitor/bullmq';
      import { celerySources } from 'express-task-monitor/celery';
      import { createMonitorClient } from 'express-task-monitor/client';
      import { memorySources } from 'express-task-monitor/memory';
      import 'express-task-monitor/testing';
      const [, , url] = process.argv;
      const context = { signal: new AbortController().signal };
      const bundles = [celerySources({ broker: url, backend: url }), bullmqSources({ connection: url }), memorySources()];
      for (const sources of bundles) createMonitorRouter({ sources, exporter: 'http://127.0.0.1:9/metrics' });
      const reads = bundles.map(({ tasks }) => Promise.resolve(tasks.getTask('mail:1', context)).catch(() => {}));
      // Nothing of the library keeps the process: for so long something else does.
      const busy = setTimeout(() => {}, 60_000);
      Promise.all(reads).then(() => {
        clearTimeout(busy);
        console.log('idle', typeof createMonitorClient);
      });`;
    const { code, output, msAfter } = await runChild(script, { express: bench.express, args: [redis.url()] });
    expect([code, output]).toEqual([0, 'idle function\n']);
    bench.figure('ended after, ms', Math.round(msAfter('idle')));
    expect(msAfter('idle')).toBeLessThan(10_000);
  },
  redisOptions,
);

faultCase(65, 'a hundred monitors with an exporter come and go on one server', async (bench) => {
  const exporter = await startExporter((socket) => socket.end(answer(BODY), 'latin1'));
  const { createMonitorRouter } = bench.express;
  let server: Server | undefined;
  let current: ReturnType<typeof createMonitorRouter> | null = null;
  const host = await serveShop(bench, {
    before: using(
      (request, _response, next) => {
        server ??= (request.socket as { server?: Server }).server;
        next();
      },
      (request, response, next) => {
        if (request.path.startsWith('/other') && current !== null) {
          request.url = request.url.replace('/other', '');
          current(request, response, next);
        } else next();
      },
    ),
  });
  await bench.expectAnswer(host, '/api/workers/', { status: 200 });
  const count = (): number[] => [
    ...(server?.eventNames() ?? []).map((name) => server?.listenerCount(name) ?? 0),
    ...process.eventNames().map((name) => process.listenerCount(name)),
  ];
  const before = count();
  for (let index = 0; index < 100; index += 1) {
    current = createMonitorRouter({ exporter: exporter.url, authorize: false });
    if (index % 2 === 0) {
      expect((await ask(`${host.url}/other`, '/metrics', { ours: false })).text).toBe(BODY);
    }
    await current.close();
  }
  expect(server).toBeDefined();
  expect(count()).toEqual(before);
  await until(() => exporter.open() === 0);
});

expressCase(
  66,
  'requests of every kind, failing sources and leaving clients let nothing escape',
  async (bench) => {
    let [begun, ended] = [0, 0];
    const late = async (): Promise<never> => {
      begun += 1;
      await sleep(20);
      ended += 1;
      throw new Error('late');
    };
    const { workers, ...sources } = createShop().sources;
    // Its type says `void`, and an async function fits that.
    const onError = vi.fn(() => Promise.reject(new Error('in the hook')) as never);
    const host = await bench.serve({
      sources: { ...sources, workers: { ...workers, listWorkers: late } },
      timeoutMs: 10,
      onError,
    });
    for (const path of PATHS) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) await host.get(path, { method });
      const leaving = new AbortController();
      const left = fetch(`${host.base}${path}`, { signal: leaving.signal }).then((r) => r.text());
      leaving.abort();
      await expect(left).rejects.toThrow();
    }
    expect(onError).toHaveBeenCalled();
    expect(begun).toBeGreaterThan(0);
    await until(() => ended === begun);
    // What nobody has handled is reported behind the microtasks of a turn.
    await new Promise((resolve) => setImmediate(resolve));
  },
);

faultCase(66, 'the watch for what escapes and what is left behind notices both', async (bench) => {
  await bench.serve({});
  const watch = watchProcess(100);
  const server = createServer().listen(0, '127.0.0.1');
  const timer = setInterval(() => {}, 1_000);
  onTestFinished(() => {
    server.close();
    clearInterval(timer);
  });
  await expect(watch.settled()).rejects.toThrow(/deeply equal/);
});

faultCase(77, 'the process has no file descriptor left', async (bench) => {
  const { code, output } = await runChild('./fd-limit.mjs', { express: bench.express, openFiles: 64 });
  expect(output).not.toMatch(/uncaught|unhandled/i);
  expect(code).toBe(0);
  const told = JSON.parse(output) as Record<'before' | 'without' | 'after', Record<string, number>>;
  expect(told.before).toEqual({ '/metrics': 200, '/api/workers/': 200, '/': 200, '/canary': 200 });
  expect(told.without).toEqual({
    '/metrics': 503,
    '/api/workers/': 200,
    '/': 200,
    '/canary': 200,
    asset: 200,
  });
  expect(told.after).toEqual({ ...told.before, asset: 200 });
});

const NO_STRINGS = '--disallow-code-generation-from-strings';
const HARDENED = [
  '--throw-deprecation',
  '--unhandled-rejections=strict',
  '--disable-warning=ExperimentalWarning',
];

expressCase(78, 'code from strings is forbidden and deprecations are thrown: every route', async (bench) => {
  // Express 4 makes code from strings itself when it is loaded (its body-parser's depd).
  const flags = bench.express.name === 'Express 4' ? HARDENED : [...HARDENED, NO_STRINGS];
  const { code, output } = await runChild('./hardened-routes.mjs', {
    express: bench.express,
    flags,
  });
  expect([code, output]).toEqual([0, '11 routes\n']);
});

// Express itself does not load where intrinsics are frozen (its depd sets `Error.prepareStackTrace`), so that
// this holds for what does not need it: the memory source, through the published contract suite.
faultCase(78, 'intrinsics are frozen, too: the contract suite', async (bench) => {
  const { code, output } = await runChild('./hardened-sources.mjs', {
    express: bench.express,
    flags: [...HARDENED, NO_STRINGS, '--frozen-intrinsics'],
  });
  expect([code, output]).toEqual([0, expect.stringMatching(/^[1-9]\d+ cases\n$/)]);
  bench.figure('in the child', output.trim());
});
