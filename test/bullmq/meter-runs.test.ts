/** Which events of a stream the meter counts as runs and waits, and of what length. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MetricHistogram } from '../../src/source.ts';
import { context } from '../helpers/bullmq-read.ts';
import { openMeter } from '../helpers/meters.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { openSourceRedis } from './source-redis.ts';

type Event = readonly [time: number, event: string, fields?: Readonly<Record<string, string>>];

const ADDED: Event = [1_000, 'added', { name: 'send' }];
const BEGUN: readonly Event[] = [ADDED, [1_000, 'waiting'], [1_300, 'active', { prev: 'waiting' }]];
/** A worker is gone, and another one takes its job. */
const STALLED: readonly Event[] = [
  ADDED,
  [1_000, 'waiting'],
  [1_100, 'active'],
  [31_000, 'waiting', { prev: 'active' }],
  [31_001, 'stalled'],
  [31_005, 'active'],
  [31_105, 'completed'],
];
/** A job that says that all before it were counted. */
const LAST: readonly Event[] = [
  [90_000, 'added', { jobId: '2', name: 'end' }],
  [90_000, 'waiting', { jobId: '2' }],
  [90_000, 'active', { jobId: '2' }],
  [90_000, 'completed', { jobId: '2' }],
];
const OF_CHILD = { failedReason: 'child bull:mail:7 failed' };

/** Their runs take exactly as long as some buckets reach, and longer. */
const BUCKETS = 'fall into every bucket whose bound they do not exceed';

