import { expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { QueueReader, WaitingMessage } from '../../src/sources/celery/broker.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { createQueues } from '../../src/sources/celery/queues/queues.ts';
import { until } from '../helpers/redis-server.ts';

const NOW = 1_700_000_000_000;

function message(id: string, queue: string, more: object = {}): WaitingMessage {
  const facts = { id, queue, eta: null, ...more };
  return {
    tag: id,
    part: queue,
    position: 0,
    takenAt: null,
    seenAt: NOW - 3_000,
    relations: [],
    bytes: 0,
    facts,
  } as unknown as WaitingMessage;
}

it('records how much waits in each queue with every reading, and since when the oldest due task waits', async () => {
  const recorded: unknown[][] = [];
  const { writer, index } = createMemoryHistory({ now: () => NOW });
  writer.recordTask({ id: 'a', type: 'sent', time: NOW - 60_000, origin: 'event', queue: 'busy' });
  const history = {
    writer: { ...writer, recordQueue: (...given: unknown[]) => recorded.push(given) },
    index,
  };
  const queue = (name: string, waiting: number | null) => ({
    name,
    waiting,
    reserved: null,
    consumers: null,
  });
  const reader = {
    read: async () => ({
      ...{ ok: true, revision: 1, isComplete: true, problem: null, newest: [] },
      queues: [queue('busy', 3), queue('later', 1), queue('empty', 0), queue('unknown', null)],
      messages: [message('z', 'later', { eta: NOW + 60_000 }), message('a', 'busy'), message('b', 'busy')],
    }),
    close: async () => {},
  } as unknown as QueueReader;
  const queues = createQueues({
    reader,
    history,
    lineage: createLineage(createMemoryHistory()),
    now: () => NOW,
  });
  queues.start();
  await until(() => recorded.length > 0);
  queues.stop();
  expect(recorded.slice(0, 3)).toEqual([
    ['busy', 3, NOW - 60_000, false],
    ['later', 1, null, false],
    ['empty', 0, null, false],
  ]);
});
