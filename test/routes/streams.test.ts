/** What streams do by themselves, over hours that a held clock makes of a moment. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { EventsBody } from '../../src/wire.ts';
import { askStream, type OpenStream } from '../helpers/ask-stream.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

const FEED = '/api/events/latest/';
const SECOND = 1_000;
const MINUTE = 60_000;

beforeEach(() => {
  // Sockets have timers of Node's own, which go on.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const { setTimeout: wait } = globalThis;

/** Resolves when it is so; the time that the monitor knows stands still meanwhile. */
async function reached(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => wait(resolve, 5));
}

/** Serves streams of a queue. @param isAllowed what `authorize` says */
async function served(isAllowed: () => boolean = () => true) {
  const queue = memorySources();
  const reads = vi.spyOn(queue.events, 'listEvents');
  const authorize = vi.fn(isAllowed);
  const { base } = await serve(EXPRESS, { sources: queue, authorize });
  const open = async (): Promise<OpenStream<EventsBody>> => {
    const stream = await askStream<EventsBody>(base, FEED);
    onTestFinished(() => stream.close());
    await reached(() => stream.messages.length === 1);
    return stream;
  };
  return { queue, reads, authorize, open };
}

const commentsIn = (stream: OpenStream<unknown>): number => stream.text().split(':\n\n').length - 1;

describe('streams', () => {
  it('send a comment every fifteen seconds, and read nothing while nothing changes', async () => {
    const { queue, reads, open } = await served();
    const stream = await open();
    for (let comments = 1; comments <= 4; comments += 1) {
      await vi.advanceTimersByTimeAsync(15 * SECOND - 1);
      expect(commentsIn(stream)).toBe(comments - 1);
      await vi.advanceTimersByTimeAsync(1);
      await reached(() => commentsIn(stream) === comments);
    }
    // The answer to the request, and one look at what may have changed behind it.
    expect(reads).toHaveBeenCalledTimes(2);
    queue.record({ id: '1', state: 'STARTED' });
    await vi.advanceTimersByTimeAsync(SECOND);
    await reached(() => stream.messages.length === 2);
    expect(reads).toHaveBeenCalledTimes(3);
  });

  it('ask every minute who may see them, and cut off who may no longer', async () => {
    let isAllowed = true;
    const { authorize, open } = await served(() => isAllowed);
    const stream = await open();
    for (let asked = 2; asked <= 4; asked += 1) {
      await vi.advanceTimersByTimeAsync(MINUTE);
      expect(authorize).toHaveBeenCalledTimes(asked);
    }
    expect(stream.isOver()).toBe(false);
    isAllowed = false;
    await vi.advanceTimersByTimeAsync(MINUTE);
    await reached(() => stream.isOver());
  });

  it('end after ten to fifteen minutes, so that clients come back with the credentials that they have then', async () => {
    const { open } = await served();
    const streams = [await open(), await open(), await open(), await open()];
    await vi.advanceTimersByTimeAsync(10 * MINUTE - SECOND);
    expect(streams.map((stream) => stream.isOver())).toEqual([false, false, false, false]);
    // Their age is looked at with each comment.
    await vi.advanceTimersByTimeAsync(5 * MINUTE + 16 * SECOND);
    await reached(() => streams.every((stream) => stream.isOver()));
    for (const stream of streams) expect(stream.text()).toMatch(/retry: 2000\n\n$/);
  });

  it('are cut off after a minute in which their client has read nothing', async () => {
    const queue = memorySources();
    let cutOff = 0;
    const { base } = await serve(
      EXPRESS,
      { sources: queue },
      {
        before: (app) =>
          void app.use((_request, response, next) => {
            response.once('close', () => {
              cutOff += 1;
            });
            next();
          }),
      },
    );
    // Much more than the buffers of both sides hold.
    for (let index = 0; index < 500; index += 1) {
      queue.record({ id: String(index), state: 'STARTED', name: 'pay'.repeat(10_000) });
    }
    const stalled = await askStream(base, `${FEED}?limit=500`);
    stalled.pause();
    onTestFinished(() => stalled.close());
    const reading = await askStream(base, FEED);
    onTestFinished(() => reading.close());
    await reached(() => reading.messages.length === 1);
    await vi.advanceTimersByTimeAsync(45 * SECOND);
    expect(cutOff).toBe(0);
    await vi.advanceTimersByTimeAsync(MINUTE);
    await reached(() => cutOff === 1);
    expect(reading.isOver()).toBe(false);
  });

  it('leave no timer behind when the last client has gone', async () => {
    const { open } = await served();
    const before = vi.getTimerCount();
    const streams = [await open(), await open()];
    expect(vi.getTimerCount()).toBeGreaterThan(before);
    for (const stream of streams) stream.close();
    await reached(() => vi.getTimerCount() <= before);
  });
});
