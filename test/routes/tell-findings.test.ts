import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createMonitorRouter, type MonitorOptions, type ReadContext } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { backlog, fill, listen, ONE, pass, passUntil, stopClock } from './tell-kit.ts';

function raise(message: string): never {
  throw new Error(message);
}

const HOSTILE = Object.defineProperty({}, 'then', { get: () => raise('hostile') });

beforeEach(stopClock);

describe('onFinding', () => {
  it('is called once when something is found, and once when it is gone', async () => {
    const queue = backlog();
    const { heard, calls } = listen({ sources: queue });
    await passUntil(() => heard.length === 1);
    queue.record({ id: 'mail', state: 'SUCCESS' });
    await passUntil(() => heard.length === 2);
    expect(heard).toEqual(['raised jobs.queue_waiting mail', 'cleared jobs.queue_waiting mail']);
    const [raised, cleared] = calls.map(([finding]) => finding);
    expect(raised).toMatchObject({
      ...{ severity: 'warning', summary: 'Queue mail: oldest due 20 min ago, 1 task waiting' },
      ...{ evidence: { waiting: 1 }, look: '/api/tasks/?queue=mail&state=PENDING' },
    });
    expect(cleared).toEqual({ ...raised, status: 'cleared' });
    expect(Object.isFrozen(raised?.evidence)).toBe(true);
  });

  it.each<[string | undefined, boolean, string | null]>([
    [undefined, true, null],
    ['/monitor', true, null],
    ['https://shop.example/monitor/', true, 'https://shop.example/monitor/#/tasks?queue=mail&state=PENDING'],
    ['https://shop.example', false, 'https://shop.example/api/tasks/?queue=mail&state=PENDING'],
  ])('gets a link if publicUrl is absolute: %s', async (publicUrl, dashboard, link) => {
    const { calls } = listen({ sources: backlog(), dashboard, ...(publicUrl && { publicUrl }) });
    await passUntil(() => calls.length === 1);
    expect(calls[0]?.[1]).toEqual({ link });
  });

  it('gets no secret', async () => {
    const schedules = {
      name: 'memory',
      listSchedules: () => [{ id: '1', name: 'sync https://user:hunter2@db/x', nextRunAt: new Date(0) }],
    };
    const { calls } = listen({ sources: { ...memorySources(), schedules } });
    await passUntil(() => calls.length === 1);
    expect(calls[0]?.[0].code).toBe('schedule_missed');
    expect(JSON.stringify(calls)).not.toContain('hunter2');
  });

  it.each<[string, NonNullable<MonitorOptions['onFinding']>, RegExp]>([
    ['throws', () => raise('no mail'), /onFinding: Error: no mail/],
    ['rejects', async () => raise('no mail'), /onFinding: Error: no mail/],
    ['hangs', () => new Promise(() => {}), /onFinding: MonitorError: .* did not end within 30000 ms/],
    ['returns what throws when it is awaited', () => HOSTILE, /onFinding: Error: hostile/],
  ])(
    'may fail: one that %s is reported and called five times, and others are told',
    async (_, fail, error) => {
      const queue = backlog();
      fill(queue, 'images');
      const { calls, errors } = listen({
        sources: queue,
        onFinding: (finding, context) => (finding.subject === 'mail' ? fail(finding, context) : 'done'),
      });
      const told = (subject: string) => calls.filter(([finding]) => finding.subject === subject).length;
      await passUntil(() => told('mail') === 5);
      await pass(120_000);
      expect([told('mail'), told('images')]).toEqual([5, 1]);
      expect(errors[0]).toMatch(error);
    },
  );

  it('is not called after close(), which does not wait for one that hangs, nor are sources read', async () => {
    const queue = backlog();
    let reads = 0;
    const experimental = {
      ...queue.experimental,
      getActivity: (context: ReadContext) => {
        reads += 1;
        return queue.experimental.getActivity(context);
      },
    };
    const { close, heard } = listen({
      sources: { ...queue, experimental },
      onFinding: () => new Promise(() => {}),
    });
    await passUntil(() => heard.length === 1);
    await close();
    const before = reads;
    await pass(60_000);
    expect([reads, heard.length]).toEqual([before, 1]);
  });

  it('is not called for what was found while the router was closed', async () => {
    const queue = backlog();
    let answer = (): void => {};
    const experimental = {
      ...queue.experimental,
      async getActivity(context: ReadContext) {
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return queue.experimental.getActivity(context);
      },
    };
    const asked = vi.spyOn(experimental, 'getActivity');
    const { close, heard } = listen({ sources: { ...queue, experimental } });
    await passUntil(() => asked.mock.calls.length > 0);
    await close();
    answer();
    await pass(60_000);
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
    const router = createMonitorRouter({ sources: { ...queue, workers }, authorize: false });
    await pass(60_000);
    await router.close();
    expect(reads).toBe(0);
  });

  it('is that of each router, where two show the same source', async () => {
    const queue = backlog('jobs', createArrayStore());
    const one = listen({ sources: queue });
    const two = listen({ sources: queue });
    await passUntil(() => one.heard.length > 0 && two.heard.length > 0);
    await pass(60_000);
    expect([one.heard, two.heard]).toEqual([ONE, ONE]);
  });

  it.each([true, 0, 'https://hooks.slack.com/x'])('has to be a function: %s', (onFinding) => {
    expect(() => createMonitorRouter({ onFinding: onFinding as never })).toThrow(
      /'onFinding' must be a function.*Given: |onFinding/,
    );
  });
});
