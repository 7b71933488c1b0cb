import { describe, expect, it } from 'vitest';
import { createMonitorClient } from '../../src/client.ts';
import { combineSources } from '../../src/index.ts';
import { type MemorySources, memorySources } from '../../src/memory.ts';
import type { MonitorSources } from '../../src/source.ts';
import type { ProblemBody, WorkerBody, WorkersBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from '../router/host-kit.ts';
import { createShop } from '../router/shop-sources.ts';

const MINUTE = 60_000;

const serveSources = (sources: MonitorSources): Promise<Host> => serve(EXPRESS, { sources });

/** A worker with two slots. */
function addWorker(queue: MemorySources, hostname: string): void {
  queue.recordWorker({ hostname, concurrency: 2 });
}

interface Start {
  readonly id: string;
  readonly name?: string;
  readonly worker?: string;
  readonly minutes: number;
  readonly state?: string;
}

function start(queue: MemorySources, { id, name = 'video.encode', worker, minutes, state }: Start): void {
  const timestamp = Date.now() - minutes * MINUTE;
  const args = [`${id}.mov`, { password: 'hunter2' }];
  const kwargs = { quality: 'low', password: 'hunter2' };
  queue.record({ id, name, worker, args, kwargs, queue: 'video', state: 'STARTED', timestamp });
  if (state !== undefined) queue.record({ id, state, timestamp: timestamp + 1_000 });
}

/** Twenty runs of ten seconds each, so that it is known how long they take. */
function runBefore(queue: MemorySources, name = 'video.encode'): void {
  for (let run = 0; run < 20; run++) {
    const timestamp = Date.now() - 30 * MINUTE + run * 1_000;
    queue.record({ id: `${name} ${run}`, name, state: 'STARTED', timestamp });
    queue.record({ id: `${name} ${run}`, state: 'SUCCESS', timestamp: timestamp + 10_000 });
  }
}

async function workersOf(host: Host, running = 20): Promise<Readonly<Record<string, WorkerBody>>> {
  const { body } = await host.get<WorkersBody>(`/api/workers/?running=${running}`);
  return Object.fromEntries(body.workers.map((worker) => [worker.hostname, worker]));
}

describe('the list of workers', () => {
  it('has what runs on each, the longest first, and for how long tasks of the name usually run', async () => {
    const queue = memorySources({ name: 'jobs' });
    addWorker(queue, 'w1@h');
    addWorker(queue, 'w2@h');
    runBefore(queue);
    start(queue, { id: 'b', worker: 'w1@h', minutes: 0.3 });
    start(queue, { id: 'a', worker: 'w1@h', minutes: 0.5, state: 'PROGRESS' });
    const { 'w1@h': one, 'w2@h': two } = await workersOf(await serveSources(queue));
    expect(one).toMatchObject({ running_total: 2, stuck: false });
    expect(one?.running?.map(({ task_id }) => task_id)).toEqual(['a', 'b']);
    const [longest] = one?.running ?? [];
    expect(longest).toMatchObject({
      name: 'video.encode',
      queue: 'video',
      args: '["a.mov",{"password":"***"}]',
      kwargs: '{"quality":"low","password":"***"}',
      stuck: false,
    });
    // Percentiles of counts are at most half above the true value, or a third below it.
    expect(longest?.runtime_p95).toBeGreaterThan(6);
    expect(longest?.runtime_p95).toBeLessThan(15.1);
    expect(two).toMatchObject({ running: [], running_total: 0, stuck: false });
  });

  it('says which tasks should have ended, and which worker takes nothing else, as the findings do', async () => {
    const queue = memorySources({ name: 'jobs' });
    for (const worker of ['w1@h', 'w2@h', 'w3@h']) addWorker(queue, worker);
    runBefore(queue);
    for (const id of ['a', 'b']) start(queue, { id, worker: 'w1@h', minutes: 20 });
    start(queue, { id: 'c', worker: 'w2@h', minutes: 20 });
    start(queue, { id: 'd', worker: 'w2@h', minutes: 0.1 });
    start(queue, { id: 'e', worker: 'w3@h', minutes: 20, name: 'new.kind' });
    const host = await serveSources(queue);
    const workers = await workersOf(host);
    const judged = Object.values(workers).map(({ hostname, stuck, running }) => [
      hostname,
      stuck,
      ...(running ?? []).map((task) => task.stuck),
    ]);
    expect(judged).toEqual([
      ['w1@h', true, true, true],
      ['w2@h', false, true, false],
      // Of its name, nothing has run: nobody can tell.
      ['w3@h', false, null],
    ]);
    expect(workers['w3@h']?.running?.[0]?.runtime_p95).toBeNull();
    const { body } = await host.get<{ findings: { findings: { code: string; subject: string }[] } }>(
      '/api/components/',
    );
    const subjects = body.findings.findings.map(({ code, subject }) => `${code} ${subject}`);
    expect(subjects).toContain('worker_stuck w1@h');
    expect(subjects).toContain('task_overrun video.encode');
  });

  it('lists at most as many tasks of a worker as were asked for, and counts all', async () => {
    const queue = memorySources({ name: 'jobs' });
    addWorker(queue, 'w1@h');
    for (const minutes of [3, 2, 1]) start(queue, { id: `t${minutes}`, worker: 'w1@h', minutes });
    const host = await serveSources(queue);
    const { 'w1@h': two } = await workersOf(host, 2);
    expect(two?.running?.map(({ task_id }) => task_id)).toEqual(['t3', 't2']);
    expect(two?.running_total).toBe(3);
    const { 'w1@h': none } = await workersOf(host, 0);
    expect(none).toMatchObject({ running: [], running_total: 3 });
    const { body } = await host.get<WorkersBody>('/api/workers/');
    expect(body.workers[0]).not.toHaveProperty('running');
    expect(body).not.toHaveProperty('unassigned');
    const refused = await host.get<ProblemBody>('/api/workers/?running=101');
    expect(refused.body).toMatchObject({ status: 400, errors: [{ parameter: 'running' }] });
  });

  it('lists running tasks of no known worker apart, and none that a worker had when it fell silent', async () => {
    let behind = 10 * MINUTE;
    const queue = memorySources({ name: 'jobs', now: () => Date.now() - behind });
    addWorker(queue, 'gone@h');
    start(queue, { id: 'lost', worker: 'gone@h', minutes: 11 });
    behind = 0;
    start(queue, { id: 'alone', minutes: 2 });
    const { body } = await (await serveSources(queue)).get<WorkersBody>('/api/workers/?running=20');
    expect(body.workers).toMatchObject([{ hostname: 'gone@h', running: [], running_total: 0 }]);
    expect(body.unassigned).toMatchObject([
      { source: 'jobs', running: [{ task_id: 'alone' }], running_total: 1 },
    ]);
  });

  it('answers 304 while the same tasks run', async () => {
    const queue = memorySources({ name: 'jobs' });
    addWorker(queue, 'w1@h');
    start(queue, { id: 'a', worker: 'w1@h', minutes: 2 });
    const host = await serveSources(queue);
    const { headers } = await host.get('/api/workers/?running=5');
    const again = await host.get('/api/workers/?running=5', {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect(again.status).toBe(304);
  });
});

describe('running tasks of several sources', () => {
  it('are those of the workers of the same source', async () => {
    const [one, two] = [memorySources({ name: 'one' }), memorySources({ name: 'two' })];
    for (const queue of [one, two]) addWorker(queue, 'w@h');
    start(one, { id: 'a', worker: 'w@h', minutes: 1 });
    const host = await serveSources(combineSources(one, two, createShop().sources));
    const { workers } = await createMonitorClient(host.base).workers({ running: 3 });
    const running = workers.map(({ source, running: tasks }) => [source, tasks?.length ?? null]);
    expect(running).toContainEqual(['one', 1]);
    expect(running).toContainEqual(['two', 0]);
    // It does not say what runs.
    expect(running).toContainEqual(['shop', null]);
  });

  it.each([
    ['fails', () => Promise.reject(new Error('boom'))],
    ['says what cannot be', () => ({ since: 0, blind: null, open: { running: [null] } })],
  ])('are unknown where the source %s, and its workers are listed', async (_what, getActivity) => {
    const queue = memorySources({ name: 'jobs' });
    addWorker(queue, 'w1@h');
    const experimental = { ...queue.experimental, getActivity } as unknown as typeof queue.experimental;
    const { 'w1@h': worker } = await workersOf(await serveSources({ ...queue, experimental }));
    expect(worker).toMatchObject({ running: null, running_total: null, stuck: null });
  });
});
