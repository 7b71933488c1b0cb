import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Queue } from '../../src/model.ts';
import { createMetricsSource } from '../../src/sources/celery/metrics/meter.ts';
import { CONTEXT, T0, told } from '../history/telling.ts';

const MINUTE = 60_000;

interface Metered {
  record(...changes: TaskChange[]): void;
  heartbeat(hostname: string, active: number): void;
  /** Lets time pass. */
  wait(ms: number): void;
  reach: { ok: boolean };
  /** `name{labels} value`; of histograms the count. Zeros are left out, unless all are asked for. */
  read(which?: 'all'): Promise<string[]>;
  overflow(): number | undefined;
  close(): void;
  history: ReturnType<typeof createMemoryHistory>;
}

/** A meter of a history, with a clock that stands still. */
function metered(
  options: { hostname?: boolean; mostSeries?: number; queues?: readonly Queue[] } = {},
): Metered {
  const { hostname = false, mostSeries = 9_000, queues = [] } = options;
  let now = T0;
  const reach = { ok: true };
  const history = createMemoryHistory({ now: () => now });
  const status = () => ({ ok: reach.ok, asOf: null });
  const parts = {
    workers: { name: 'celery', status, listWorkers: history.reader.listWorkers },
    queues: { name: 'celery', status, listQueues: () => queues },
  };
  const source = createMetricsSource('celery', { history, parts, hasConsumers: true });
  const meter = source.openMeter({ hostname, mostSeries });
  return {
    history,
    reach,
    record: (...changes) => changes.forEach((change) => void history.writer.recordTask(change)),
    heartbeat: (worker, active) =>
      history.writer.recordWorker({
        hostname: worker,
        type: 'heartbeat',
        time: now,
        active,
        queues: ['celery'],
      }),
    wait(ms) {
      now += ms;
    },
    async read(which) {
      const lines: string[] = [];
      for (const { name, samples } of await meter.collect(CONTEXT)) {
        for (const sample of samples) {
          const value = 'buckets' in sample ? sample.count : sample.value;
          const labels = Object.values(sample.labels).join(',');
          if (which === 'all' || value !== 0)
            lines.push(`${name.replace('celery_', '')}{${labels}} ${value}`);
        }
      }
      return lines;
    },
    overflow: meter.overflow as () => number,
    close: meter.close,
  };
}

const sent = (id: string, name: string, more: Partial<TaskChange> = {}): TaskChange =>
  told({ id, type: 'sent', name, queue: 'celery', ...more });

