import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { QueueReader, QueueReading } from '../../src/sources/celery/broker.ts';
import { createQueues, type Queues } from '../../src/sources/celery/queues/queues.ts';
import { until } from '../helpers/redis-server.ts';

const READING: QueueReading = {
  queues: [{ name: 'mail', waiting: 1, reserved: null, consumers: 0 }],
  messages: [],
  isComplete: false,
  newest: [],
  ok: true,
  problem: null,
  revision: 1,
};

describe('queues whose messages cannot be listed', () => {
  let queues: Queues | null = null;

  afterEach(() => queues?.stop());

  function open(readings: readonly QueueReading[]) {
    const asked: (readonly string[])[] = [];
    const reader: QueueReader = {
      listsMessages: false,
      read: async (known) => {
        asked.push(known);
        return readings[Math.min(asked.length, readings.length) - 1] ?? READING;
      },
    };
    const history = createMemoryHistory({});
    const lineage = { queued: () => expect.unreachable() };
    const opened = createQueues({ reader, history, lineage, known: () => ['worked'] });
    queues = opened;
    return { asked, queues: opened };
  }

  it('are those that workers consume and that clients report to send to', async () => {
    const { asked, queues } = open([READING]);
    expect(queues.listsMessages).toBe(false);
    queues.announced('mail');
    queues.announced('mail');
    queues.start();
    await queues.ready();
    expect(asked).toEqual([['worked', 'mail']]);
    expect(queues.depths()).toEqual(READING.queues);
  });

  it('do not say where a task is, unless they are known to hold none at all', async () => {
    const empty = { ...READING, queues: [], isComplete: true, revision: 2 };
    const { queues } = open([READING, empty]);
    expect(queues.holds('a')).toBeNull();
    queues.start();
    await queues.ready();
    expect(queues.holds('a')).toBeNull();
    expect(queues.waits('a')).toBe(false);
    await until(() => queues.holds('a') === false);
  });
});
