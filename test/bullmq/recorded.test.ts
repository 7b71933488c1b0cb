import type { JobsOptions, Queue } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { selectTasks } from '../../src/select.ts';
import type { TaskQuery } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { context, detail, tree } from '../helpers/bullmq-read.ts';
import { BULLMQ_VERSIONS } from '../helpers/bullmq-versions.ts';
import { redisMissing, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { type RecordedQueues, recordQueues } from './recorded-lab.ts';

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'removed jobs'), () => {
  let app: BullMQApp;
  let queue: Queue;
  let on: RecordedQueues;

  beforeEach(async () => {
    app = await startBullMQ(BULLMQ_VERSIONS[0]?.bullmq as (typeof BULLMQ_VERSIONS)[0]['bullmq']);
    queue = app.queue('mail');
    on = await recordQueues(app, [queue]);
  });

  afterEach(async () => {
    await on?.close();
    await app?.close();
  });

  /** Adds jobs that end at once, and waits until they are recorded. */
  async function run(
    count: number,
    options: JobsOptions,
    names: readonly string[] = ['send'],
  ): Promise<void> {
    const jobs = Array.from({ length: count }, (_, index) => ({
      name: names[index % names.length] ?? 'send',
      data: { index, fails: index % 5 === 4, password: 'hunter2' },
      opts: options,
    }));
    await on.read(...(await queue.addBulk(jobs)));
    app.worker('mail', async ({ data }) => {
      if (data.fails) throw new Error('no route');
    });
    await on.recorded(count);
  }

  const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `mail:${index + 1}`);
  const sorted = (rows: readonly Task[]): string[] => rows.map(({ id }) => id).sort();

  it.each<[string, JobsOptions, number]>([
    ['all', { removeOnComplete: true, removeOnFail: true }, 0],
    ['all but a number', { removeOnComplete: 7, removeOnFail: { count: 2 } }, 9],
    ['all but those of an age', { removeOnComplete: { age: 3_600, count: 7 }, removeOnFail: 3 }, 10],
    ['none', {}, 60],
  ])('are one list with the others: %s', async (_, options, left) => {
    await run(60, options, ['a', 'b', 'c']);
    await app.settled(queue, left, 'completed', 'failed');
    const parts: Partial<TaskQuery>[] = [
      {},
      { order: 'asc' },
      { sort: 'name' },
      { sort: 'runtime', order: 'asc' },
      { sort: 'finished' },
      { sort: 'state' },
    ];
    for (const part of parts) {
      const rows = await on.walk({ limit: 23, ...part });
      expect(sorted(rows), JSON.stringify(part)).toEqual(ids(60).sort());
      const order = selectTasks(rows, queryOf({ limit: 100, ...part }));
      expect(
        rows.map(({ id }) => id),
        JSON.stringify(part),
      ).toEqual(order.tasks.map(({ id }) => id));
    }
    expect((await on.page({ limit: 100 })).total).toBe(60);
    expect((await on.walk({ limit: 23, engineStates: ['removed'] })).length).toBe(60 - left);
    expect((await on.walk({ limit: 23, engineStates: ['completed', 'failed'] })).length).toBe(left);
    expect((await on.walk({ limit: 23, engineStates: ['completed', 'removed', 'failed'] })).length).toBe(60);
    expect((await on.walk({ limit: 5, states: ['FAILURE'] })).length).toBe(12);
    expect((await on.walk({ limit: 23, names: ['a'] })).length).toBe(20);
    expect((await on.walk({ limit: 23, queues: ['other'] })).length).toBe(0);
    const search = ({ args }: Task): boolean => String(args).startsWith('{"index":7,');
    expect((await on.walk({ q: '"index":7,', search })).length).toBe(1);
  });

  it('are counted in the statistics, each job once, and are written without their secrets', async () => {
    await run(40, { removeOnComplete: 5, removeOnFail: true });
    for (const scan of [20_000, 40]) {
      const filter = queryOf({ scan });
      const stats = await on.sources.tasks.getTaskStats?.({ minutes: 60, now: new Date(), filter }, context);
      expect(stats?.states).toEqual({ SUCCESS: 32, FAILURE: 8 });
      expect(stats?.names).toMatchObject([{ name: 'send', count: 40, failed: 8 }]);
    }
    await until(() => on.store.rows('bullmq').tasks.size === 40);
    const written = JSON.stringify([...on.store.rows('bullmq').tasks.values()]);
    expect(written).toContain('password');
    expect(written).not.toContain('hunter2');
  });

  it('stay when the queue is obliterated, and nothing is made up of those that waited', async () => {
    await run(10, {});
    await queue.pause();
    await queue.add('send', {});
    await queue.obliterate({ force: true });
    expect(sorted(await on.walk({ limit: 4 }))).toEqual(ids(10).sort());
    // The numbers begin anew.
    await queue.resume();
    const again = await queue.add('send', { again: true }, { removeOnComplete: true });
    expect(again.id).toBe('1');
    await on.recorded(11);
    const rows = await on.walk({ limit: 4 });
    expect(rows.length).toBe(11);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(11);
  });

  it('with one id have lives of their own', async () => {
    const worker = app.worker('mail', async ({ data }) => data.n);
    for (let n = 1; n <= 3; n += 1) {
      await queue.add('report', { n }, { jobId: 'report', removeOnComplete: true });
      await on.recorded(n);
    }
    const rows = await on.walk({ limit: 2 });
    expect(rows.map(({ result }) => result)).toEqual(['3', '2', '1']);
    expect(rows.map(({ id }) => id)).toEqual([
      expect.stringMatching(/^mail:report@\d+$/),
      expect.stringMatching(/^mail:report@\d+$/),
      'mail:report',
    ]);
    for (const { id, result } of rows.slice(0, 2)) {
      expect(await detail(on.sources, id)).toMatchObject({ id, result });
    }
    // Under the id of the job, the latest is found.
    expect(await detail(on.sources, 'mail:report')).toMatchObject({ id: 'mail:report', result: '3' });
    await worker.pause();
    await queue.add('report', { n: 4 }, { jobId: 'report' });
    expect(await detail(on.sources, 'mail:report')).toMatchObject({ state: 'PENDING' });
    const live = await on.walk({ limit: 2 });
    expect(live.map(({ result, state }) => [state, result])).toEqual([
      ['PENDING', null],
      ['SUCCESS', '3'],
      ['SUCCESS', '2'],
    ]);
  });

  it('that were run again by hand have one life', async () => {
    const fails = { now: true };
    app.worker('mail', async () => {
      if (fails.now) throw new Error('not yet');
    });
    const job = await queue.add('send', {});
    await on.recorded(1);
    fails.now = false;
    await (await queue.getJob(job.id ?? ''))?.retry();
    await until(async () => recordedStates(on).includes('SUCCESS'));
    await job.remove();
    expect((await on.walk()).map(({ id, state, retries }) => [id, state, retries])).toEqual([
      ['mail:1', 'SUCCESS', 1],
    ]);
  });

  it('of a flow are in its graph', async () => {
    const flow = app.flow();
    const children = app.queue('children');
    await on.close();
    on = await recordQueues(app, [queue, children]);
    const opts = { removeOnComplete: true };
    const added = await flow.add({
      ...{ name: 'top', queueName: 'mail', opts },
      children: [1, 2].map((n) => ({ name: `child-${n}`, queueName: 'children', data: { n }, opts })),
    });
    const parts = (added.children ?? []).map(({ job }) => job);
    await on.read(added.job, ...parts);
    app.worker('children', async () => {});
    await on.recorded(2);
    const [top, ...below] = [added.job, ...parts].map(({ queueName, id }) => `${queueName}:${id}`);
    const expected = { rootId: top, truncated: false };
    const relations = new Set(below.map((id) => ({ parent: id, child: top, relation: 'flow' })));
    const look = async (): Promise<void> => {
      for (const id of [String(top), ...below]) {
        const found = await tree(on.sources, id);
        expect(found).toMatchObject(expected);
        expect(new Set(found?.relations)).toEqual(relations);
        expect(sorted(found?.tasks ?? [])).toEqual([String(top), ...below].sort());
      }
      expect(sorted(await on.walk({ limit: 1, parentId: String(top) }))).toEqual(below.toSorted());
      const all = await on.walk({ limit: 1, rootId: String(top) });
      expect(sorted(all)).toEqual([String(top), ...below].sort());
    };
    await look();
    app.worker('mail', async () => {});
    await on.recorded(3);
    await look();
  });

  it('are recorded by another instance from where the first one ended, also what ended in between', async () => {
    await run(20, { removeOnComplete: true, removeOnFail: true });
    await on.close();
    await queue.addBulk([1, 2, 3].map(() => ({ name: 'late', data: {}, opts: { removeOnComplete: true } })));
    await app.settled(queue, 0, 'wait', 'active');
    on = await recordQueues(app, [queue], on.store);
    await on.recorded(23);
    const rows = await on.walk({ limit: 7 });
    expect(sorted(rows)).toEqual(ids(23).sort());
    expect(rows.filter(({ name }) => name === 'late').length).toBe(3);
  });

  it('are shown by an instance with `collect: false`, which never records', async () => {
    await run(20, { removeOnComplete: true, removeOnFail: true });
    const follower = await recordQueues(app, [queue], on.store, false);
    try {
      await until(async () => (await follower.walk({ limit: 7 })).length === 20);
      await on.close();
      const tries = (): number => on.store.calls.filter((call) => call === 'lease.acquire').length;
      const before = tries();
      await queue.add('late', {}, { removeOnComplete: true });
      await app.settled(queue, 0, 'wait', 'active');
      const rows = await follower.walk({ limit: 7 });
      expect(sorted(rows)).toEqual(ids(20).sort());
      expect((await follower.sources.components.listComponents(context)).at(-1)?.config).toMatchObject({
        is_holder: false,
      });
      expect(tries()).toBe(before);
    } finally {
      await follower.close();
    }
  });

  it('are missing while the store cannot be read, and the jobs in Redis are not', async () => {
    await on.close();
    const store = createArrayStore();
    store.before = () => {
      throw new Error('away');
    };
    on = await recordQueues(app, [queue], store);
    await queue.addBulk([1, 2, 3].map((n) => ({ name: 'a', data: { n } })));
    const first = await on.page({ limit: 2 });
    expect(first.tasks.length).toBe(2);
    const last = await on.page({ limit: 2, after: first.next });
    expect(last).toMatchObject({ tasks: [{ name: 'a' }], total: null, cursorExact: false });
    expect(last.next).not.toBeNull();
    await expect(on.page({ limit: 2, after: last.next })).rejects.toMatchObject({
      code: 'source_unavailable',
    });
    expect(await detail(on.sources, 'mail:1')).toMatchObject({ state: 'PENDING' });
    await expect(detail(on.sources, 'mail:9')).rejects.toMatchObject({ code: 'source_unavailable' });
    expect(await tree(on.sources, 'mail:1')).toMatchObject({ tasks: [{ id: 'mail:1' }], truncated: true });
  });
});

/** The states in which jobs have been recorded. */
function recordedStates({ store }: RecordedQueues): readonly string[] {
  return [...store.rows('bullmq').tasks.values()].map(({ state }) => state);
}
