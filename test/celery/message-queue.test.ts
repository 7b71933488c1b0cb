import { describe, expect, it } from 'vitest';
import { scheduler } from '../../src/scheduler.ts';
import { createMessageQueue } from '../../src/sources/celery/message-queue.ts';
import { until } from '../helpers/redis-server.ts';

/** A queue whose long messages take 100 steps; messages are noted when they have been taken. */
function setUp() {
  const taken: string[] = [];
  const lost: string[] = [];
  let steps = 0;
  let last = '';
  const queue = createMessageQueue<string>({
    kind: 'events',
    sizeOf: ({ length }) => length,
    take(message) {
      if (!message.startsWith('long')) {
        taken.push(message);
        return null;
      }
      return (function* () {
        for (let step = 0; step < 100; step += 1) {
          steps += 1;
          yield;
        }
        taken.push(message);
      })();
    },
    lost: () => lost.push(last),
  });
  const push = (message: string): void => {
    last = message;
    queue.push(message);
  };
  return { queue, push, taken, lost, steps: () => steps };
}

/** Uses up the time of this turn. */
function spendTurn(): void {
  scheduler.measure(() => {
    for (const end = performance.now() + 12; performance.now() < end; );
  });
}

async function untilIdle(): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (scheduler.waiting > 0 || !scheduler.hasTime());
}

describe('a queue of messages', () => {
  it('takes a message at once while the turn has time', async () => {
    // A turn that the machine has interrupted has no time left: the next one has.
    await until(async () => {
      await untilIdle();
      const { push, taken } = setUp();
      push('a');
      push('b');
      return taken.join() === 'a,b';
    });
  });

  it('keeps the order, whatever has to wait', async () => {
    await untilIdle();
    const { push, taken, lost, steps } = setUp();
    push('a');
    spendTurn();
    for (const message of ['b', 'long c', 'd', 'long e', 'f']) push(message);
    expect(taken).toEqual(['a']);
    await untilIdle();
    push('g');
    expect(taken).toEqual(['a', 'b', 'long c', 'd', 'long e', 'f', 'g']);
    expect(steps()).toBe(200);
    expect(lost).toEqual([]);
  });

  it('bounds what waits, and reports what it drops', async () => {
    await untilIdle();
    const { push, taken, lost } = setUp();
    spendTurn();
    const message = 'x'.repeat(16 * 1024 * 1024);
    for (let count = 0; count < 5; count += 1) push(message);
    expect(lost).toHaveLength(1);
    await untilIdle();
    expect(taken).toHaveLength(4);
    push('after');
    expect(taken.at(-1)).toBe('after');
  });

  it('takes nothing once it is closed', async () => {
    await untilIdle();
    const { queue, push, taken } = setUp();
    spendTurn();
    push('a');
    queue.close();
    await untilIdle();
    push('b');
    expect(taken).toEqual([]);
  });
});
