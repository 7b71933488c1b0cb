import { afterEach, describe, expect, it, vi } from 'vitest';
import { CLIENT_GONE } from '../../src/read.ts';
import { codeOf, deferred, outcomeOf, setUp, taskOf, visitor } from './read-kit.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a reader', () => {
  it('passes on at once what a source answers at once', () => {
    expect(setUp().reader.read(taskOf(() => 5))).toBe(5);
  });

  it('waits for what a source answers later', async () => {
    expect(await setUp().reader.read(taskOf(async () => 5))).toBe(5);
  });

  it('starts one read for all who ask the same, and another for those who ask otherwise', async () => {
    const { reader } = setUp();
    const read = vi.fn(async () => ({}));
    const [one, two, three] = await Promise.all([
      reader.read(taskOf(read, 'a')),
      reader.read(taskOf(read, 'a')),
      reader.read(taskOf(read, 'b')),
    ]);
    expect(one).toBe(two);
    expect(one).not.toBe(three);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('makes the result once for all who wait', async () => {
    const { reader } = setUp();
    const map = vi.fn((raw: number) => raw + 1);
    const task = { ...taskOf(async () => 1), map };
    expect(await Promise.all([reader.read(task), reader.read(task)])).toEqual([2, 2]);
    expect(map).toHaveBeenCalledTimes(1);
  });

  it('refuses as overloaded what exceeds the reads at once, but for urgent ones', async () => {
    const { reader } = setUp(1_000, 2);
    const first = deferred<number>();
    const waiting = ['a', 'b'].map((key) => reader.read(taskOf(() => first.promise, key)));
    expect(await codeOf(() => reader.read(taskOf(async () => 1, 'c')))).toBe('overloaded');
    expect(await reader.read({ ...taskOf(async () => 1, 'd'), urgent: true })).toBe(1);
    first.resolve(7);
    expect(await Promise.all(waiting)).toEqual([7, 7]);
    expect(await reader.read(taskOf(async () => 1, 'c'))).toBe(1);
  });

  it('goes on for the others when one client leaves, and aborts when the last one has left', async () => {
    const { reader, reports } = setUp();
    const pending = deferred<number>();
    const signals: AbortSignal[] = [];
    const task = taskOf((context) => {
      signals.push(context.signal);
      return pending.promise;
    });
    const [one, two] = [visitor(), visitor()];
    const outcomes = [one, two].map(({ onLeave }) => outcomeOf(() => reader.read(task, onLeave)));
    one.leave();
    expect(await outcomes[0]).toBe(CLIENT_GONE);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    two.leave();
    expect(await outcomes[1]).toBe(CLIENT_GONE);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);

    const third = outcomeOf(() => reader.read(task));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    pending.reject(new Error('aborted'));
    expect(await third).toMatchObject({ code: 'source_unavailable' });
    expect(reports).toHaveLength(1);
  });

  it('listens no more for a client that has its answer', async () => {
    const client = visitor();
    await setUp().reader.read(
      taskOf(async () => 1),
      client.onLeave,
    );
    expect(client.listening()).toBe(0);
  });

  it('ends every read as overloaded when it is closed, and starts no other', async () => {
    const { reader, reports } = setUp();
    const pending = deferred<number>();
    let signal: AbortSignal | undefined;
    const outcome = codeOf(() =>
      reader.read(
        taskOf((context) => {
          signal = context.signal;
          return pending.promise;
        }),
      ),
    );
    reader.close();
    expect(await outcome).toBe('overloaded');
    expect(signal?.aborted).toBe(true);
    expect(await codeOf(() => reader.read(taskOf(() => 1)))).toBe('overloaded');
    pending.reject(new Error('late'));
    await new Promise(setImmediate);
    expect(reports).toEqual([]);
  });
});
