import { describe, expect, it } from 'vitest';
import { createScheduler, type Scheduler } from '../../src/scheduler/create-scheduler.ts';
import { type Steps, scheduler, type Waiter } from '../../src/scheduler.ts';

/** A host that is so busy that waiting work may use the longest time of a turn. */
const BUSY_MS = 40;

/** A scheduler whose clock moves when a step says so, and whose turns the test takes. */
function manual(hostMs = BUSY_MS) {
  let time = 0;
  const due: (() => void)[] = [];
  const log: string[] = [];
  const own: Scheduler = createScheduler({ now: () => time, defer: (turn) => void due.push(turn) });

  function* work<Result>(name: string, steps: number, msPerStep: number, result: Result): Steps<Result> {
    try {
      for (let step = 0; step < steps; step++) {
        log.push(name);
        time += msPerStep;
        yield;
      }
      return result;
    } finally {
      log.push(`${name} ended`);
    }
  }

  /** Lets the host do its work first. @returns the milliseconds that the turn took */
  function turn(): number {
    time += hostMs;
    const start = time;
    for (const run of due.splice(0)) run();
    return time - start;
  }

  return {
    scheduler: own,
    work,
    turn,
    log,
    spend: (ms: number) =>
      own.measure(() => {
        time += ms;
      }),
    isTurnDue: () => due.length > 0,
    /** How often each work had a slice, in their order. */
    slices: () => log.filter((name, at) => log[at - 1] !== name),
  };
}

function client(name?: string): Waiter & { leave(reason?: unknown): void } {
  const controller = new AbortController();
  return { signal: controller.signal, client: name, leave: (reason) => controller.abort(reason) };
}

