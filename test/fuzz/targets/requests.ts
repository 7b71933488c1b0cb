/** Requests of clients: paths, ids, queries and headers through the whole router. */
import type { ErrorRequestHandler } from 'express';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { MonitorRouter } from '../../../src/index.ts';
import { EXPRESS_MAJORS, type ExpressMajor } from '../../helpers/hosts.ts';
import { checkResponse } from '../../helpers/openapi-check.ts';
import { HEADERS, IDS, QUERIES, VALUES } from '../../router/hostile-tables.ts';
import { createShop } from '../../router/shop-sources.ts';
import { type Injected, inject } from '../inject.ts';
import { text, token } from '../inputs.ts';
import { defineTarget, type Runnable } from '../target.ts';

const NAMES = [
  ...[
    'limit',
    'cursor',
    'state',
    'name',
    'worker',
    'queue',
    'root_id',
    'parent_id',
    'group_id',
    'q',
    'since',
  ],
  ...['until', 'sort', 'order', 'stats', 'checks', 'task', 'name[]', '__proto__', ''],
];
const GOOD_VALUES = [
  '1',
  '5',
  '0',
  '60',
  'SUCCESS',
  'shop.pay',
  'default',
  'task-0001',
  'asc',
  'runtime',
  'broker',
];

const encoded = text.map((value) => encodeURIComponent(Buffer.from(value).toString()));
const value = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...GOOD_VALUES) },
  { weight: 2, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 2, arbitrary: encoded },
  { weight: 1, arbitrary: token },
);
const pair = fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.constantFrom(...NAMES), encoded), value);
const query = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.map((each) => each.join('=')).join('&')),
  },
  { weight: 1, arbitrary: fc.constantFrom(...QUERIES) },
);
const id = fc.oneof(fc.constantFrom('task-0001', 'task-0002', ...IDS), encoded, token);
const path = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('/api/tasks/', '/api/events/latest/', '/healthcheck', '/api/workers/'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('/api/components/', '/api/beat/schedules/', '/metrics', '/', '/api', '//'),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(id, fc.constantFrom('', '/', '/relations/', '/graph/', '/graph/updates/', '/graph', '/x/'))
      .map(([task, rest]) => `/api/tasks/${task}${rest}`),
  },
  { weight: 1, arbitrary: encoded.map((rest) => `/${rest}`) },
);

/** What Node lets through of a header's value. */
const headerText = fc.oneof(
  fc.constantFrom(
    '*/*',
    'text/event-stream',
    'application/json',
    '"a"',
    'W/"a", "b"',
    '0',
    'gzip',
    'a, '.repeat(2_000),
  ),
  text.map((given) =>
    Buffer.from(given)
      .toString('latin1')
      .replace(/[^\t -~\x80-\xff]/g, ''),
  ),
);
const headers = fc.oneof(
  fc.dictionary(
    fc.constantFrom(
      'accept',
      'if-none-match',
      'last-event-id',
      'range',
      'x-forwarded-host',
      'host',
      'if-modified-since',
    ),
    headerText,
    { maxKeys: 3 },
  ),
  fc.constantFrom(
    ...(HEADERS.filter((given) => Object.values(given).every((each) => typeof each === 'string')) as Record<
      string,
      string
    >[]),
  ),
);

const requests: fc.Arbitrary<Injected> = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'DELETE'),
    path,
    query: fc.option(query),
    headers,
  })
  .map(({ method, path, query, headers }) => ({
    method,
    // Node itself refuses what is no printable ASCII.
    url: `${path}${query === null ? '' : `?${query}`}`.replace(/[^!-~]/g, ''),
    headers,
  }));

const ALLOWED = [200, 204, 304, 308, 400, 404, 405];

function requestTarget({ name, express, createMonitorRouter }: ExpressMajor): Runnable {
  const app = express();
  const shop = createShop();
  const errors: unknown[] = [];
  let router: MonitorRouter | null = null;

  return defineTarget<Injected>({
    name: `requests on ${name}`,
    share: 12,
    covers: ['answer-body', 'route', 'parameter', 'exchange', 'document', 'monitor', 'streams'].map(
      (file) => `http/${file}.ts`,
    ),
    inputs: requests,
    async open() {
      const options = {
        sources: shop.sources,
        authorize: false,
        dashboard: false,
        health: { reuseMs: 60_000 },
      } as const;
      router = createMonitorRouter(options);
      app.use('/monitor', router);
      app.use((_request, response) => void response.status(404).end('host'));
      const onError: ErrorRequestHandler = (error, _request, response, _next) => {
        errors.push(error);
        response.status(500).end('host');
      };
      app.use(onError);
    },
    async close() {
      await router?.close();
    },
    async check(request) {
      const answer = await inject(app, { ...request, url: `/monitor${request.url}` });
      expect(errors.splice(0)).toEqual([]);
      expect(ALLOWED).toContain(answer.status);
      expect(JSON.stringify(answer.headers)).not.toContain('evil.example');
      if (answer.text === 'host') return;
      checkResponse(request.method, request.url, answer);
      if (answer.status === 400)
        expect(JSON.parse(answer.text || '{"errors":[1]}').errors.length).toBeGreaterThan(0);
      if (answer.status === 200 && request.method === 'GET') checkRows(request.url, answer.text);
    },
  });

  /** Rows are tasks of the shop, each once, and as the query wants them. */
  function checkRows(url: string, body: string): void {
    if (!url.startsWith('/api/tasks/?') || body.startsWith('data')) return;
    const { tasks } = JSON.parse(body) as { tasks: { task_id: string; state: string }[] };
    const asked = new URLSearchParams(url.slice(url.indexOf('?') + 1).replace(/#.*$/s, ''));
    const ids = tasks.map(({ task_id }) => task_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((known) => shop.tasks.some((task) => task.id === known))).toBe(true);
    expect(ids.length).toBeLessThanOrEqual(Number(asked.get('limit') ?? 100));
    const states = asked.getAll('state');
    if (states.length > 0) expect(tasks.every(({ state }) => states.includes(state))).toBe(true);
  }
}

export const REQUEST_TARGETS: readonly Runnable[] = EXPRESS_MAJORS.map(requestTarget);
