import { describe, expect, it } from 'vitest';
import { createDurationSeries } from '../../src/sources/bullmq/metrics/duration-series.ts';

describe('durations by queue and name', () => {
  it('fall into every bucket whose bound they do not exceed', () => {
    const durations = createDurationSeries(10);
    for (const seconds of [0.005, 0.006, 3, 10, 11, -1]) durations.add('run', 'mail', 'send', seconds);
    expect([...durations.read('run')]).toEqual([
      {
        labels: { queue: 'mail', name: 'send' },
        buckets: [2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 5],
        sum: expect.closeTo(24.011, 9),
        count: 6,
      },
    ]);
    expect([...durations.read('wait')]).toEqual([]);
  });

  it('are counted under other names and queues where there is no room', () => {
    const durations = createDurationSeries(8);
    for (let index = 0; index < 20; index += 1) {
      for (const name of ['a', 'b', null]) durations.add('wait', `queue-${index}`, name, 1);
    }
    const counts = [...durations.read('wait')].map(({ labels, count }) => [labels.queue, labels.name, count]);
    expect(counts).toEqual([
      ...[0, 1].flatMap((index) => ['a', 'b', 'None'].map((name) => [`queue-${index}`, name, 1])),
      ['queue-2', 'other', 3],
      ['other', 'other', 51],
    ]);
    expect(durations.overflow()).toBe(54);
  });
});
