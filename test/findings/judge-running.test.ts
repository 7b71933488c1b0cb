import { describe, expect, it } from 'vitest';
import { judgeRunning, type RunningSituation } from '../../src/findings/judge-running.ts';
import type { Activity } from '../../src/source.ts';
import { activity, ago, NOW, queue, runs, worker } from './situations.ts';

const USUAL = await activity({ tasks: runs('quick', 120, 60, { perMinute: 2, seconds: 0.1 }) });
const [FULL, OTHER] = ['w1', 'w2'].map((name) => worker(name, { concurrency: 2, active: 2 }));

/** @returns which tasks are stuck, which workers, and what is said of all; `ages`: how many minutes each has run */
function judged(
  { lost = [], ...more }: Partial<Activity & Pick<Activity['open'], 'lost'>>,
  rest: Partial<RunningSituation>,
  ages: readonly number[],
) {
  const running = ages.map((age, at) => ({
    ...{
      id: `t${age}`,
      name: age > 7 ? 'quick' : 'new',
      startedAt: ago(age),
      queue: at < 2 ? 'mail' : 'other',
    },
    worker: at < 2 ? 'w1' : 'w2',
  }));
  const open = { ...USUAL.open, running, lost };
  const situation = { workers: [FULL, OTHER], queues: [], activity: { ...USUAL, open, ...more }, ...rest };
  const steps = judgeRunning(situation as RunningSituation, NOW);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  if (step.value === null) return null;
  const { tasks, isWhole, stuckWorkers, judgesWorkers } = step.value;
  return [tasks.map(({ isStuck }) => isStuck), [...stuckWorkers], { isWhole, judgesWorkers }];
}

describe('running tasks', () => {
  const lost = { worker: 'w1', isWorkerOnline: false, count: 2, since: null, states: [], examples: [] };
  const all = { isWhole: true, judgesWorkers: true };
  const pulled = { isWhole: true, judgesWorkers: false };

  it.each<[string, ...Parameters<typeof judged>, ReturnType<typeof judged>]>([
    ['that run too long on a worker', {}, {}, [9, 8, 1], [[true, true, null], ['w1'], all]],
    [
      'on a worker that is away',
      {},
      { workers: [worker('w1', { status: 'offline', concurrency: 2 })] },
      [9, 8, 0.9],
      [[true, true, false], [], all],
    ],
    ['of names of which little is known', {}, {}, [7, 6, 1], [[null, null, null], [], all]],
    [
      'that block a queue',
      { workersPull: true },
      { queues: [queue('mail', 1, 1)] },
      [9, 8, 1],
      [[true, true, null], [], pulled],
    ],
    [
      'of a source that sees nothing',
      { blind: 'No events.' },
      {},
      [9, 0.9, 1],
      [[null, false, null], [], { isWhole: false, judgesWorkers: false }],
    ],
    ['of a source that does not say', {}, { activity: null }, [], null],
    ['of a worker that is gone', { lost: [lost] }, { workers: [] }, [9, 8, 1], [[null], [], all]],
  ])('%s', (_what, more, rest, ages, expected) => {
    expect(judged(more, rest, ages)).toEqual(expected);
  });
});
