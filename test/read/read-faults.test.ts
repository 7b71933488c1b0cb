import { afterEach, describe, expect, it, vi } from 'vitest';
import { MonitorError } from '../../src/errors.ts';
import type { ReadContext } from '../../src/source.ts';
import { deferred, PAGE, setUp, thenable } from './read-kit.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Lets time stand still for a monitor and its sources. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
}

/** The time that the monitor knows stands still meanwhile. */
async function called(mock: { readonly mock: { readonly calls: readonly unknown[] } }, times: number) {
  while (mock.mock.calls.length < times) await new Promise(setImmediate);
}

describe('a reader of a broken source', () => {
  it.each([
    ['an error', new Error('secret')],
    ['a string', 'secret'],
    ['nothing', undefined],
    ['null', null],
    [
      'an object whose message throws',
      {
        get message() {
          throw new Error('secret');
        },
      },
    ],
    [
      'a proxy that throws at every touch',
      new Proxy(
        {},
        {
          get() {
            throw new Error('secret');
          },
          getPrototypeOf() {
            throw new Error('secret');
          },
        },
      ),
    ],
    ['an error of ours that speaks of the request', new MonitorError('forbidden', 'secret')],
  ])(
    'answers source_unavailable, in words of ours, when a source throws or rejects with %s',
    async (_, thrown) => {
      const reads = [
        () => {
          throw thrown;
        },
        () => Promise.reject(thrown),
      ];
      for (const read of reads) {
        const { ask, reports } = await setUp(read);
        expect(await ask()).toMatchObject({
          code: 'source_unavailable',
          detail: 'The source cannot be reached.',
        });
        expect(reports.map(({ error }) => Object.is(error, thrown))).toEqual([true]);
      }
    },
  );

  it('keeps the code that a source chose, but not its words', async () => {
    const { ask } = await setUp(() => {
      throw new MonitorError('source_timeout', 'redis://:hunter2@db took too long');
    });
    expect(await ask()).toMatchObject({
      code: 'source_timeout',
      detail: 'The source did not answer within the time limit.',
    });
  });

  it('answers source_invalid when nothing can be made of the data', async () => {
    const { ask, reports } = await setUp(() => 1);
    expect((await ask()).code).toBe('source_invalid');
    expect(reports).toMatchObject([
      { error: { message: expect.stringContaining('must return') }, code: 'source_invalid' },
    ]);
  });

  it('answers source_timeout at the deadline and aborts the read', async () => {
    const read = vi.fn((_context: ReadContext) => new Promise(() => {}));
    const { ask } = await setUp(read, { timeoutMs: 1_000 });
    stopTime();
    const asked = ask();
    await called(read, 1);
    const [[context] = []] = read.mock.calls;
    await vi.advanceTimersByTimeAsync(999);
    expect(context?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await asked).code).toBe('source_timeout');
    expect(context?.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('swallows what comes after the deadline', async () => {
    const late = [deferred<typeof PAGE>(), deferred<typeof PAGE>()];
    const rest = [...late];
    const { ask, reports } = await setUp(() => rest.shift()?.promise, { timeoutMs: 5 });
    const codes = (await Promise.all([1, 2].map(ask))).map(({ code }) => code);
    expect(codes).toEqual(['source_timeout', 'source_timeout']);
    late[0]?.resolve(PAGE);
    late[1]?.reject(new Error('late'));
    await new Promise(setImmediate);
    expect(reports.map(({ code }) => code)).toEqual(['source_timeout']);
  });

  it('asks a part no more while three of its reads have outlived their deadline', async () => {
    const stuck = [deferred<typeof PAGE>(), deferred<typeof PAGE>(), deferred<typeof PAGE>()];
    const rest = [...stuck];
    const read = vi.fn(() => rest.shift()?.promise ?? PAGE);
    const { ask, get } = await setUp(read, { timeoutMs: 50 });
    await Promise.all([1, 2, 3].map(ask));
    stopTime();
    expect((await ask(4)).code).toBe('source_unavailable');
    expect(read).toHaveBeenCalledTimes(3);
    expect((await get('/api/workers/')).status).toBe(200);
    stuck[0]?.resolve(PAGE);
    await new Promise(setImmediate);
    expect(await ask(4)).toMatchObject({ total: 1 });
  });

  it('tries a part that lost its promises for good once a second, and asks it again once it has answered', async () => {
    let answers = false;
    const read = vi.fn(async () => (answers ? PAGE : new Promise(() => {})));
    const { ask } = await setUp(read, { timeoutMs: 10_000 });
    stopTime();
    const outcomes = [1, 2, 3].map(ask);
    await called(read, 3);
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(outcomes);
    expect((await ask(4)).code).toBe('source_unavailable');
    await vi.advanceTimersByTimeAsync(1_000);
    const hanging = ask(5);
    await called(read, 4);
    answers = true;
    expect((await ask(4)).code).toBe('source_unavailable');
    expect(read).toHaveBeenCalledTimes(4);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ask(4)).toMatchObject({ total: 1 });
    expect(await ask(6)).toMatchObject({ total: 1 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await hanging).code).toBe('source_timeout');
  });

  it('takes a promise of any make, also one that calls back twice or throws', async () => {
    const twice = thenable((resolve) => {
      resolve(PAGE);
      resolve(2);
    });
    const throwing = thenable(() => {
      throw new Error('no');
    });
    const hostile = Object.defineProperty({}, 'then', {
      get() {
        throw new Error('no');
      },
    });
    const answers = [twice, throwing, hostile];
    const { ask } = await setUp(() => answers.shift());
    expect(await ask(1)).toMatchObject({ total: 1 });
    for (const limit of [2, 3]) expect((await ask(limit)).code).toBe('source_unavailable');
  });
});
