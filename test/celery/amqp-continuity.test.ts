import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Continuity, createContinuity } from '../../src/sources/celery/brokers/amqp/continuity.ts';
import { until } from '../helpers/redis-server.ts';

const MOST = 5;

interface Lab {
  readonly continuity: Continuity;
  gaps: number;
  /** Messages by their content. @returns which of them were received before */
  receive(contents: readonly string[], redelivered?: boolean): readonly string[];
}

function lab(): Lab {
  const all: Lab = {
    gaps: 0,
    continuity: createContinuity(MOST, () => {
      all.gaps += 1;
    }),
    receive: (contents, redelivered = false) =>
      contents.filter((content) =>
        all.continuity.receive({ content: Buffer.from(content), fields: { redelivered } }),
      ),
  };
  return all;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const found = (ready: number, consumers = 0) => ({ ready, consumers });

describe('the continuity of events over a reconnect', () => {
  it('is proved by the return of the last message, and what returns is not taken again', () => {
    const all = lab();
    all.receive(['a', 'b', 'c']);
    expect(all.continuity.resume(found(4))).toBe(false);
    expect(all.receive(['b', 'c'], true)).toEqual(['b', 'c']);
    expect(all.continuity.isWaiting()).toBe(false);
    expect(all.receive(['d', 'e'])).toEqual([]);
    expect(all.gaps).toBe(0);
  });

  it('is broken when anything else comes first', () => {
    const all = lab();
    all.receive(['a', 'b', 'c']);
    expect(all.continuity.resume(found(1))).toBe(false);
    expect(all.receive(['e'])).toEqual([]);
    expect(all.gaps).toBe(1);
    all.receive(['f']);
    expect(all.gaps).toBe(1);
  });

  it('is broken when a message comes between those that return', () => {
    const all = lab();
    all.receive(['a', 'b', 'c']);
    all.continuity.resume(found(2));
    expect(all.receive(['b'], true)).toEqual(['b']);
    all.receive(['d'], true);
    expect(all.gaps).toBe(1);
  });

  it.each([
    ['the queue is gone', null],
    ['the queue is empty', found(0)],
  ])('is known to be broken when %s', (_, queue) => {
    const all = lab();
    all.receive(['a']);
    expect(all.continuity.resume(queue)).toBe(true);
    expect(all.continuity.isWaiting()).toBe(false);
    expect(all.gaps).toBe(0);
  });

  it('is not known where no message had come before', () => {
    const all = lab();
    expect(all.continuity.resume(found(3))).toBe(true);
  });

  it('waits while RabbitMQ still counts the lost consumer, whose messages come later', () => {
    const all = lab();
    all.receive(['a', 'b']);
    expect(all.continuity.resume(found(0, 1))).toBe(false);
    expect(all.receive(['c', 'd'])).toEqual([]);
    expect(all.continuity.isWaiting()).toBe(true);
    expect(all.receive(['a', 'b'], true)).toEqual(['a', 'b']);
    expect(all.continuity.isWaiting()).toBe(false);
    expect(all.gaps).toBe(0);
  });

  it('is given up when these messages do not come, or the connection is lost again before', () => {
    const all = lab();
    all.receive(['a']);
    all.continuity.resume(found(0, 1));
    all.receive(['b']);
    expect(all.continuity.resume(found(1))).toBe(true);
    const other = lab();
    other.receive(['a']);
    other.continuity.resume(found(0, 1));
    other.continuity.giveUp();
    other.continuity.giveUp();
    expect(other.gaps).toBe(1);
  });

  it('survives attempts to reconnect that fail half-way', () => {
    const all = lab();
    all.receive(['a']);
    expect(all.continuity.resume(found(1))).toBe(false);
    expect(all.continuity.resume(found(1))).toBe(false);
    expect(all.receive(['a'], true)).toEqual(['a']);
    expect(all.gaps).toBe(0);
  });

  it('compares long messages, too, and remembers no more than can return', () => {
    const all = lab();
    const long = 'x'.repeat(100_000);
    all.receive([...Array.from({ length: 3 * MOST }, (_, index) => String(index)), `${long}1`, `${long}2`]);
    all.continuity.resume(found(2));
    expect(all.receive(['0'], true)).toEqual([]);
    all.continuity.resume(found(2));
    expect(all.receive([`${long}1`, `${long}2`], true)).toEqual([`${long}1`, `${long}2`]);
  });

  it('keeps the messages themselves, not all that was read together with them', async () => {
    const continuity = createContinuity(500, () => {});
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let index = 0; index < 500; index += 1) {
      const content = Buffer.alloc(200_000, index).subarray(0, 500);
      continuity.receive({ content, fields: { redelivered: false } });
    }
    // Node frees what was collected in the background.
    await until(() => {
      collect();
      return process.memoryUsage().arrayBuffers - before < 5_000_000;
    });
    expect(continuity.resume(found(1))).toBe(false);
  });
});
