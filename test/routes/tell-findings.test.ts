import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createMonitor } from '../../src/http/monitor.ts';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { resolveOptions } from '../../src/options/resolve-options.ts';
import { tellFindings } from '../../src/routes/tell-findings.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { backlog, fill, listen, ONE, QUICK, WAIT } from './tell-kit.ts';

function raise(message: string): never {
  throw new Error(message);
}

const HOSTILE = Object.defineProperty({}, 'then', { get: () => raise('hostile') });

describe.concurrent('onFinding', () => {
  it('is called once when something is found, and once when it is gone', async (test) => {
    const queue = backlog();
    const { heard, calls } = listen(test, { sources: queue });
    await vi.waitFor(() => expect(heard).toHaveLength(1), WAIT);
    queue.record({ id: 'mail', state: 'SUCCESS' });
    await vi.waitFor(() => expect(heard).toHaveLength(2), WAIT);
    expect(heard).toEqual(['raised jobs.queue_waiting mail', 'cleared jobs.queue_waiting mail']);
    const [raised, cleared] = calls.map(([finding]) => finding);
    expect(raised).toMatchObject({
      ...{ severity: 'warning', summary: 'Queue mail: oldest due 25 min ago, 1 task waiting' },
      ...{ evidence: { waiting: 1 }, look: '/api/tasks/?queue=mail&state=PENDING' },
    });
    expect(cleared).toEqual({ ...raised, status: 'cleared' });
    expect(Object.isFrozen(raised?.evidence)).toBe(true);
  });

  it.for<[string | undefined, boolean, string | null]>([
    [undefined, true, null],
    ['/monitor', true, null],
    ['https://shop.example/monitor/', true, 'https://shop.example/monitor/#/tasks?queue=mail&state=PENDING'],
    ['https://shop.example', false, 'https://shop.example/api/tasks/?queue=mail&state=PENDING'],
  ])('gets a link if publicUrl is absolute: %s', async ([publicUrl, dashboard, link], test) => {
    const { calls } = listen(test, { sources: backlog(), dashboard, ...(publicUrl && { publicUrl }) });
    await vi.waitFor(() => expect(calls).toHaveLength(1), WAIT);
    expect(calls[0]?.[1]).toEqual({ link });
  });

  it('gets no secret', async (test) => {
    const schedules = {
      name: 'memory',
      listSchedules: () => [{ id: '1', name: 'sync https://user:hunter2@db/x', nextRunAt: new Date(0) }],
    };
    const { calls } = listen(test, { sources: { ...memorySources(), schedules } });
    await vi.waitFor(() => expect(calls).toHaveLength(1), WAIT);
    expect(calls[0]?.[0].code).toBe('schedule_missed');
    expect(JSON.stringify(calls)).not.toContain('hunter2');
  });

  it.for<[string, NonNullable<MonitorOptions['onFinding']>, RegExp]>([
    ['throws', () => raise('no mail'), /onFinding: Error: no mail/],
    ['rejects', async () => raise('no mail'), /onFinding: Error: no mail/],
    ['hangs', () => new Promise(() => {}), /onFinding: MonitorError: .* did not end within 100 ms/],
    ['returns what throws when it is awaited', () => HOSTILE, /onFinding: Error: hostile/],
  ])(
    'may fail: one that %s is reported and called five times, and others are told',
    async ([, fail, error], test) => {
      const queue = backlog();
      fill(queue, 'images');
      const { calls, errors } = listen(test, {
        sources: queue,
        onFinding: (finding, context) => (finding.subject === 'mail' ? fail(finding, context) : 'done'),
      });
      const told = (subject: string) => calls.filter(([finding]) => finding.subject === subject).length;
      await vi.waitFor(() => expect([told('mail'), told('images')]).toEqual([5, 1]), WAIT);
      await sleep(300);
      expect([told('mail'), told('images')]).toEqual([5, 1]);
      expect(errors[0]).toMatch(error);
    },
  );

  it('is not called after close(), which does not wait for one that hangs, nor are sources read', async (test) => {
    const queue = backlog();
    let reads = 0;
    const tasks = {
      ...queue.tasks,
      getActivity: (context: Parameters<typeof queue.tasks.getActivity>[0]) => {
        reads += 1;
        return queue.tasks.getActivity(context);
      },
    };
    const { monitor, heard } = listen(
      test,
      { sources: { ...queue, tasks }, onFinding: () => new Promise(() => {}) },
      { callMs: 60_000 },
    );
    await vi.waitFor(() => expect(heard).toHaveLength(1), WAIT);
    const start = performance.now();
    await monitor.close();
    expect(performance.now() - start).toBeLessThan(15_000);
    const before = reads;
    await sleep(200);
    expect([reads, heard.length]).toEqual([before, 1]);
  });

  it('is not called for what was found while the router was closed', async (test) => {
    const queue = backlog();
    let answer = (): void => {};
    const tasks = {
      ...queue.tasks,
      async getActivity(context: Parameters<typeof queue.tasks.getActivity>[0]) {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return queue.tasks.getActivity(context);
      },
    };
    const asked = vi.spyOn(tasks, 'getActivity');
    const { monitor, heard } = listen(test, { sources: { ...queue, tasks } });
    await vi.waitFor(() => expect(asked).toHaveBeenCalled(), WAIT);
    await monitor.close();
    answer();
    await sleep(100);
    expect(heard).toEqual([]);
  });

  it('reads nothing where the host has none', async () => {
    const queue = memorySources();
    let reads = 0;
    const workers = {
      ...queue.workers,
      listWorkers: () => {
        reads += 1;
        return [];
      },
    };
    const monitor = createMonitor(resolveOptions({ sources: { ...queue, workers } }));
    tellFindings(monitor, QUICK);
    await sleep(100);
    await monitor.close();
    expect(reads).toBe(0);
  });

  it('is that of each router, where two show the same source', async (test) => {
    const queue = backlog('jobs', createArrayStore());
    const one = listen(test, { sources: queue });
    const two = listen(test, { sources: queue });
    await vi.waitFor(() => expect([one.heard, two.heard]).toEqual([ONE, ONE]), WAIT);
    await sleep(300);
    expect([one.heard, two.heard]).toEqual([ONE, ONE]);
  });

  it.for([true, 0, 'https://hooks.slack.com/x'])('has to be a function: %s', (onFinding) => {
    expect(() => resolveOptions({ onFinding })).toThrow(/'onFinding' must be a function.*Given: |onFinding/);
  });
});
