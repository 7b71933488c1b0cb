import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Marker, Markers } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21) + second * 1_000);

/** Reads them as the statistics of a list show them, by a clock that is moved by hand. */
async function reading(markers: Markers, windowSeconds = 60 * 1_440) {
  vi.useFakeTimers({ toFake: ['performance', 'Date'], now: at(0).getTime() + 1_000 * windowSeconds });
  onTestFinished(() => void vi.useRealTimers());
  const reports: unknown[] = [];
  const queue = memorySources();
  let changes = 0;
  const { get } = await serve(EXPRESS, {
    sources: queue,
    markers,
    onError: (error, { call }) => void reports.push([call, String(error)]),
  });
  return {
    reports,
    async read(minutes = 1_440) {
      // While nothing changes, the same answer is given again.
      queue.record({ id: `task ${++changes}`, state: 'STARTED' });
      const { body } = await get<TasksBody>(`/api/tasks/?limit=0&stats=${minutes}`);
      return body.stats?.markers ?? null;
    },
    wait: (ms: number) => void vi.advanceTimersByTime(ms),
  };
}

describe('markers of the host', () => {
  it('are sorted, redacted, and without what cannot be read', async () => {
    const bad = [
      null,
      7,
      {},
      { at: at(1) },
      { at: 'yesterday', text: 'x' },
      { at: at(1), text: '  ' },
      { at: at(1), text: 7 },
      { at: new Date(Number.NaN), text: 'x' },
      { at: Number.POSITIVE_INFINITY, text: 'x' },
      {
        at: at(1),
        get text(): string {
          throw new Error('no');
        },
      },
    ] as unknown as Marker[];
    const { read, reports } = await reading(() => [
      { at: at(3), text: 'v3', url: 'https://ci.example.com/3' },
      ...bad,
      { at: at(1).toISOString(), text: 'v1 token=hunter2', url: '/deploys/1' },
      { at: at(2).getTime(), text: 'v2', url: 'javascript:alert(1)' },
    ]);
    expect(await read()).toEqual([
      { at: at(1).toISOString(), text: 'v1 token=***', url: '/deploys/1' },
      { at: at(2).toISOString(), text: 'v2', url: null },
      { at: at(3).toISOString(), text: 'v3', url: 'https://ci.example.com/3' },
    ]);
    expect(reports).toEqual([]);
  });

  it.each([
    'data:text/html,x',
    '//evil.example',
    'https://u:hunter2@h/',
    'java\nscript:alert(1)',
    'http://[',
    `/${'x'.repeat(3_000)}`,
    5,
  ])('have no link to %o', async (url) => {
    const { read } = await reading(() => [{ at: at(1), text: 'v1', url: url as string }]);
    expect(await read()).toEqual([{ at: at(1).toISOString(), text: 'v1', url: null }]);
  });

  it('are the newest 500, with texts of at most 200 characters', async () => {
    const long = 'x'.repeat(1_048_576);
    const given = Array.from({ length: 800 }, (_, n) => ({
      at: at(n),
      text: `${n} ${n % 100 === 50 ? long : long.slice(0, 300)}`,
    }));
    const found = (await (await reading(() => given)).read()) ?? [];
    expect([found.length, found[0]?.text.slice(0, 4), found.at(-1)?.text.slice(0, 4)]).toEqual([
      ...[500, '300 ', '799 '],
    ]);
    expect(found.every(({ text }) => text.length === 200 && text.endsWith('…'))).toBe(true);
  });

  it('are read once for all who look within ten seconds', async () => {
    let calls = 0;
    const { read, wait } = await reading(async () => [{ at: at(++calls), text: `call ${calls}` }]);
    await Promise.all(Array.from({ length: 64 }, () => read()));
    wait(9_999);
    await read();
    expect(calls).toBe(1);
    wait(1);
    expect(await read()).toMatchObject([{ text: 'call 2' }]);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['answers with no array', () => 'none'],
    [
      'answers with a thenable that throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: it is what is tested
        get then() {
          throw new Error('no');
        },
      }),
    ],
  ])('are those of the last call where the function %s, which is reported', async (_what, fail) => {
    let calls = 0;
    const known = [{ at: at(1), text: 'v1' }];
    const { read, wait, reports } = await reading(() => (++calls === 2 ? fail() : known) as Marker[]);
    const before = await read();
    wait(10_000);
    expect(await read()).toEqual(before);
    expect(before).toHaveLength(1);
    expect(reports).toMatchObject([['markers', expect.any(String)]]);
  });

  it('are none, and later those of an answer, where the function takes too long', async () => {
    let calls = 0;
    let answer = (_: Marker[]): void => {};
    const { read, wait, reports } = await reading(() => {
      calls++;
      return new Promise<Marker[]>((resolve) => {
        answer = resolve;
      });
    });
    expect(await read()).toEqual([]);
    expect(reports).toMatchObject([['markers', expect.stringContaining('1000 ms')]]);
    wait(30_000);
    // The host is not called again while it has not answered, and nobody waits again.
    expect(await read()).toEqual([]);
    expect(calls).toBe(1);
    answer([{ at: at(1), text: 'v1' }]);
    await expect.poll(() => read()).toHaveLength(1);
    wait(10_000);
    await read();
    wait(60_000);
    await read();
    expect(calls).toBe(3);
  });

  it('are listed if they are in the window, or among the newest five', async () => {
    const given = Array.from({ length: 20 }, (_, n) => ({ at: at(n * 60), text: `${n}` }));
    const { read } = await reading(() => given, 300);
    expect((await read(2))?.map(({ text }) => text)).toEqual([
      ...['3', '4', '5'],
      ...['15', '16', '17', '18', '19'],
    ]);
  });
});

describe('the statistics', () => {
  it('have the markers of the host, and percentiles where they are asked for', async () => {
    const sources = memorySources();
    sources.record({ id: 'a', state: 'SUCCESS', name: 'pay', runtime: 2 });
    const { get } = await serve(EXPRESS, { sources, markers: () => [{ at: new Date(), text: 'v1' }] });
    const plain = (await get<TasksBody>('/api/tasks/?limit=0&stats=5')).body.stats;
    expect(plain).toMatchObject({ markers: [{ text: 'v1', url: null }], totals: { runtime_p95: 2 } });
    const asked = (await get<TasksBody>('/api/tasks/?limit=0&stats=5&stats_percentiles=true')).body.stats;
    expect(asked?.runtime_histogram).toEqual([{ le: 2.048, count: 1 }]);
    expect(asked?.series.filter(({ runtime_p99 }) => runtime_p99 === 2)).toHaveLength(1);
    for (const query of ['stats_percentiles=true', 'stats=5&stats_percentiles=yes']) {
      expect((await get(`/api/tasks/?${query}`)).status).toBe(400);
    }
  });

  it('are answered while the function of the host hangs, throws or is hostile', async () => {
    for (const markers of [
      () => new Promise<never>(() => {}),
      () => {
        throw new Error('down');
      },
      () => new Proxy([], { get: () => Reflect.get({}, 'x') }),
    ]) {
      const reports: unknown[] = [];
      const { get } = await serve(EXPRESS, {
        sources: memorySources(),
        markers,
        onError: (_error, { call }) => void reports.push(call),
      });
      const { status, body } = await get<TasksBody>('/api/tasks/?limit=0&stats=5');
      expect([status, body.stats?.markers]).toEqual([200, []]);
      expect(reports).toEqual(['markers']);
    }
  });
});
