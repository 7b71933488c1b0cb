/** Rows 41 to 45: ids and paths in every disguise. */
import { expect } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { sendRaw } from '../helpers/send-raw.ts';
import { createShop } from '../router/shop-sources.ts';
import { expressCase, type FaultBench, faultCase } from './kit/fault-case.ts';

const RESTS = ['', 'relations/', 'graph/', 'graph/updates/'];

/** A host that holds one task of each of these ids. */
async function serveIds({ serve }: FaultBench, ids: readonly string[]) {
  const shop = createShop();
  shop.tasks = ids.map((id) => ({ id, state: 'STARTED' }));
  return await serve({ sources: shop.sources });
}

/** As in the path, and as it reads. */
const OPAQUE: readonly (readonly [segment: string, id: string])[] = [
  ['a%2Fb', 'a/b'],
  ['%2e%2e', '..'],
  ['%2e', '.'],
  ['..%2F..%2Fetc%2Fpasswd', '../../etc/passwd'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['a;b=c', 'a;b=c'],
  ['a:b@c', 'a:b@c'],
  ['%F0%9F%92%A3', '💣'],
  ['%E2%80%AE', '\u202e'],
  ['a%3Fb%23c', 'a?b#c'],
  ['%2525', '%25'],
  ['%5C..%5C', '\\..\\'],
  ['%20', ' '],
  ['*', '*'],
  ['x'.repeat(512), 'x'.repeat(512)],
  ['%F0%9F%92%A3'.repeat(512), '💣'.repeat(512)],
];

expressCase(41, `${OPAQUE.length} ids that mean something elsewhere are opaque texts`, async (bench) => {
  const known = await serveIds(
    bench,
    OPAQUE.map(([, id]) => id),
  );
  const unknown = await serveIds(bench, []);
  for (const [segment, id] of OPAQUE) {
    for (const rest of RESTS) {
      const path = `/api/tasks/${segment}/${rest}`;
      const { text } = await bench.expectAnswer(known, path, { status: 200 });
      if (rest === '') expect((JSON.parse(text) as { task_id: string }).task_id).toBe(id);
      await bench.expectAnswer(unknown, path, { status: 404, code: 'task_not_found' });
    }
  }
});

const CONTROLS = [0, 1, 9, 10, 13, 27, 31, 127]
  .map((code) => `a%${code.toString(16).padStart(2, '0')}b`)
  .concat('%C2%80', '%C2%9F');
const REFUSED = ['x'.repeat(513), 'x'.repeat(10_000), '%F0%9F%92%A3'.repeat(513)];

expressCase(42, `${CONTROLS.length} ids with control characters`, async (bench) => {
  const known = await serveIds(bench, CONTROLS.map(decodeURIComponent));
  const unknown = await serveIds(bench, []);
  for (const id of CONTROLS) {
    for (const rest of RESTS) {
      const path = `/api/tasks/${id}/${rest}`;
      await bench.expectAnswer(known, path, { status: 200 });
      await bench.expectAnswer(unknown, path, { status: 404, code: 'task_not_found' });
    }
  }
});

expressCase(42, `${REFUSED.length} ids without end`, async (bench) => {
  const host = await serveIds(bench, ['a']);
  for (const id of REFUSED) {
    for (const rest of RESTS) {
      const path = `/api/tasks/${id}/${rest}`;
      const expected = { status: 400, code: 'invalid_parameter' };
      const { body } = await bench.expectAnswer<ProblemBody>(host, path, expected);
      expect(body.errors).toMatchObject([{ parameter: 'task_id' }]);
    }
  }
});

const BROKEN = ['%', '%z', '%zz', '%ff', '%C0%AF', '%ED%A0%80', 'a%2', '%E2%80'];

expressCase(43, `${BROKEN.length} ids that are no percent-encoding of UTF-8`, async (bench) => {
  const host = await serveIds(bench, ['a']);
  for (const id of BROKEN) {
    for (const rest of RESTS) {
      const path = `/api/tasks/${id}/${rest}`;
      await bench.expectAnswer(host, path, { status: 400, code: 'invalid_parameter' });
    }
  }
  // Elsewhere it is the host's to say what is wrong.
  const { text } = await bench.expectAnswer(host, '/nowhere/%zz', {
    status: [400, 404],
    options: { ours: false },
  });
  expect(text).not.toContain('invalid_parameter');
});

faultCase(44, 'a target of 17 kB', async (bench) => {
  const host = await serveIds(bench, ['a']);
  const long = 'x'.repeat(17_000);
  for (const path of [`/api/tasks/${long}/`, `/api/tasks/?q=${long}`, `/${long}`]) {
    const port = Number(new URL(host.url).port);
    const received = await sendRaw(port, `GET /monitor${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 431 /);
  }
  await bench.expectAnswer(host, '/api/tasks/a/', { status: 200 });
});

const CANONICAL = [
  '/healthcheck',
  '/api/components/',
  '/api/tasks/',
  '/api/tasks/a/',
  '/api/tasks/a/relations/',
  '/api/tasks/a/graph/',
  '/api/tasks/a/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
];

for (const strict of [false, true]) {
  expressCase(45, `slashes and case under strict and case sensitive routing ${strict}`, async (bench) => {
    const shop = createShop();
    shop.tasks = [{ id: 'a', state: 'STARTED' }];
    const host = await bench.serve(
      { sources: shop.sources },
      {
        before: (app) => {
          app.set('strict routing', strict);
          app.set('case sensitive routing', strict);
        },
      },
    );
    const theHosts = { status: 404, options: { ours: false } };
    for (const path of CANONICAL) {
      await bench.expectAnswer(host, path, { status: 200 });
      const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
      const moved = await bench.expectAnswer(host, other, { status: 308 });
      expect(new URL(moved.headers.location ?? '', `${host.base}${other}`).pathname).toBe(`/monitor${path}`);
      // Express 4 takes a doubled slash off with the mount path; within the path it is the host's everywhere.
      const doubled = await bench.expectAnswer(host, `/${path}`, { ...theHosts, status: [200, 404] });
      if (doubled.status === 200) expect(bench.express.name).toBe('Express 4');
      for (const foreign of [path.replace('/api/', '/api//'), path.toUpperCase(), `${path}x/y/z`]) {
        if (foreign === path) continue;
        const { text } = await bench.expectAnswer(host, foreign, theHosts);
        expect([foreign, text]).toEqual([foreign, 'host']);
      }
    }
    // An empty id is a fault.
    await bench.expectAnswer(host, '/api/tasks//', { status: 400, code: 'invalid_parameter' });
    // A slash within an id makes it another path.
    await bench.expectAnswer(host, '/api/tasks/a/b/', theHosts);
  });
}