/** What a job went through, how long it ran and how long it waited, in milliseconds: the lengths of all. */
const LIVES: Readonly<Record<string, readonly [Event[], runs: number[], waits: number[]]>> = {
  'begin when a worker takes it, and end when it has completed': [
    [...BEGUN, [1_500, 'completed']],
    [200],
    [300],
  ],
  'end when it has failed': [[...BEGUN, [1_500, 'failed', { failedReason: 'torn' }]], [200], [300]],
  'have not ended while it runs': [[...BEGUN], [], [300]],
  'are counted again for a retry, which waits from when it is due': [
    [
      ADDED,
      [1_000, 'waiting'],
      [1_100, 'active'],
      [1_150, 'delayed', { delay: '2000' }],
      [2_040, 'waiting', { prev: 'delayed' }],
      [2_050, 'active'],
      [2_080, 'waiting', { prev: 'active' }],
      [2_090, 'active'],
      [2_100, 'completed'],
    ],
    [50, 30, 10],
    [100, 50, 10],
  ],
  'do not include the time until a worker was found to be gone': [[...STALLED], [100], [100, 5]],
  'are not counted where the worker is gone for good': [
    [...STALLED.slice(0, 3), [31_000, 'failed', { failedReason: 'job stalled more than allowable limit' }]],
    [],
    [100],
  ],
  'are none for a parent that failed because of a child': [
    [ADDED, [1_000, 'waiting-children'], [1_200, 'failed', OF_CHILD]],
    [],
    [],
  ],
  'are none for a parent that failed so once a worker took it': [
    [ADDED, [1_000, 'waiting'], [1_010, 'active'], [1_012, 'failed', OF_CHILD]],
    [],
    [10],
  ],
  'are counted without the time that children take': [
    [
      ADDED,
      [1_000, 'waiting-children'],
      [1_500, 'waiting', { prev: 'waiting-children' }],
      [1_520, 'active'],
      [1_540, 'waiting-children', { prev: 'active' }],
      [1_700, 'waiting', { prev: 'waiting-children' }],
      [1_705, 'active'],
      [1_710, 'completed'],
    ],
    [20, 5],
    [20, 5],
  ],
  'are left out where their beginning was not seen': [[[1_500, 'completed']], [], []],
  'wait for less when somebody promotes the job': [
    [
      ADDED,
      [1_000, 'delayed', { delay: '9000' }],
      [2_000, 'waiting', { prev: 'delayed' }],
      [2_010, 'active'],
    ],
    [],
    [10],
  ],
  'wait for no time when the clock of a worker is ahead of the time at which they are due': [
    [ADDED, [1_000, 'delayed', { delay: '9000' }], [2_000, 'active'], [2_010, 'completed']],
    [10],
    [0],
  ],
  [BUCKETS]: [
    [
      ADDED,
      [1_000, 'waiting'],
      [1_100, 'active'],
      [1_105, 'waiting', { prev: 'active' }],
      [1_200, 'active'],
      [1_206, 'waiting', { prev: 'active' }],
      [1_300, 'active'],
      [4_300, 'waiting', { prev: 'active' }],
      [5_000, 'active'],
      [15_000, 'waiting', { prev: 'active' }],
      [16_000, 'active'],
      [27_000, 'completed'],
    ],
    [5, 6, 3_000, 10_000, 11_000],
    [100, 95, 94, 700, 1_000],
  ],
  'are forgotten with a job that is removed': [
    [ADDED, [1_000, 'waiting'], [1_100, 'removed', { prev: 'wait' }]],
    [],
    [],
  ],
};

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the runs of a job'), () => {
  const queues = Object.keys(LIVES).map((_, index) => `q${index}`);
  let on: Awaited<ReturnType<typeof openSourceRedis>>;

  beforeAll(async () => {
    on = await openSourceRedis(...queues);
  });
  afterAll(() => on?.close());

  it('are counted as its events tell', async () => {
    const meter = openMeter(on.sources, { hostname: false, mostSeries: 10_000 });
    const read = async (family: string): Promise<readonly MetricHistogram[]> => {
      const series = (await meter.collect(context)).find(({ name }) => name === family);
      return [...(series?.samples ?? [])] as MetricHistogram[];
    };
    try {
      // It counts from when it has found the queues.
      await until(async () => (await read('bullmq_job_count')).length > 0);
      // It does not count what was there before.
      const begin = Date.now();
      for (const [index, [events]] of Object.values(LIVES).entries()) {
        for (const [at, [time, event, fields = {}]] of [...events, ...LAST].entries()) {
          const { delay } = fields;
          // The moment at which it is due.
          const due = delay === undefined ? {} : { delay: String(begin + Number(delay)) };
          const written = Object.entries({ event, jobId: '1', ...fields, ...due }).flat();
          await on.redis.xadd(`bull:q${index}:events`, `${begin + time}-${at}`, ...written);
        }
      }
      const ended = async (): Promise<number> =>
        (await read('bullmq_job_run_time_seconds')).filter(({ labels }) => labels.name === 'end').length;
      await until(async () => (await ended()) === queues.length);
      const [runs, waits] = [
        await read('bullmq_job_run_time_seconds'),
        await read('bullmq_job_wait_time_seconds'),
      ];
      const told = (histograms: readonly MetricHistogram[], queue: string) => {
        const own = histograms.filter(({ labels }) => labels.queue === queue && labels.name !== 'end');
        return own.map(({ labels, count, sum }) => [labels.name, count, Math.round(sum * 1_000)]);
      };
      const expected = (lengths: readonly number[]) =>
        lengths.length === 0 ? [] : [['send', lengths.length, lengths.reduce((sum, ms) => sum + ms, 0)]];
      for (const [index, [life, [, ran, waited]]] of Object.entries(LIVES).entries()) {
        expect([life, told(runs, `q${index}`), told(waits, `q${index}`)]).toEqual([
          life,
          expected(ran),
          expected(waited),
        ]);
      }
      const queue = `q${Object.keys(LIVES).indexOf(BUCKETS)}`;
      const filled = runs.find(({ labels }) => labels.queue === queue && labels.name === 'send');
      expect(filled?.buckets).toEqual([1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4]);
    } finally {
      meter.close();
    }
  });
});
