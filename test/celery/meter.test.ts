import { describe, expect, it, onTestFinished } from 'vitest';
import type { MeterOptions } from '../../src/source.ts';
import type { QueueReader } from '../../src/sources/celery/broker.ts';
import { context } from '../helpers/celery-events.ts';
import { type ArrayDeploymentOptions, holdTime, openArrayDeployment, pass } from './array-deployment.ts';
import { answered } from './hints-deployment.ts';

const START = Date.parse('2026-11-21T03:00:00Z');

/** A meter of a deployment on arrays, with a clock that stands still. */
function metered(options: Partial<MeterOptions> = {}, deployment: ArrayDeploymentOptions = {}) {
  holdTime(START);
  const array = openArrayDeployment({ control: false, ...deployment });
  const meter = array.sources.experimental.openMeter({ hostname: false, mostSeries: 9_000, ...options });
  onTestFinished(() => meter.close());
  const message = (type: string, fields: object): void =>
    array.hear({ type, pid: 7, clock: 1, utcoffset: 0, timestamp: Date.now() / 1000, ...fields });

  /** `name{labels} value`; of histograms the count. Zeros are left out, unless all are asked for. */
  async function read(which?: 'all'): Promise<string[]> {
    const lines: string[] = [];
    for (const { name, samples } of await answered(meter.collect(context))) {
      for (const sample of samples) {
        const value = 'buckets' in sample ? sample.count : sample.value;
        const labels = Object.values(sample.labels).join(',');
        if (which === 'all' || value !== 0) {
          lines.push(`${name.replace('celery_', '')}{${labels}} ${value}`);
        }
      }
    }
    return lines;
  }

  return {
    ...array,
    meter,
    read,
    /** An event of `w1@alpha` about task `a`, so many milliseconds after the start. */
    event: (type: string, ms = 0, fields: object = {}) =>
      message(`task-${type}`, { uuid: 'a', hostname: 'w1@alpha', timestamp: (START + ms) / 1000, ...fields }),
    sent: (uuid: string, name: string, fields: object = {}) =>
      message('task-sent', { uuid, name, hostname: 'gen12@web-1', queue: 'celery', ...fields }),
    worker: (type: 'heartbeat' | 'offline', hostname: string, active = 0) =>
      message(`worker-${type}`, { hostname, freq: 2, active, processed: 1 }),
  };
}

