import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TaskQuery } from '../../src/index.ts';
import { createMonitorHandler } from '../../src/node.ts';
import type { ProblemBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';

/** Most parameters and characters of a query. */
const MOST_PAIRS = 2_000;
const LONGEST_QUERY = 65_536;

/** A monitor on Node's own server, without the query parser of Express and with heads as long as a query may be. */
async function served() {
  const listTasks = vi.fn((_query: TaskQuery) => ({ tasks: [], next: null, total: 0 }));
  const handler = createMonitorHandler({
    sources: {
      tasks: { name: 'shop', listTasks, getTask: () => null },
      health: { name: 'shop', checkBroker: () => ({ ok: true }), checkBackend: () => ({ ok: true }) },
    },
    ignoreQuery: ['token', '_'],
    authorize: false,
    // Each request is read anew.
    health: { reuseMs: 0 },
  });
  const server = createServer({ maxHeaderSize: 4 * LONGEST_QUERY }, handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** What the source is asked for. */
    async read(search: string): Promise<TaskQuery | undefined> {
      const { status, text } = await ask(base, `/api/tasks/?${search}`);
      expect([search.slice(0, 80), status, status === 200 ? '' : text]).toEqual([
        search.slice(0, 80),
        200,
        '',
      ]);
      return listTasks.mock.lastCall?.[0];
    },
    /** The parameters at fault. */
    async faultsOf(search: string, path = '/api/tasks/'): Promise<string[]> {
      const { status, body } = await ask<ProblemBody>(base, `${path}?${search}`);
      return status === 200 ? [] : (body.errors?.map(({ parameter }) => parameter) ?? [String(status)]);
    },
  };
}

const DEFAULTS = {
  limit: 100,
  states: [],
  names: [],
  q: null,
  since: null,
  sort: 'timestamp',
  order: 'desc',
};

describe('a query', () => {
  it.each(['', '&', '&&&', 'token=x', 'token=%zz&token=', '_=1&_=2'])(
    'reads %j as nothing but defaults',
    async (search) => {
      expect(await (await served()).read(search)).toMatchObject(DEFAULTS);
    },
  );

  it.each<[string, Partial<TaskQuery>]>([
    ['limit=1', { limit: 1 }],
    ['limit=1000', { limit: 1_000 }],
    ['%6Cimit=5', { limit: 5 }],
    ['q=a%26b', { q: 'a&b' }],
    ['q=a+b', { q: 'a b' }],
    ['q=a=b', { q: 'a=b' }],
    [`q=${'💣'.repeat(200)}`, { q: '💣'.repeat(200) }],
    ['q=%00', { q: '\0' }],
    ['state=B&state=A&state=B', { states: ['A', 'B'] }],
    ['state=A,B', { states: ['A,B'] }],
    ['state=__proto__', { states: ['__proto__'] }],
    ['sort=state', { sort: 'state' }],
    ['since=0', { since: new Date(0) }],
    [Array.from({ length: 50 }, () => 'state=A').join('&'), { states: ['A'] }],
  ])('reads %s', async (search, expected) => {
    const sent = search.replaceAll('💣', encodeURIComponent('💣'));
    expect(await (await served()).read(sent)).toMatchObject({ ...DEFAULTS, ...expected });
  });

  it('finds every fault', async () => {
    const { faultsOf } = await served();
    const bad: Readonly<Record<string, readonly string[]>> = {
      limit: ['0', '1001', '-1', '1.5', '1e2', '0x10', '%205', '+5', 'NaN', '9'.repeat(20), ''],
      stats: ['0', '129601'],
      q: ['x'.repeat(201), '%zz', '%ff', '%'],
      state: ['', '%ED%A0%80'],
      sort: ['Name', '__proto__', ''],
      since: ['yesterday'],
    };
    for (const [name, values] of Object.entries(bad)) {
      for (const value of values) {
        expect([value, await faultsOf(`${name}=${value}`)]).toEqual([value, [name]]);
      }
    }
    const faults: Readonly<Record<string, readonly string[]>> = {
      limit: ['limit'],
      'limit=1&limit=1': ['limit'],
      'limit[]=1': ['limit[]'],
      'limit[gt]=1': ['limit[gt]'],
      'LIMIT=1': ['LIMIT'],
      'state=A&state=': ['state'],
      [Array.from({ length: 51 }, () => 'state=A').join('&')]: ['state'],
      '__proto__=1': ['__proto__'],
      'constructor=1': ['constructor'],
      'toString=1': ['toString'],
      '=1': [''],
      '?limit=1': ['?limit'],
      'limit=0&sort=x&nonsense=1&q=%zz': ['nonsense', 'limit', 'q', 'sort'],
    };
    for (const [search, names] of Object.entries(faults)) {
      expect([search, (await faultsOf(search)).toSorted()]).toEqual([search, names.toSorted()]);
    }
    for (const checks of ['', 'broker,', 'broker,database', '__proto__']) {
      expect([checks, await faultsOf(`checks=${checks}`, '/healthcheck')]).toEqual([checks, ['checks']]);
    }
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  it('is refused beyond its bounds, for that reason alone', async () => {
    const { faultsOf } = await served();
    const pairs = (count: number): string => Array.from({ length: count }, () => 'token=1').join('&');
    expect(await faultsOf(pairs(MOST_PAIRS))).toEqual([]);
    expect(await faultsOf(`${pairs(MOST_PAIRS)}&nonsense=%zz`)).toEqual(['nonsense']);
    expect(await faultsOf(`limit=x&token=${'x'.repeat(LONGEST_QUERY - 14)}`)).toEqual(['limit']);
    expect(await faultsOf(`limit=x&token=${'x'.repeat(LONGEST_QUERY - 13)}`)).toHaveLength(1);
    expect(await faultsOf(`token=${'x'.repeat(LONGEST_QUERY - 6)}`)).toEqual([]);
    expect(await faultsOf(`token=${'x'.repeat(LONGEST_QUERY - 5)}`)).toEqual(['token']);
  });

  it('is checked for broken escapes without an exception for each', async () => {
    const { faultsOf } = await served();
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    onTestFinished(() => decode.mockRestore());
    expect(await faultsOf(`limit=1${'&%'.repeat(MOST_PAIRS - 1)}`)).toEqual(['%']);
    expect(decode.mock.calls.flat().filter((text) => text.includes('%'))).toEqual([]);
  });

  it('has a broken escape where decodeURIComponent finds one', async () => {
    const { faultsOf } = await served();
    const piece = fc.oneof(
      fc.constantFrom('%', '%4', '%zz', '%41', '%e2%82%ac', '%c3', '%a9', '%ed%a0%80', '%c0%80', '%f5', 'a'),
      fc.integer({ min: 0, max: 255 }).map((byte) => `%${byte.toString(16).padStart(2, '0')}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
        const text = pieces.join('');
        expect([text, await faultsOf(`state=${text}`)]).toEqual([text, decodes(text) ? [] : ['state']]);
      }),
      { numRuns: 300 },
    );
  });
});

function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
