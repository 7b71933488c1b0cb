/** Without `result_extended`, what shows that a task never ran: its failure repeats that of another one. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type ArrayDeployment, holdTime, openArrayDeployment, pass } from './array-deployment.ts';

const START = Date.UTC(2026, 10, 21, 2);
const DONE = { date_done: new Date(START).toISOString() };
/** Longer than it takes until it is known what failures are. */
const SETTLED = 8_000;

describe('failures that repeat the one of another task', () => {
  let deployment: ArrayDeployment;
  let isBehind: boolean;

  beforeEach(() => {
    holdTime(START);
    isBehind = false;
    deployment = openArrayDeployment({
      control: false,
      broker: (broker) => ({ ...broker, events: { ...broker.events, isBehind: () => isBehind } }),
    });
    hear('b');
  });

  function hear(...ids: string[]): void {
    const common = { type: 'task-started', hostname: 'w1@a', pid: 1, timestamp: START / 1000 - 1 };
    deployment.hear(...ids.map((uuid) => ({ ...common, uuid })));
  }

  const failure = { status: 'FAILURE', traceback: 'File "a.py", in f', ...DONE };
  const boom = { exc_type: 'ValueError', exc_message: ['boom'] };
  function fail(id: string, more: object = {}): void {
    deployment.publish(id, { ...failure, result: boom, ...more });
  }

  /** `id` of a task that failed, `id!` of one that never ran, and before it the task that is known to be before it. */
  async function shown(...ids: string[]): Promise<string[]> {
    await pass(SETTLED);
    return await Promise.all(
      ids.map(async (id) => {
        const task = await deployment.task(id);
        const flag = task?.flags?.includes('consequence') === true ? '!' : '';
        return `${task?.parentId ?? ''} ${task?.state === 'FAILURE' ? id : 'none'}${flag}`.trim();
      }),
    );
  }

  it('are those of the steps behind it, stored from the last to the next', async () => {
    for (const id of ['b', 'd', 'c', 'c']) fail(id);
    expect(await shown('b', 'c', 'd')).toEqual(['b', 'b c!', 'c d!']);
  });

  it('are shown at once, before it is known whether their tasks ran', async () => {
    for (const id of ['b', 'c']) fail(id);
    await pass(1_000);
    expect(await deployment.task('c')).toMatchObject({
      state: 'FAILURE',
      cause: { exception: 'ValueError' },
    });
    expect(await shown('b', 'c')).toEqual(['b', 'b c!']);
    expect((await deployment.task('c'))?.cause).toBeNull();
  });

  it('stay those of steps when their results are told again', async () => {
    for (const id of ['b', 'c']) fail(id);
    await pass(SETTLED);
    fail('c');
    expect(await shown('b', 'c')).toEqual(['b', 'b c!']);
    expect((await deployment.task('c'))?.timeline).toHaveLength(1);
  });

  it('are those of steps although their failed task is heard of later than its result', async () => {
    fail('x', { traceback: 'of x' });
    fail('y', { traceback: 'of x' });
    hear('x');
    expect(await shown('x', 'y')).toEqual(['x', 'x y!']);
  });

  it('are linked, too, where an extended result shows that its task never ran', async () => {
    fail('b', { name: 'shop.fail', worker: 'w1@a' });
    fail('c', { name: 'shop.add', args: [], kwargs: {}, worker: null, retries: 0, queue: null });
    expect(await shown('b', 'c')).toEqual(['b', 'b c!']);
  });

  it('are not linked where several tasks failed in the same way', async () => {
    hear('x');
    for (const id of ['b', 'c', 'x', 'y']) fail(id);
    expect(await shown('c', 'y')).toEqual(['c!', 'y!']);
  });

  it('are not linked where some may have been missed', async () => {
    fail('b');
    fail('d');
    deployment.missResults();
    expect(await shown('d')).toEqual(['d!']);
  });

  it.each<[string, () => void]>([
    ['its task is heard of after all', () => hear('c')],
    ['events may tell of its task soon', () => (isBehind = true)],
    ['the other task is not heard of, either', () => fail('z', { parent_id: 'p' })],
  ])('are taken as they are when %s', async (_, arrange) => {
    fail('b');
    fail('c');
    arrange();
    expect(await shown('c')).toEqual(['c']);
  });

  it.each<[string, object, string?]>([
    ['that has another traceback', { traceback: 'File "b.py", in g' }],
    ['without a traceback', { traceback: null }],
    ['of a task with a parent', { parent_id: 'a' }, 'a c'],
    ['of a task with a worker', { worker: 'w1@a', name: 'shop.add' }],
  ])('are those of tasks that ran: one %s', async (_, more, line = 'c') => {
    fail('b');
    fail('c', more);
    expect(await shown('c')).toEqual([line]);
  });

  it('are those of the steps behind it, however long their texts are', async () => {
    const traceback = 'x'.repeat(64 * 1024);
    const ids = Array.from({ length: 200 }, (_, at) => `c${at}`);
    for (const id of ['b', ...ids]) fail(id, { traceback });
    const before = [...ids.slice(1), 'b'];
    expect(await shown(...ids)).toEqual(ids.map((id, at) => `${before[at]} ${id}!`));
  });

  it('are not linked where there are more than can be examined', async () => {
    const ids = Array.from({ length: 600 }, (_, at) => `c${at}`);
    for (const id of ['b', ...ids]) fail(id);
    expect(await shown('c0', 'c599')).toEqual(['c0!', 'c599']);
  });

  it('are judged within seconds while more and more arrive', async () => {
    hear('e');
    fail('e', { traceback: 'of e' });
    for (let at = 0; at < 12; at += 1) {
      fail(`f${at}`, { traceback: 'of e' });
      await pass(500);
    }
    const tasks = ['f0', 'f1', 'f2', 'f3'].map(async (id) => (await deployment.task(id))?.flags);
    expect(await Promise.all(tasks)).toEqual(tasks.map(() => ['consequence']));
  });

  it('are recognized by the lost job where there is no traceback', async () => {
    const message = 'Worker exited prematurely: signal 9 (SIGKILL) Job: 7.';
    const lost = { result: { exc_type: 'WorkerLostError', exc_message: [message] }, traceback: null };
    fail('b', lost);
    fail('c', lost);
    expect(await shown('c')).toEqual(['b c!']);
  });
});