describe("Celery's meter", () => {
  it('counts every event, also that of a retry or a redelivery, and shows the other kinds as 0', async () => {
    const { sent, event, read } = metered();
    sent('a', 'mail');
    event('received', 1, { name: 'mail' });
    event('started', 2);
    event('retried', 3, { exception: "OSError('a')" });
    event('received', 4, { name: 'mail', retries: 1 });
    event('started', 5);
    // Another start, as after a redelivery of its task; and the same event again, as a broker may deliver it.
    event('started', 5.5);
    event('started', 5.5);
    event('succeeded', 6, { runtime: 0.2, result: '1' });
    const own = (await read('all')).filter((line) => line.startsWith('task_'));
    expect(own).toEqual([
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
    const { stored, sent, publish, meter, read } = metered();
    publish('b', { name: 'mail' });
    stored.push({ id: 'c', text: '{"status": "SUCCESS", "name": "mail", "task_id": "c"}', isCut: false });
    await pass(5_000);
    meter.close();
    sent('d', 'mail');
    expect((await read('all')).filter((line) => line.startsWith('task_'))).toEqual([]);
  });

  it('writes None for what no event has told, and names the class of each exception', async () => {
    const { event, read } = metered();
    event('failed', 0, { exception: "KeyError('a')" });
    event('failed', 0, { uuid: 'b', exception: 'no class' });
    event('rejected', 0, { uuid: 'c', name: 'mail', requeue: true });
    expect((await read()).filter((line) => line.startsWith('task_'))).toEqual([
      'task_rejected_total{mail,None} 1',
      'task_failed_total{None,None,KeyError} 1',
      'task_failed_total{None,None,UnknownException} 1',
    ]);
  });

  it('measures the wait from the later of sent and eta', async () => {
    const { sent, event, meter } = metered();
    sent('a', 'mail', { eta: new Date(START + 5_000).toISOString() });
    event('started', 7_000);
    sent('b', 'image');
    event('started', 3_000, { uuid: 'b' });
    // Of this one, nobody knows since when it has waited.
    event('started', 0, { uuid: 'c', name: 'sound' });
    const families = await answered(meter.collect(context));
    const waits = [...(families.find(({ name }) => name === 'celery_task_queue_wait_time')?.samples ?? [])];
    expect(waits.map((sample) => [sample.labels.name, 'sum' in sample && sample.sum])).toEqual([
      ['mail', 2],
      ['image', 3],
    ]);
  });

  it('carries the worker when asked to, and of a client the host alone', async () => {
    const { sent, event, read } = metered({ hostname: true });
    sent('a', 'mail');
    event('received', 1, { hostname: 'celery@w', name: 'mail' });
    expect(await read()).toEqual([
      'task_sent_total{mail,web-1,celery} 1',
      'task_received_total{mail,celery@w,celery} 1',
      // An event about a task is a sign of life, too.
      'worker_up{celery@w} 1',
    ]);
  });

  it('counts names and exceptions beyond its series as other, and how many they are', async () => {
    const { sent, event, meter, read } = metered({ mostSeries: 300 });
    for (let name = 0; name < 20; name++) sent(`${name}`, `task-${name}`);
    for (let kind = 0; kind < 200; kind++) {
      event('failed', 0, { uuid: `e${kind}`, name: 'task-0', queue: 'celery', exception: `E${kind}(1)` });
    }
    const all = await read('all');
    // Each histogram is 17 series when it has counted something.
    expect(all.length).toBeLessThan(300);
    expect(all.filter((line) => line.startsWith('task_sent_total{other,other} '))).toHaveLength(1);
    const counted = all
      .filter((line) => line.startsWith('task_sent'))
      .map((line) => Number(line.split(' ').at(-1)));
    expect(counted.reduce((sum, one) => sum + one, 0)).toBe(20);
    expect(meter.overflow?.()).toBeGreaterThan(15);
  });

  it('shows a worker as down after 5 minutes of silence or a goodbye, and not at all 10 minutes later', async () => {
    const { worker, read } = metered();
    worker('heartbeat', 'celery@a', 3);
    worker('heartbeat', 'celery@b', 1);
    worker('offline', 'celery@b');
    const workers = async () => (await read('all')).filter((line) => line.startsWith('worker_'));
    expect(await workers()).toEqual([
      'worker_up{celery@a} 1',
      'worker_up{celery@b} 0',
      'worker_tasks_active{celery@a} 3',
      'worker_tasks_active{celery@b} 0',
    ]);
    await pass(5 * 60_000 + 1);
    expect(await workers()).toContain('worker_up{celery@a} 0');
    await pass(10 * 60_000);
    expect(await workers()).toEqual([]);
  });

  it('says nothing of workers and queues while the broker cannot be reached', async () => {
    const reach = { isUp: true };
    const { waiting, worker, sources, read } = metered(
      {},
      {
        broker: (broker) => ({
          ...broker,
          events: { ...broker.events, state: () => ({ ...broker.events.state(), up: reach.isUp }) },
          queues: broker.queues && {
            ...broker.queues,
            read: async (...asked) => ({
              ...(await (broker.queues as QueueReader).read(...asked)),
              ok: reach.isUp,
            }),
          },
        }),
      },
    );
    worker('heartbeat', 'celery@a');
    for (let n = 0; n < 4; n++) waiting.push({ queue: 'celery', raw: `no task ${n}` });
    await pass(11_000);
    await answered(sources.queues.listQueues(context));
    expect(await read('all')).toEqual(
      expect.arrayContaining([
        'worker_up{celery@a} 1',
        'worker_tasks_active{celery@a} 0',
        'queue_length{celery} 4',
      ]),
    );
    reach.isUp = false;
    await pass(11_000);
    await answered(sources.queues.listQueues(context));
    expect(await read('all')).toEqual([]);
  });
});
