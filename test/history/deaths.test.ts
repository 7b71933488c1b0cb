/** What workers ran when they died. */
import { describe, expect, it } from 'vitest';
import type { TaskChange, WorkerChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { CONTEXT, T0, told } from './telling.ts';

const LOST = "WorkerLostError('Worker exited prematurely: signal 9 (SIGKILL) Job: 1.')";

/** A deployment whose clock goes on with each message. */
function deployment() {
  let now = T0;
  const history = createMemoryHistory({ now: () => now });
  const task = (id: string, type: TaskChange['type'], fields: Partial<TaskChange> = {}): void => {
    now += 1_000;
    history.writer.recordTask(told({ id, type, time: now, worker: 'w', name: `job.${id[0]}`, ...fields }));
  };
  const worker = (type: WorkerChange['type'], fields: Partial<WorkerChange> = {}): void => {
    now += 1_000;
    history.writer.recordWorker({ hostname: 'w', type, time: now, ...fields });
  };
  return {
    history,
    task,
    worker,
    pass: (ms: number) => {
      now += ms;
    },
    async deaths(): Promise<unknown> {
      const { deaths } = await history.reader.getActivity(CONTEXT);
      return deaths?.map((death) => [death.worker, death.running.map(({ id }) => id).join()]);
    },
  };
}

type Deployment = ReturnType<typeof deployment>;

describe('the death of', () => {
  it('a process of the pool takes the task that it ran, once', async () => {
    const { task, deaths } = deployment();
    for (const id of ['a', 'b']) task(id, 'started');
    task('a', 'failed', { exception: LOST });
    task('a', 'failed', { exception: LOST });
    expect(await deaths()).toEqual([['w', 'a']]);
  });

  it('a worker takes all that it ran, but not what had ended', async () => {
    const { task, worker, deaths } = deployment();
    worker('online', { pid: 1 });
    for (const id of ['a', 'b', 'c']) task(id, 'started');
    task('b', 'succeeded');
    worker('online', { pid: 2 });
    expect(await deaths()).toEqual([['w', 'a,c']]);
  });

  it('a container shows in the tasks that it had begun', async () => {
    const { task, worker, deaths } = deployment();
    worker('online', { pid: 1, processed: 0 });
    task('a', 'started');
    worker('heartbeat', { pid: 1, processed: 1, active: 1 });
    worker('online', { pid: 1, processed: 1 });
    expect(await deaths()).toEqual([]);
    worker('online', { pid: 1, processed: 0 });
    expect(await deaths()).toEqual([['w', 'a']]);
  });

  it('a worker that never comes back is noticed by its silence', async () => {
    const { task, worker, pass, deaths } = deployment();
    worker('heartbeat', { pid: 1, active: 0 });
    task('a', 'started');
    pass(120_000);
    expect(await deaths()).toEqual([['w', 'a']]);
    pass(86_400_000);
    expect(await deaths()).toEqual([]);
  });

  it.each<[string, (all: Deployment) => void]>([
    ['that was stopped', ({ worker }) => worker('offline')],
    ['whose task is not reported to have ended', ({ worker }) => worker('heartbeat', { pid: 1, active: 0 })],
    ['of which messages were missed', ({ history }) => history.writer.recordGap()],
    [
      'whose task failed by itself',
      ({ task }) => task('a', 'failed', { exception: "ValueError('signal 9')" }),
    ],
    [
      'whose processes are stopped with it',
      ({ task }) => task('a', 'failed', { exception: "WorkerLostError('exited: signal 15 (SIGTERM)')" }),
    ],
  ])('is none of a worker %s', async (_, happen) => {
    const all = deployment();
    all.worker('online', { pid: 1 });
    all.task('a', 'started');
    happen(all);
    all.worker('online', { pid: 2 });
    expect(await all.deaths()).toEqual([]);
  });

  it('is none of two workers that use one name', async () => {
    const { task, worker, deaths } = deployment();
    for (const pid of [1, 2, 1]) worker('heartbeat', { pid });
    task('a', 'started');
    for (const pid of [2, 1, 2]) worker('heartbeat', { pid });
    expect(await deaths()).toEqual([]);
  });
});
