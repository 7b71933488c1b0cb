import { describe, expect, it, vi } from 'vitest';
import { combineSources, type MonitorSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { ComponentsBody, TaskDetailBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve } from '../router/host-kit.ts';

const MINUTE = 60_000;

/** A source with one waiting task `a` in the queue `mail`, which no worker consumes. */
function shop(more: Partial<MonitorSources> = {}, name = 'shop') {
  const listQueues = vi.fn((): unknown => [
    { name: 'mail', waiting: 1, consumers: 0, oldestDueAt: null, asOf: new Date() },
  ]);
  const getTask = vi.fn((id: string): unknown =>
    id === 'a' ? { id, state: 'PENDING', name: 'send', queue: 'mail' } : null,
  );
  const sources = {
    tasks: { name, listTasks: () => ({ tasks: [], next: null, total: 0 }), getTask },
    queues: { name, listQueues },
    ...more,
  } as unknown as MonitorSources;
  return { sources, listQueues, getTask };
}

const waitOf = async ({ get }: Host, id = 'a') =>
  (await get<TaskDetailBody>(`/api/tasks/${id}/`)).body.waiting_for;
const queuesOf = async ({ get }: Host) => (await get<ComponentsBody>('/api/components/')).body.queues?.queues;

describe('waiting_for of a task', () => {
  it('comes from the queues and workers of its source alone', async () => {
    const own = shop();
    const other = shop({}, 'other');
    other.getTask.mockReturnValue(null);
    const host = await serve(EXPRESS, { sources: combineSources(other.sources, own.sources) });
    expect(await waitOf(host)).toMatchObject({ code: 'no_consumer', summary: 'Queue mail has no consumer.' });
    expect(own.listQueues).toHaveBeenCalledTimes(1);
    expect(other.listQueues).not.toHaveBeenCalled();
  });

  it('is read once for all that ask within a second, and not for a task that does not wait', async () => {
    const { sources, listQueues, getTask } = shop();
    const host = await serve(EXPRESS, { sources });
    getTask.mockImplementation((id) => ({
      id,
      state: id.startsWith('done') ? 'SUCCESS' : 'PENDING',
      queue: 'mail',
    }));
    expect(await waitOf(host, 'done')).toBeNull();
    expect(listQueues).not.toHaveBeenCalled();
    const ids = Array.from({ length: 64 }, (_, index) => `task-${index}`);
    const codes = await Promise.all(ids.map(async (id) => (await waitOf(host, id))?.code));
    expect(new Set(codes)).toEqual(new Set(['no_consumer']));
    // A slow machine may take longer than a second for them.
    expect(listQueues.mock.calls.length).toBeLessThan(10);
  });

  it('is unknown if the queues are not read in time, and does not hold up the task', async () => {
    const { sources, listQueues } = shop();
    listQueues.mockReturnValue(new Promise(() => {}));
    const onError = vi.fn();
    const host = await serve(EXPRESS, { sources, timeoutMs: 1_000, onError });
    expect(await waitOf(host)).toMatchObject({
      code: 'unknown',
      summary: 'The queues could not be read in time.',
    });
  });

  it('is unknown if the source fails or returns nonsense', async () => {
    const broken = {
      getActivity: () => ({
        since: 0,
        blind: null,
        open: { running: [], waiting: 7 },
        counts: null,
        silent: [],
      }),
    };
    const { sources, listQueues, getTask } = shop({ experimental: { name: 'shop', ...broken } as never });
    const onError = vi.fn();
    const host = await serve(EXPRESS, { sources, onError });
    expect((await waitOf(host))?.code).toBe('unknown');
    expect(onError.mock.calls.map(([, { call }]) => call)).toContain('getActivity');
    listQueues.mockReturnValue('nonsense');
    getTask.mockReturnValue({ id: 'b', state: 'PENDING', queue: 'mail', ahead: 'x', waitsFor: 7 });
    expect((await waitOf(host, 'b'))?.code).toBe('unknown');
  });

  it('shows no secrets', async () => {
    const { sources, listQueues, getTask } = shop();
    const queue = 'redis://:hunter2hunter2@host/mail';
    listQueues.mockReturnValue([{ name: queue, waiting: 1, consumers: 0, oldestDueAt: null, asOf: null }]);
    getTask.mockReturnValue({ id: 'a', state: 'PENDING', queue });
    const host = await serve(EXPRESS, { sources });
    const wait = await waitOf(host);
    expect(wait?.code).toBe('no_consumer');
    expect(JSON.stringify(wait)).not.toContain('hunter2');
    const [row] = (await queuesOf(host)) ?? [];
    expect(JSON.stringify(row?.blocked_by)).not.toContain('hunter2');
  });

  it('is known for a queue of the host itself', async () => {
    const sources = memorySources({ name: 'jobs' });
    const host = await serve(EXPRESS, { sources });
    const since = new Date(Date.now() - MINUTE);
    sources.record({ id: 'a', state: 'PENDING', queue: 'mail', timestamp: since });
    sources.record({ id: 'b', state: 'PENDING', queue: 'fax', timestamp: since });
    sources.record({ id: 'body', state: 'PENDING', timestamp: since });
    sources.record({ id: 'c', state: 'SUCCESS', chordId: 'body' });
    sources.record({ id: 'd', state: 'STARTED', chordId: 'body', worker: 'ann', queue: 'mail' });
    sources.recordWorker({ hostname: 'ann', queues: ['mail'], concurrency: 1, interval: 60 });
    expect(await waitOf(host)).toMatchObject({ code: 'workers_busy', summary: 'The only slot is busy.' });
    expect((await waitOf(host, 'b'))?.code).toBe('no_consumer');
    expect(await waitOf(host, 'body')).toMatchObject({
      code: 'chord_header',
      summary: 'Waits for the header of its chord: 1 of 2 done.',
    });
    expect(await waitOf(host, 'd')).toBeNull();
  });
});

describe('queues of the component queues', () => {
  it('say why their tasks wait, and nothing where none does', async () => {
    const { sources, listQueues } = shop();
    const row = { consumers: 0, oldestDueAt: null, asOf: null };
    listQueues.mockReturnValue([
      { ...row, name: 'empty', waiting: 0 },
      { ...row, name: 'full', waiting: 3, isPaused: true },
      { ...row, name: 'hidden', waiting: null, consumers: null },
    ]);
    const host = await serve(EXPRESS, { sources });
    const queues = (await queuesOf(host)) ?? [];
    expect(queues.map(({ name, blocked_by }) => [name, blocked_by?.code ?? null])).toEqual([
      ['empty', null],
      ['full', 'queue_paused'],
      ['hidden', 'unknown'],
    ]);
    expect(queues.map(({ drain }) => drain?.reason ?? null)).toEqual([
      null,
      'Its depth has been observed for 0 s; it needs 20 s.',
      'The number of waiting tasks is unknown.',
    ]);
  });

  it('say that it is unknown why they wait while their source cannot be read', async () => {
    const { sources, listQueues } = shop();
    const host = await serve(EXPRESS, { sources, onError: vi.fn() });
    expect((await queuesOf(host))?.[0]?.blocked_by?.code).toBe('no_consumer');
    listQueues.mockImplementation(() => {
      throw new Error('away');
    });
    expect((await queuesOf(host))?.[0]).toMatchObject({ waiting: 1, drain: { seconds: null } });
  });
});
