import type { ErrorRequestHandler, RequestHandler } from 'express';
import { expect } from 'vitest';
import { createShop } from '../router/shop-sources.ts';
import { expressCase } from './kit/fault-case.ts';
import { PATHS, serveShop, using } from './kit/shop-host.ts';

expressCase(73, "error handlers of the host's stand before and behind, and sources fail", async (bench) => {
  const seen: unknown[] = [];
  const { workers, ...sources } = createShop().sources;
  const fails = (): never => {
    throw new Error('source');
  };
  const host = await bench.serve(
    { sources: { ...sources, workers: { ...workers, listWorkers: fails } } },
    {
      before: (app) =>
        void app.use(((error, _request, _response, next) => {
          seen.push(error);
          next(error);
        }) as ErrorRequestHandler),
    },
  );
  await bench.expectAnswer(host, '/api/workers/', { status: 503, code: 'source_unavailable' });
  await bench.expectAnswer(host, '/api/tasks/%zz/', { status: 400, code: 'invalid_parameter' });
  expect((await host.get('/foreign', { ours: false })).text).toBe('host');
  expect([seen, host.errors]).toEqual([[], []]);
});

expressCase(73, 'the host calls next twice, or breaks its response', async (bench) => {
  const twice: RequestHandler = (request, _response, next) => {
    next();
    if (request.path !== '/canary') next();
  };
  const host = await serveShop(bench, {
    before: using(twice),
    path: '/monitor',
    place: (app, router) =>
      void app.use('/monitor', router).use((_request, response, next) => {
        if (!response.headersSent) next();
      }),
  });
  // The second call goes past the monitor while that is still reading; whoever is first answers.
  for (const path of PATHS) {
    expect([200, 308, 400, 404]).toContain((await host.get(path, { ours: false })).status);
  }
  let broken = true;
  const breaking: RequestHandler = (request, response, next) => {
    const { setHeader } = response;
    response.setHeader = function failOnce(this: typeof response, ...given: [string, string]) {
      if (!broken || request.path === '/canary') return setHeader.apply(this, given);
      broken = false;
      throw new Error('foreign');
    } as typeof setHeader;
    next();
  };
  const second = await serveShop(bench, { before: using(breaking) });
  // A bug of somebody else's is the one thing that goes to the host's error handler.
  expect((await second.get('/api/workers/', { ours: false })).status).toBe(500);
  expect(second.errors.splice(0)).toMatchObject([{ message: 'foreign' }]);
  await bench.expectAnswer(second, '/api/workers/', { status: 200 });
});

const OVER: readonly (readonly [title: string, handler: RequestHandler, text: string | null])[] = [
  [
    'has sent headers',
    (_request, response, next) => {
      response.writeHead(200);
      response.write('mine');
      next();
      response.end();
    },
    'mine',
  ],
  [
    'has ended the answer',
    (_request, response, next) => {
      response.end('mine');
      next();
    },
    'mine',
  ],
  [
    'has destroyed the connection',
    (request, _response, next) => {
      request.socket.destroy();
      next();
    },
    null,
  ],
];

for (const [title, handler, text] of OVER) {
  expressCase(74, `the host ${title} before the monitor is asked`, async (bench) => {
    const onlyOurs: RequestHandler = (request, response, next) =>
      request.path === '/canary' ? next() : handler(request, response, next);
    const host = await serveShop(bench, { before: using(onlyOurs) });
    for (const path of [...PATHS, '/']) {
      const asked = host.get(path, { ours: false });
      if (text === null) await expect(asked).rejects.toThrow();
      else expect((await asked).text).toBe(text);
    }
    expect(host.errors).toEqual([]);
  });
}
