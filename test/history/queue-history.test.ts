import { describe, expect, it } from 'vitest';
import { createQueueHistory } from '../../src/history/aggregate/queue-history.ts';
import { CONTEXT, historyOf, query, T0, told } from './telling.ts';

const MINUTE = 60_000;
const at = (minute: number): number => T0 + minute * MINUTE;
const DUE = { ageMs: null, isAtLeast: false };

describe('queues in memory', () => {
  it('are kept for a day, and fewer minutes of many queues', () => {
    const queues = createQueueHistory();
    for (let minute = 0; minute < 3_000; minute++) queues.addReading('q', minute, DUE, at(minute));
    expect([...queues.samples()].map(({ at: time }) => time)).toEqual(
      Array.from({ length: 1_440 }, (_, n) => at(1_560 + n)),
    );
    const many = createQueueHistory();
    for (let minute = 0; minute < 100; minute++) {
      for (let queue = 0; queue < 1_200; queue++) many.addReading(`q${queue}`, 1, DUE, at(minute));
    }
    expect([...many.samples()].length).toBeLessThanOrEqual(21_000);
    many.clear();
    expect([...many.samples()]).toEqual([]);
  });

  it('leave out times that nobody can have seen', () => {
    const queues = createQueueHistory();
    queues.addMove('sent', 'q', Number.NaN, at(0));
    queues.addMove('sent', 'q', at(-2_000), at(0));
    expect([...queues.samples()]).toEqual([]);
    queues.addMove('sent', 'q', at(500), at(0));
    expect([...queues.samples()]).toMatchObject([{ at: at(0), sent: 1, lastWaiting: null }]);
  });

  it('take in what is stored, unless more is known', () => {
    const queues = createQueueHistory();
    queues.addReading('q', 5, DUE, at(1));
    const stored = {
      ...{ mostWaiting: 9, lastWaiting: 3, age: 7, isAtLeast: true },
      ...{ sent: 2, received: 1, started: 0 },
    };
    queues.absorb({ queue: 'q', at: at(0), ...stored });
    queues.absorb({ queue: 'q', at: at(1), ...stored });
    queues.absorb({ queue: null, at: at(1), ...stored, lastWaiting: null });
    expect([...queues.samples(['q'])]).toMatchObject([
      { queue: 'q', at: at(1), lastWaiting: 5, age: null, sent: 2 },
      { queue: null, received: 1 },
      {
        queue: 'q',
        at: at(0),
        mostWaiting: 9,
        lastWaiting: 3,
        age: 7,
        isAtLeast: true,
        sent: 2,
        received: 1,
      },
    ]);
  });
});

describe('the statistics of a history without a store', () => {
  it('have queues over time, with the queue of a worker that has one alone', async () => {
    const history = historyOf([]);
    history.writer.recordWorker({ hostname: 'w', type: 'heartbeat', time: T0, queues: ['mail'] } as never);
    history.writer.recordQueue('mail', 7, T0, true);
    for (const id of ['a', 'b']) {
      history.writer.recordTask(told({ id, type: 'received', name: 'send', worker: 'w', time: at(1) - 1 }));
    }
    const stats = await history.reader.getTaskStats(
      { minutes: 5, now: new Date(at(1)), stepSeconds: 60, filter: query() },
      CONTEXT,
    );
    const [mail, ...others] = stats.queueDepths ?? [];
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ queue: 'mail', oldestAtLeast: true, growingSince: null });
    expect(mail?.waiting.at(-1)).toBe(7);
    expect(mail?.oldestSeconds.at(-1)).toBe(60);
    expect(mail?.received?.at(-2)).toBe(2);
    expect((await history.reader.getActivity(CONTEXT)).growing).toEqual([]);
    history.close();
  });
});
