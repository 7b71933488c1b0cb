import { describe, expect, it } from 'vitest';
import type { WorkerChange } from '../../src/history/history.ts';
import { createMemoryHistory, type MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { StoredWorker } from '../../src/history/workers/worker-record.ts';
import { CONTEXT, T0, told } from './telling.ts';

function instance(options: MemoryHistoryOptions = {}, startedAt = 0) {
  let now = T0 + startedAt;
  const history = createMemoryHistory({ now: () => now, ...options });
  const { access, writer, reader } = history;
  return {
    ...{ history, access },
    at(time: number) {
      now = T0 + time;
    },
    hear(change: Partial<WorkerChange> = {}) {
      writer.recordWorker({ hostname: 'w1@a', type: 'heartbeat', time: now, interval: 2, ...change });
    },
    list: async () => (await reader.listWorkers(CONTEXT)).map(({ hostname, status }) => [hostname, status]),
    worker: async () => (await reader.listWorkers(CONTEXT))[0],
    /** As it is after it was written and read. */
    kept: (hostname = 'w1@a') => JSON.parse(JSON.stringify(access.readWorker(hostname))) as StoredWorker,
  };
}

describe('absorbed workers', () => {
  it('are shown by an instance that hears nothing, with the status that time gives them', async () => {
    const one = instance();
    one.hear({ pid: 7, pool: 'prefork', queues: ['celery'], uptimeSeconds: 60, loadAverage: [1, 2, 3] });
    const follower = instance({}, 1_000);
    follower.access.absorbWorker(one.kept());
    expect(await follower.worker()).toEqual(await one.worker());
    expect(await follower.worker()).toMatchObject({ status: 'online', pid: 7, queues: ['celery'] });
    follower.at(7_000);
    expect(await follower.list()).toEqual([['w1@a', 'stale']]);
    follower.at(61_000);
    expect(await follower.list()).toEqual([['w1@a', 'offline']]);
    expect((await follower.history.reader.checkWorkers(CONTEXT)).missing).toEqual(['w1@a']);
    one.at(60_000);
    one.hear({ active: 3 });
    follower.access.absorbWorker(one.kept());
    expect(await follower.worker()).toMatchObject({ status: 'online', pid: 7, active: 3 });
    one.at(62_000);
    one.hear({ type: 'offline' });
    follower.access.absorbWorker(one.kept());
    expect(await follower.list()).toEqual([['w1@a', 'offline']]);
    expect((await follower.history.reader.checkWorkers(CONTEXT)).missing).toEqual([]);
  });

  it('change nothing that is known better', async () => {
    const [old, live] = [instance(), instance({}, 10_000)];
    old.hear({ active: 1, pool: 'prefork', pid: 5 });
    const before = old.kept();
    live.hear({ active: 2, pid: 5 });
    live.access.absorbWorker(before);
    // Except for what it adds.
    expect(await live.worker()).toMatchObject({ active: 2, lastHeartbeat: new Date(T0 + 10_000) });
    const { revision } = live.history.reader.freshness('workers');
    live.access.absorbWorker(before);
    expect(live.history.reader.freshness('workers').revision).toBe(revision);
    // A goodbye that was taken back.
    old.at(5_000);
    old.hear({ type: 'offline' });
    live.access.absorbWorker(old.kept());
    expect(await live.list()).toEqual([['w1@a', 'online']]);
  });

  it('of another process have none of the facts of the former one', async () => {
    const [one, other] = [instance(), instance({}, 60_000)];
    one.hear({ pid: 5, pool: 'prefork', processed: 90 });
    other.hear({ type: 'online', pid: 6, processed: 0 });
    const first = one.kept();
    one.at(60_000);
    one.access.absorbWorker(other.kept());
    expect(await one.worker()).toMatchObject({ pid: 6, pool: null, processed: 0 });
    other.access.absorbWorker(first);
    expect(await other.worker()).toMatchObject({ pid: 6, pool: null, processed: 0 });
  });

  it('know since when their process exists, so that tasks of the former one are lost', async () => {
    const one = instance();
    one.hear({ pid: 5, uptimeSeconds: 1_000 });
    one.at(30_000);
    one.hear({ type: 'online', pid: 6, uptimeSeconds: 0 });
    const other = instance({}, 31_000);
    other.history.writer.recordTask(told({ type: 'started', time: T0, worker: 'w1@a' }));
    const flags = async () => (await other.history.reader.getTask('a', CONTEXT))?.flags;
    expect(await flags()).toEqual([]);
    other.access.absorbWorker(one.kept());
    expect(await flags()).toEqual(['worker_lost']);
  });

  it('survive JSON, and what is none is left out', async () => {
    const one = instance();
    one.hear();
    expect(one.kept()).toEqual(one.access.readWorker('w1@a'));
    expect(one.kept().bornAt).toBeNull();
    expect(one.access.readWorker('nobody')).toBeNull();
    const other = instance();
    for (const wrong of [
      { hostname: '' },
      { heardAt: null },
      { heardAt: 'x' },
      { facts: null },
      { intervalMs: Number.NaN },
    ]) {
      other.access.absorbWorker({ ...one.kept(), ...wrong } as StoredWorker);
    }
    expect(await other.list()).toEqual([]);
  });

  it('take the room of those that were heard before them only', async () => {
    const one = instance();
    const kept = ['a', 'b', 'c'].map((hostname, at) => {
      one.at(at * 100);
      one.hear({ hostname });
      return one.kept(hostname);
    });
    const other = instance({ maxWorkers: 2 });
    for (const at of [1, 0, 2]) other.access.absorbWorker(kept[at] as StoredWorker);
    expect((await other.list()).map(([hostname]) => hostname)).toEqual(['b', 'c']);
    other.access.absorbWorker(kept[0] as StoredWorker);
    expect((await other.list()).map(([hostname]) => hostname)).toEqual(['b', 'c']);
    // One that is not listed any more takes none.
    const late = instance({ workerExpiryMs: 1_000 }, 70_000);
    late.access.absorbWorker(kept[0] as StoredWorker);
    expect(await late.list()).toEqual([]);
  });
});
