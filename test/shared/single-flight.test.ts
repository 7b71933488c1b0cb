import { describe, expect, it, vi } from 'vitest';
import { createSingleFlight, shareCalls, WAITER_LEFT } from '../../src/single-flight.ts';

/** A call that ends when it is told to, and waiters that leave when they are told to. */
function controlled() {
  let resolve: (value: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<string>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  const abandon = vi.fn();
  const start = vi.fn(() => ({ result: promise, abandon }));
  return {
    start,
    abandon,
    resolve: (value: string) => resolve(value),
    reject: (error: Error) => reject(error),
  };
}

function client() {
  const leaves: (() => void)[] = [];
  return {
    onLeave: (listener: () => void) => {
      leaves.push(listener);
      return () => void leaves.splice(0);
    },
    leave: () => {
      for (const listener of [...leaves]) listener();
    },
    leaves,
  };
}

describe('a single flight', () => {
  it('is shared by all who ask for the same key while it is under way', async () => {
    const flights = createSingleFlight<string>();
    const { start, resolve } = controlled();
    const all = [flights.run('a', start), flights.run('a', start), flights.run('b', start)];
    expect(start).toHaveBeenCalledTimes(2);
    expect([flights.size, flights.has('a')]).toEqual([2, true]);
    resolve('done');
    expect(await Promise.all(all)).toEqual(['done', 'done', 'done']);
    expect([flights.size, flights.has('a')]).toEqual([0, false]);
    void flights.run('a', start);
    expect(start).toHaveBeenCalledTimes(3);
  });

  it('fails for all who wait, and is started again afterwards', async () => {
    const flights = createSingleFlight<string>();
    const { start, reject } = controlled();
    const all = Promise.allSettled([flights.run('a', start), flights.run('a', start)]);
    reject(new Error('away'));
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(flights.size).toBe(0);
  });

  it('is abandoned when the last waiter leaves, and whoever asks then starts anew', async () => {
    const flights = createSingleFlight<string>();
    const { start, abandon } = controlled();
    const [one, other] = [client(), client()];
    const waiting = [flights.run('a', start, one.onLeave), flights.run('a', start, other.onLeave)];
    one.leave();
    await expect(waiting[0]).rejects.toBe(WAITER_LEFT);
    expect(abandon).not.toHaveBeenCalled();
    other.leave();
    await expect(waiting[1]).rejects.toBe(WAITER_LEFT);
    expect(abandon).toHaveBeenCalledOnce();
    expect(flights.has('a')).toBe(false);
    void flights.run('a', start);
    expect(start).toHaveBeenCalledTimes(2);
  });

  it('goes on while somebody waits who never leaves', () => {
    const flights = createSingleFlight<string>();
    const { start, abandon } = controlled();
    const one = client();
    void flights.run('a', start);
    flights.run('a', start, one.onLeave).catch(() => {});
    one.leave();
    expect(abandon).not.toHaveBeenCalled();
    expect(flights.has('a')).toBe(true);
  });

  it('forgets its waiters once it has ended', async () => {
    const flights = createSingleFlight<string>();
    const { start, resolve, abandon } = controlled();
    const one = client();
    const waiting = flights.run('a', start, one.onLeave);
    resolve('done');
    expect(await waiting).toBe('done');
    expect(one.leaves).toEqual([]);
    expect(abandon).not.toHaveBeenCalled();
  });
});

describe('shared calls', () => {
  it('run once for all who call while they run', async () => {
    const work = vi.fn(async () => work.mock.calls.length);
    const call = shareCalls(work);
    expect(await Promise.all([call(), call()])).toEqual([1, 1]);
    expect(await call()).toBe(2);
  });

  it('reuse a result for a while, and no failure', async () => {
    let fails = true;
    const work = vi.fn(async () => {
      if (fails) throw new Error('away');
      return work.mock.calls.length;
    });
    const call = shareCalls(work, 60_000);
    await expect(call()).rejects.toThrow('away');
    fails = false;
    expect(await call()).toBe(2);
    expect(await call()).toBe(2);
  });
});