describe("Celery's meter", () => {
  it('counts every event, also that of a retry or a redelivery, and shows the other kinds as 0', async () => {
    const { record, read } = metered();
    record(
      sent('a', 'mail'),
      told({ type: 'received', time: T0 + 1 }),
      told({ type: 'started', time: T0 + 2 }),
      told({ type: 'retried', time: T0 + 3, exception: "OSError('a')" }),
      told({ type: 'received', time: T0 + 4, retries: 1 }),
      told({ type: 'started', time: T0 + 5 }),
      // The same again, as after a redelivery.
      told({ type: 'started', time: T0 + 5 }),
      told({ type: 'succeeded', time: T0 + 6, runtime: 0.2 }),
    );
    expect(await read('all')).toEqual([
      'task_sent_total{mail,celery} 1',
      'task_received_total{mail,celery} 2',
      'task_started_total{mail,celery} 3',
      'task_succeeded_total{mail,celery} 1',
      'task_rejected_total{mail,celery} 0',
      'task_revoked_total{mail,celery} 0',
      'task_retried_total{mail,celery} 1',
      'task_failed_total{mail,celery,} 0',
      'task_runtime{mail,celery} 1',
      'task_queue_wait_time{mail,celery} 3',
    ]);
  });

  it('counts no results, nothing that is stored, and nothing after it was closed', async () => {
    const { record, read, close } = metered();
    record(
      told({ type: 'succeeded', origin: 'result', name: 'mail' }),
      told({ type: 'started', stored: true, name: 'mail' }),
    );
    close();
    record(sent('b', 'mail'));
    expect(await read('all')).toEqual([]);
  });

  it('writes None for what no event has told, and names the class of each exception', async () => {
    const { record, read } = metered();
    record(
      told({ type: 'failed', exception: "KeyError('a')" }),
      told({ id: 'b', type: 'failed', exception: 'no class' }),
      told({ id: 'c', type: 'requeued', name: 'mail' }),
    );
    expect(await read()).toEqual([
      'task_rejected_total{mail,None} 1',
      'task_failed_total{None,None,KeyError} 1',
      'task_failed_total{None,None,UnknownException} 1',
    ]);
  });

  it('measures the wait from the later of sent and eta, and never less than 0', async () => {
    const { record, history } = metered();
    const waits: (number | null)[] = [];
    history.onEvent(({ sentAt, eta, change }) => {
      if (change.type === 'started') waits.push(sentAt, eta);
    });
    record(
      sent('a', 'mail', { eta: T0 + 5_000 }),
      told({ type: 'started', time: T0 + 4_000 }),
      told({ id: 'b', type: 'started', name: 'mail' }),
    );
    expect(waits).toEqual([T0, T0 + 5_000, null, null]);
  });

  it('carries the worker when asked to, and of a client the host alone', async () => {
    const { record, read } = metered({ hostname: true });
    record(
      sent('a', 'mail', { sender: 'gen12@web-1' }),
      told({ type: 'received', time: T0 + 1, worker: 'celery@w' }),
    );
    expect(await read()).toEqual([
      'task_sent_total{mail,web-1,celery} 1',
      'task_received_total{mail,celery@w,celery} 1',
      // An event about a task is a sign of life, too.
      'worker_up{celery@w} 1',
    ]);
  });

  it('counts names and exceptions beyond its series as other, and how many they are', async () => {
    const { record, read, overflow } = metered({ mostSeries: 300 });
    for (let name = 0; name < 20; name++) record(sent(`${name}`, `task-${name}`));
    for (let kind = 0; kind < 200; kind++) {
      record(
        told({ id: `e${kind}`, type: 'failed', name: 'task-0', queue: 'celery', exception: `E${kind}(1)` }),
      );
    }
    const all = await read('all');
    // Each histogram is 17 series when it has counted something.
    expect(all.length).toBeLessThan(300);
    expect(all.filter((line) => line.startsWith('task_sent_total{other,other} '))).toHaveLength(1);
    const counted = all
      .filter((line) => line.startsWith('task_sent'))
      .map((line) => Number(line.split(' ').at(-1)));
    expect(counted.reduce((sum, one) => sum + one, 0)).toBe(20);
    expect(overflow()).toBeGreaterThan(15);
  });

  it('shows a worker as down after 5 minutes of silence or a goodbye, and not at all 10 minutes later', async () => {
    const { heartbeat, read, wait, history } = metered();
    heartbeat('celery@a', 3);
    heartbeat('celery@b', 1);
    history.writer.recordWorker({ hostname: 'celery@b', type: 'offline', time: T0 });
    const workers = async () => (await read('all')).filter((line) => line.startsWith('worker_'));
    expect(await workers()).toEqual([
      'worker_up{celery@a} 1',
      'worker_up{celery@b} 0',
      'worker_tasks_active{celery@a} 3',
      'worker_tasks_active{celery@b} 0',
    ]);
    wait(5 * MINUTE + 1);
    expect(await workers()).toContain('worker_up{celery@a} 0');
    wait(10 * MINUTE);
    expect(await workers()).toEqual([]);
  });

  it('says nothing of workers and queues while the broker cannot be reached', async () => {
    const queue = { name: 'celery', waiting: 4, consumers: 2, oldestDueAt: null, asOf: null };
    const { heartbeat, read, reach } = metered({ queues: [queue] });
    heartbeat('celery@a', 0);
    expect(await read('all')).toEqual([
      'worker_up{celery@a} 1',
      'worker_tasks_active{celery@a} 0',
      'queue_length{celery} 4',
      'active_consumer_count{celery} 2',
      'active_worker_count{celery} 1',
      'active_process_count{celery} 0',
    ]);
    reach.ok = false;
    expect(await read('all')).toEqual([]);
  });
});
