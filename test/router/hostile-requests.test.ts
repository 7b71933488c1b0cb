import { describe, expect, it } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { sample, unsampled } from '../helpers/cases.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { HEADERS, IDS, LONG, QUERIES, VALUES } from './hostile-tables.ts';
import { createShop } from './shop-sources.ts';

const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  '/api/tasks/': ['limit', 'cursor', 'state', 'q', 'since', 'sort', 'order', 'stats', 'root_id'],
  '/api/tasks/task-0001/graph/': ['limit'],
  '/api/tasks/task-0001/graph/updates/': ['since', 'limit'],
  '/api/events/latest/': ['limit', 'since', 'task'],
  '/healthcheck': ['checks'],
};
const PATHS = [
  ...Object.keys(PARAMETERS),
  '/api/components/',
  '/api/tasks/task-0001/',
  '/api/tasks/task-0001/relations/',
  '/api/workers/',
  '/api/beat/schedules/',
  '/metrics',
];

/** What a request for a target may be answered with: it is as it should be, or its faults are listed. */
function statusesOf(target: string): readonly number[] {
  // Node itself refuses a head of more than 16 kB.
  if (target.length > 16_384) return [431];
  return target.startsWith('/metrics') ? [400, 404] : [200, 400];
}

/** What a task of an id that nobody knows is answered with. */
function statusOfId(id: string, rest: string): number {
  if (id.length > 16_384) return 431;
  if (id === '' && rest === '') return 200;
  if (!rest.endsWith('/')) return 308;
  return id === '' || !isText(id) ? 400 : 404;
}

/** Whether it is a percent-encoding of at most 512 characters. */
function isText(segment: string): boolean {
  try {
    return [...decodeURIComponent(segment)].length <= 512;
  } catch {
    return false;
  }
}

function statusOfHeaders(path: string, headers: (typeof HEADERS)[number]): number {
  if (JSON.stringify(headers).length > 16_384) return 431;
  if (path === '/metrics') return 404;
  return headers['if-none-match'] === '*' && path !== '/healthcheck' ? 304 : 200;
}

const QUERY_TARGETS = sample([
  ...Object.entries(PARAMETERS).flatMap(([path, names]) =>
    names.flatMap((name) => VALUES.map((value) => `${path}?${name}=${value}`)),
  ),
  ...PATHS.flatMap((path) => QUERIES.map((query) => `${path}?${query}`)),
]);
const ID_TARGETS = sample(
  IDS.flatMap((id) =>
    ['', '/', '/relations/', '/graph/', '/graph/updates/', '/graph'].map((rest) => [id, rest] as const),
  ),
);

describe('the router', () => {
  async function hostOf() {
    const shop = createShop();
    const host = await serve(EXPRESS, { sources: shop.sources, health: { reuseMs: 60_000 } });
    return { ...host, shop };
  }

  it(`answers ${QUERY_TARGETS.length} hostile queries as contracted`, { timeout: 120_000 }, async () => {
    const { get } = await hostOf();
    for (const target of QUERY_TARGETS) {
      const answer = await get<ProblemBody>(target);
      const where = target.slice(0, 100);
      expect(statusesOf(target), where).toContain(answer.status);
      if (answer.status === 400) {
        expect([where, answer.body.code]).toEqual([where, 'invalid_parameter']);
        expect(answer.body.errors?.length).toBeGreaterThan(0);
      }
    }
    expect((await get('/canary', { ours: false })).status).toBe(404);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it(`answers ${ID_TARGETS.length} hostile ids as contracted`, { timeout: 120_000 }, async () => {
    const { get } = await hostOf();
    for (const [id, rest] of ID_TARGETS) {
      const answer = await get(`/api/tasks/${id}${rest}`);
      const where = `${id.slice(0, 100)}${rest}`;
      expect([where, answer.status]).toEqual([where, statusOfId(id, rest)]);
      expect([where, answer.headers.location?.startsWith('.') ?? true]).toEqual([where, true]);
    }
  });

  unsampled(() => {
    it(`answers ${HEADERS.length} hostile headers on each path as contracted`, {
      timeout: 120_000,
    }, async () => {
      const { get } = await hostOf();
      for (const path of PATHS) {
        for (const headers of HEADERS) {
          const answer = await get(path, { headers });
          const where = `${path} ${JSON.stringify(headers).slice(0, 80)}`;
          expect([where, answer.status]).toEqual([where, statusOfHeaders(path, headers)]);
          expect(answer.text).not.toContain('evil.example');
          expect(JSON.stringify(answer.headers)).not.toContain('evil.example');
        }
      }
    });

    it('takes a body that nobody asked for', async () => {
      const { get } = await hostOf();
      const headers = { 'content-type': 'application/json' };
      for (const send of ['{"limit":1}', '{', LONG]) {
        expect((await get('/api/tasks/', { headers, send })).status).toBe(200);
      }
    });

    it('finds ids that hold a slash, dots or any other text', async () => {
      const { get, shop } = await hostOf();
      const ids = [
        'a/b',
        '..',
        'a:b',
        '100%',
        'ünï',
        '💣',
        '__proto__',
        'x'.repeat(512),
        'graph',
        'a?b#c',
        'a\0b',
        'a\nb',
        '\x7f',
        '\u202e',
      ];
      shop.tasks = ids.map((id) => ({ id, state: 'STARTED' }));
      for (const id of ids) {
        const path = `/api/tasks/${encodeURIComponent(id).replaceAll('.', '%2e')}/`;
        const { status, body } = await get<{ task_id: string }>(path);
        expect([id, status, body.task_id]).toEqual([id, 200, id]);
        for (const rest of ['relations/', 'graph/', 'graph/updates/']) {
          expect([id, rest, (await get(`${path}${rest}`)).status]).toEqual([id, rest, 200]);
        }
      }
    });
  });
});
