import { afterEach, describe, expect, it, vi } from 'vitest';
import { MonitorError } from '../../src/errors.ts';
import { codeOf, deferred, OTHER_PART, outcomeOf, setUp, taskOf, thenable } from './read-kit.ts';

afterEach(() => {
  vi.useRealTimers();
});

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
        },
      ),
    ],
    ['an error of ours that speaks of the request', new MonitorError('forbidden', 'secret')],
  ])(
    'answers source_unavailable, in words of ours, when a source throws or rejects with %s',
    async (_, thrown) => {
      const { reader, reports } = setUp();
      const outcomes = await Promise.all([
        outcomeOf(() =>
          reader.read(
            taskOf(() => {
              throw thrown;
            }),
          ),
        ),
        outcomeOf(() => reader.read(taskOf(() => Promise.reject(thrown)))),
      ]);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({
          code: 'source_unavailable',
          message: 'The source cannot be reached.',
        });
      }
      expect(reports.map(({ error }) => Object.is(error, thrown))).toEqual([true, true]);
    },
  );

  it('keeps the code that a source chose, but not its words', async () => {
    const { reader } = setUp();
    const thrown = new MonitorError('source_timeout', 'redis://:hunter2@db took too long');
    expect(
      await outcomeOf(() =>
        reader.read(
          taskOf(() => {
            throw thrown;
          }),
        ),
      ),
    ).toMatchObject({
      code: 'source_timeout',
      message: 'The source did not answer within the time limit.',
    });
  });

  it('answers source_invalid when nothing can be made of the data', async () => {
    const { reader, reports } = setUp();
    const task = {
      ...taskOf(() => 1),
      map() {
        throw new TypeError('no list');
      },
    };
    expect(await codeOf(() => reader.read(task))).toBe('source_invalid');
    expect(reports).toMatchObject([{ error: { message: 'no list' }, code: 'source_invalid' }]);
  });

  it('answers source_timeout at the deadline and aborts the read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { reader } = setUp(1_000);
    let signal: AbortSignal | undefined;
    const outcome = codeOf(() =>
      reader.read(
        taskOf((context) => {
          signal = context.signal;
          return new Promise(() => {});
        }),
      ),
    );
    await vi.advanceTimersByTimeAsync(999);
    expect(signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toBe('source_timeout');
    expect(signal?.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('swallows what comes after the deadline', async () => {
    const { reader, reports } = setUp(5);
    const late = [deferred<number>(), deferred<number>()];
    const codes = late.map(({ promise }, index) =>
      codeOf(() => reader.read(taskOf(() => promise, `${index}`))),
    );
    expect(await Promise.all(codes)).toEqual(['source_timeout', 'source_timeout']);
    late[0]?.resolve(1);
    late[1]?.reject(new Error('late'));
    await new Promise(setImmediate);
    expect(reports).toHaveLength(2);
  });

  it('asks a part no more while three of its reads have outlived their deadline', async () => {
    const { reader } = setUp(5);
    const stuck = [deferred<number>(), deferred<number>(), deferred<number>()];
    await Promise.all(
      stuck.map(({ promise }, index) => codeOf(() => reader.read(taskOf(() => promise, `${index}`)))),
    );
    const read = vi.fn(() => 1);
    expect(await codeOf(() => reader.read(taskOf(read)))).toBe('source_unavailable');
    expect(read).not.toHaveBeenCalled();
    expect(reader.read({ ...taskOf(read), part: OTHER_PART })).toBe(1);
    stuck[0]?.resolve(1);
    await new Promise(setImmediate);
    expect(reader.read(taskOf(read))).toBe(1);
  });

  it('tries a part that lost its promises for good once a second, and asks it again once it has answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { reader } = setUp(10_000);
    const never = () => new Promise<number>(() => {});
    const outcomes = ['a', 'b', 'c'].map((key) => codeOf(() => reader.read(taskOf(never, key))));
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(outcomes);
    const read = vi.fn(async () => 1);
    expect(await codeOf(() => reader.read(taskOf(read)))).toBe('source_unavailable');
    await vi.advanceTimersByTimeAsync(1_000);
    const hanging = codeOf(() => reader.read(taskOf(never, 'try')));
    expect(await codeOf(() => reader.read(taskOf(read)))).toBe('source_unavailable');
    expect(read).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1_000);
    const answers = [reader.read(taskOf(read)), codeOf(() => reader.read(taskOf(read, 'other')))];
    expect(await Promise.all(answers)).toEqual([1, 'source_unavailable']);
    expect(await reader.read(taskOf(read, 'next'))).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await hanging).toBe('source_timeout');
  });

  it('takes a promise of any make, also one that calls back twice or throws', async () => {
    const { reader } = setUp();
    const twice = thenable((resolve) => {
      resolve(1);
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
    expect(await reader.read(taskOf(() => twice))).toBe(1);
    expect(await codeOf(() => reader.read(taskOf(() => throwing)))).toBe('source_unavailable');
    expect(await codeOf(() => reader.read(taskOf(() => hostile)))).toBe('source_unavailable');
  });
});
