import { describe, expect, it } from 'vitest';
import type { StreamEntry } from '../../src/sources/bullmq/events/stream-entry.ts';
import {
  countReturned,
  takeEntry,
  type WatchedQueue,
  watchQueue,
} from '../../src/sources/bullmq/metrics/watched-queue.ts';

const NO_NAMES: ReadonlyMap<string, string> = new Map();

type Event = readonly [time: number, event: string, fields?: Readonly<Record<string, string>>];

function entryOf([time, event, fields = {}]: Event): StreamEntry {
  const all = new Map(Object.entries({ event, jobId: '1', ...fields }));
  return { id: `${time}-0`, time, fields: all, returnValue: null, size: 0 };
}

/** What is counted of events of one job. */
function counted(events: readonly Event[], names = NO_NAMES): readonly string[] {
  const seen: string[] = [];
  const queue: WatchedQueue = watchQueue('mail');
  const counter = {
    run: (_: string, name: string | null, ms: number) => void seen.push(`${name} ran ${ms}`),
    wait: (_: string, name: string | null, ms: number) => void seen.push(`${name} waited ${ms}`),
  };
  for (const event of events) takeEntry(queue, entryOf(event), counter, names);
  countReturned(queue, counter);
  return [...seen, ...(queue.jobs.size > 0 ? ['open'] : [])];
}

const ADDED: Event = [1_000, 'added', { name: 'send' }];

describe('the runs of a job', () => {
  it('begin when a worker takes it, and end when it has completed or failed', () => {
    const begun: readonly Event[] = [ADDED, [1_000, 'waiting'], [1_300, 'active', { prev: 'waiting' }]];
    expect(counted([...begun, [1_500, 'completed']])).toEqual(['send waited 300', 'send ran 200']);
    expect(counted([...begun, [1_500, 'failed', { failedReason: 'torn' }]])).toEqual([
      'send waited 300',
      'send ran 200',
    ]);
    expect(counted(begun)).toEqual(['send waited 300', 'open']);
  });

  it('are counted again for a retry, which waits from when it is due', () => {
    const events: readonly Event[] = [
      ADDED,
      [1_000, 'waiting'],
      [1_100, 'active'],
      [1_150, 'delayed', { delay: '2000' }],
      [2_040, 'waiting', { prev: 'delayed' }],
      [2_050, 'active'],
      [2_080, 'waiting', { prev: 'active' }],
      [2_090, 'active'],
      [2_100, 'completed'],
    ];
    expect(counted(events)).toEqual([
      ...['send waited 100', 'send ran 50', 'send waited 50', 'send ran 30'],
      ...['send waited 10', 'send ran 10'],
    ]);
  });

  it('do not include the time until a worker was found to be gone', () => {
    const events: readonly Event[] = [
      ADDED,
      [1_000, 'waiting'],
      [1_100, 'active'],
      [31_000, 'waiting', { prev: 'active' }],
      [31_000, 'stalled'],
      [31_005, 'active'],
      [31_105, 'completed'],
    ];
    expect(counted(events)).toEqual(['send waited 100', 'send waited 5', 'send ran 100']);
    const given: readonly Event[] = [...events.slice(0, 3), [31_000, 'failed', { failedReason: LIMIT }]];
    expect(counted(given)).toEqual(['send waited 100']);
  });

  it('are none for a parent that failed because of a child', () => {
    const reason = { failedReason: 'child bull:mail:7 failed' };
    expect(counted([ADDED, [1_000, 'waiting-children'], [1_200, 'failed', reason]])).toEqual([]);
    const late: readonly Event[] = [ADDED, [1_000, 'waiting'], [1_010, 'active'], [1_012, 'failed', reason]];
    expect(counted(late)).toEqual(['send waited 10']);
  });

  it('are counted without the time that children take', () => {
    const events: readonly Event[] = [
      ADDED,
      [1_000, 'waiting-children'],
      [1_500, 'waiting', { prev: 'waiting-children' }],
      [1_520, 'active'],
      [1_540, 'waiting-children', { prev: 'active' }],
      [1_700, 'waiting', { prev: 'waiting-children' }],
      [1_705, 'active'],
      [1_710, 'completed'],
    ];
    expect(counted(events)).toEqual(['send waited 20', 'send ran 20', 'send waited 5', 'send ran 5']);
  });

  it('are left out where their beginning was not seen', () => {
    expect(counted([[1_500, 'completed']])).toEqual([]);
    expect(
      counted(
        [
          [1_500, 'active'],
          [1_600, 'completed'],
        ],
        new Map([['1', 'late']]),
      ),
    ).toEqual(['late ran 100']);
    const promoted: readonly Event[] = [
      [1_500, 'waiting', { prev: 'delayed' }],
      [1_600, 'active'],
    ];
    expect(counted(promoted)).toEqual(['open']);
  });

  it('wait for less when somebody promotes the job', () => {
    const events: readonly Event[] = [
      ADDED,
      [1_000, 'delayed', { delay: '9000' }],
      [2_000, 'waiting', { prev: 'delayed' }],
      [2_010, 'active'],
    ];
    expect(counted(events)).toEqual(['send waited 10', 'open']);
  });

  it('are forgotten with a job that is removed', () => {
    expect(counted([ADDED, [1_000, 'waiting'], [1_100, 'removed', { prev: 'wait' }]])).toEqual([]);
  });
});

const LIMIT = 'job stalled more than allowable limit';