describe('the scheduler', () => {
  it('does short work at once', () => {
    const { scheduler: own, work } = manual();
    expect(own.run('list', work('a', 9, 1, 'result'), client())).toBe('result');
  });

  it('does at once what is left of the turn, and the rest in later turns', async () => {
    const { scheduler: own, work, turn, log } = manual();
    const result = own.run('search', work('a', 25, 1, 'result'), client());
    expect(log).toHaveLength(10);
    const times = [turn(), turn(), turn()];
    expect(times).toEqual([2, 10, 3]);
    await expect(result).resolves.toBe('result');
  });

  it('counts the work of one turn in total, whoever does it', () => {
    const { scheduler: own, work, spend, turn } = manual();
    spend(6);
    expect(own.hasTime()).toBe(true);
    expect(own.run('list', work('a', 3, 1, 1), client())).toBe(1);
    expect(own.run('list', work('b', 8, 1, 2), client())).toBeInstanceOf(Promise);
    expect(own.hasTime()).toBe(false);
    turn();
    turn();
    expect(own.hasTime()).toBe(true);
  });

  it('gives no turn more than its time, whatever the number of works', () => {
    const { scheduler: own, work, turn, spend } = manual();
    spend(10);
    for (let at = 0; at < 64; at++) void own.run('search', work(`${at}`, 100, 0.5, at), client(`${at}`));
    turn();
    const times = Array.from({ length: 100 }, turn);
    expect(Math.max(...times)).toBeLessThanOrEqual(10);
    expect(Math.min(...times)).toBe(10);
  });

  it.each([
    { hostMs: 0.0625, turnMs: 2 },
    { hostMs: 8, turnMs: 2 },
    { hostMs: 24, turnMs: 6 },
    { hostMs: 400, turnMs: 10 },
  ])('uses $turnMs ms of a turn in which the host used $hostMs ms', ({ hostMs, turnMs }) => {
    const { scheduler: own, work, turn, spend } = manual(hostMs);
    spend(10);
    void own.run('search', work('a', 10_000, 0.5, 0), client());
    turn();
    expect(Array.from({ length: 50 }, turn)).toEqual(Array.from({ length: 50 }, () => turnMs));
  });

  it.each([
    { what: 'idle time', hostMs: 60_000, doneMs: 0 },
    { what: 'its own short work', hostMs: 0, doneMs: 8 },
  ])('does not take $what for time of the host', ({ hostMs, doneMs }) => {
    const { scheduler: own, work, turn, spend } = manual(hostMs);
    spend(10);
    void own.run('search', work('a', 100, 0.5, 0), client());
    if (doneMs > 0) turn();
    spend(doneMs);
    expect(turn()).toBe(2);
  });

  it('needs no turn of its own once nothing is left to count', () => {
    const { spend, turn, isTurnDue } = manual();
    spend(1);
    expect(isTurnDue()).toBe(true);
    turn();
    expect(isTurnDue()).toBe(false);
  });

  it('does the works of one client one after the other', async () => {
    const { scheduler: own, work, turn, spend, slices } = manual();
    spend(10);
    const ana = client('ana');
    const results = ['a', 'b'].map((name) => own.run('search', work(name, 4, 1, name), ana));
    for (let at = 0; at < 3; at++) turn();
    expect(slices()).toEqual(['a', 'a ended', 'b', 'b ended']);
    await expect(Promise.all(results)).resolves.toEqual(['a', 'b']);
  });

  it('lets another client and another kind of work take turns with the many works of one', () => {
    const { scheduler: own, work, turn, spend, log } = manual();
    spend(10);
    for (let at = 0; at < 64; at++) void own.run('search', work('many', 100, 1, 0), client('ana'));
    void own.run('search', work('ben', 4, 1, 0), client('ben'));
    void own.run('list', work('list', 4, 1, 0), client('ana'));
    turn();
    turn();
    turn();
    expect(log.slice(0, 8)).toEqual(['many', 'many', 'ben', 'ben', 'list', 'list', 'many', 'many']);
    expect(log).toContain('ben ended');
    expect(log).toContain('list ended');
  });

  it('gives every second slice to work that nobody waits for', () => {
    const { scheduler: own, work, turn, spend, log } = manual();
    spend(10);
    for (let at = 0; at < 9; at++) void own.run('search', work(`${at}`, 100, 2, 0), client(`${at}`));
    void own.run('events', work('events', 100, 2, 0));
    for (let at = 0; at < 10; at++) turn();
    expect(log.filter((name) => name === 'events').length).toBe(Math.floor(log.length / 2));
  });

  it('stops work that nobody waits for any more, and work whose time is up', async () => {
    const { scheduler: own, work, turn, log, slices } = manual();
    const ana = client('ana');
    const running = own.run('search', work('a', 100, 1, 0), ana);
    const waiting = own.run('search', work('b', 100, 1, 0), ana);
    turn();
    const done = log.length;
    ana.leave('left');
    expect(own.waiting).toBe(0);
    expect(turn()).toBe(0);
    expect(log).toHaveLength(done + 1);
    expect(slices()).toEqual(['a', 'a ended']);
    await expect(running).rejects.toBe('left');
    await expect(waiting).rejects.toBe('left');
    const late = client();
    late.leave('over');
    const spent = own.run('search', work('c', 100, 1, 0), late);
    await expect(spent).rejects.toBe('over');
  });

  it('refuses work at once that would have to wait too long', () => {
    const { scheduler: own, work, turn, spend } = manual();
    void own.run('search', work('first', 1_000, 1, 0), client('ana'));
    for (let at = 0; at < 200; at++) turn();
    expect(own.waiting).toBe(0);
    spend(10);
    const begin = (name: string) => own.run('search', work(name, 1_000, 1, 0), client(name));
    const accepted = Array.from({ length: 6 }, () => begin('ana'));
    expect(accepted).toHaveLength(6);
    expect(() => begin('ana')).toThrow(expect.objectContaining({ code: 'overloaded' }));
    // The work of others would come next, and own work is never refused.
    void begin('ben');
    void own.run('events', work('events', 1, 1, 0));
    expect(own.waiting).toBe(8);
  });

  it('bounds how many works wait', () => {
    const { scheduler: own, work, spend } = manual();
    spend(10);
    const begin = (name: string) => own.run('list', work(name, 1, 1, 0), client(name));
    for (let at = 0; at < 256; at++) void begin(`${at}`);
    expect(() => begin('one more')).toThrow(expect.objectContaining({ code: 'overloaded' }));
  });

  it('passes on what the steps throw', async () => {
    const { scheduler: own, turn, spend } = manual();
    function* failing(): Steps<void> {
      yield;
      throw new RangeError('broken');
    }
    expect(() => own.run('list', failing())).toThrow(RangeError);
    spend(10);
    const later = own.run('list', failing());
    turn();
    turn();
    await expect(later).rejects.toThrow(RangeError);
    expect(own.waiting).toBe(0);
  });

  it('is not disturbed by steps that abort their own signal', async () => {
    const { scheduler: own, turn, spend } = manual();
    const ana = client();
    function* leaving(): Steps<void> {
      ana.leave('left');
      yield;
    }
    spend(10);
    const result = own.run('list', leaving(), ana);
    turn();
    await expect(result).rejects.toBe('left');
    turn();
    expect(own.waiting).toBe(0);
  });

  it('leaves a turn to timers and connections between two turns of work', async () => {
    let isOver = false;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!isOver) setTimeout(count, 0);
    };
    setTimeout(count, 0);
    function* busy(): Steps<void> {
      for (const end = performance.now() + 10_000; turns <= 3 && performance.now() < end; ) yield;
    }
    await scheduler.run('search', busy(), client());
    isOver = true;
    expect(turns).toBeGreaterThan(3);
  });
});
