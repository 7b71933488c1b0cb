import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { combineSources, createMonitorRouter, type MonitorSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { ask } from '../helpers/ask.ts';
import { askStream } from '../helpers/ask-stream.ts';
import { openMeter } from '../helpers/meters.ts';
import { until } from '../helpers/redis-server.ts';
import { linesOf, serve, textOf } from './own-metrics-kit.ts';
import { isInstalled } from './real-process.ts';

const MINUTE = 60_000;

/** A source whose figures are known. */
function shop(queues = 3): MonitorSources {
  const now = Date.now();
  const queue = (index: number) => ({
    ...{ name: `queue-${index}`, waiting: index, reserved: 0, consumers: 1, asOf: new Date(now) },
    oldestDueAt: index === 0 ? null : new Date(now - index * MINUTE - 500),
  });
  const worker = (hostname: string, status: 'online' | 'offline') => ({ hostname, status });
  return {
    queues: { name: 'shop', listQueues: () => Array.from({ length: queues }, (_, index) => queue(index)) },
    workers: {
      name: 'shop',
      listWorkers: () => [worker('a', 'online'), worker('b', 'online'), worker('c', 'offline')] as never,
    },
    schedules: {
      name: 'shop',
      listSchedules: () =>
        [
          {
            id: '1',
            name: 'nightly',
            enabled: true,
            task: 'report',
            schedule: '0 0 * * *',
            nextRunAt: new Date(now - 60 * MINUTE),
          },
          {
            id: '2',
            name: 'hourly',
            enabled: true,
            task: 'clean',
            schedule: '0 * * * *',
            nextRunAt: new Date(now + MINUTE),
          },
        ] as never,
    },
    history: {
      name: 'shop',
      getHistoryStats: () => ({
        ...{ tasks: 1, workers: 3, events: 4, since: new Date(now), evicted: 0, bytes: 10 },
        ...{ eventsReceived: 12, dropped: 2, lagSeconds: 0.25 },
      }),
    },
    components: {
      name: 'shop',
      listComponents: () => [
        {
          ...{ key: 'history.store', name: 'History store', enabled: true, status: 'up' },
          config: { delay_seconds: 3, waiting: 7, lost: 1 },
        },
      ],
    },
  };
}

/** Lines of a family without its name in front. */
function figures(text: string, name: string): readonly string[] {
  return linesOf(text, `task_monitor_${name}`).map((line) => line.slice('task_monitor_'.length));
}

describe('figures of all sources', () => {
  it('say how long tasks have waited where the queue itself does not know', async () => {
    const sources = memorySources({ name: 'shop' });
    const since = Date.now() - 3 * MINUTE;
    for (const id of ['a', 'b']) sources.record({ id, state: 'PENDING', queue: 'mail', timestamp: since });
    const { base } = await serve({ sources, metrics: true });
    const text = await textOf(base);
    const [oldest = '', ...others] = figures(text, 'queue_oldest_due_seconds');
    expect(oldest).toMatch(/^queue_oldest_due_seconds\{source="shop",queue="mail"\} \d/);
    expect(Number(oldest.split(' ')[1])).toBeGreaterThanOrEqual(180);
    expect(others).toEqual([]);
    expect(figures(text, 'queue_length')).toEqual(['queue_length{source="shop",queue="mail"} 2']);
  });

  it('come from what the rules judge', async () => {
    const { base } = await serve({ sources: shop(), metrics: true });
    const text = await textOf(base);
    expect(figures(text, 'source_up')).toEqual(['source_up{source="shop"} 1']);
    expect(figures(text, 'queue_length')).toEqual(
      [0, 1, 2].map((index) => `queue_length{source="shop",queue="queue-${index}"} ${index}`),
    );
    const oldest = figures(text, 'queue_oldest_due_seconds');
    expect(oldest[0]).toBe('queue_oldest_due_seconds{source="shop",queue="queue-0"} 0');
    expect(Number(oldest[2]?.split(' ')[1])).toBeGreaterThanOrEqual(120);
    expect(figures(text, 'workers')).toEqual([
      'workers{source="shop",status="online"} 2',
      'workers{source="shop",status="stale"} 0',
      'workers{source="shop",status="offline"} 1',
    ]);
    expect(figures(text, 'schedules_missed')).toEqual(['schedules_missed{source="shop"} 1']);
    const found = 'findings{source="shop",code="schedule_missed",severity';
    const missed = figures(text, found);
    expect(missed.map((line) => Number(line.split(' ')[1])).toSorted()).toEqual([0, 1]);
    expect([...figures(text, 'events'), ...figures(text, 'event_lag')]).toEqual([
      'events_received_total{source="shop"} 12',
      'events_dropped_total{source="shop"} 2',
      'event_lag_seconds{source="shop"} 0.25',
    ]);
    expect(figures(text, 'store')).toEqual([
      'store_up{source="shop"} 1',
      'store_delay_seconds{source="shop"} 3',
      'store_waiting_tasks{source="shop"} 7',
      'store_lost_total{source="shop"} 1',
    ]);
  });

  it('add up the queues beyond some hundred', async () => {
    const { base } = await serve({ sources: shop(500), metrics: true });
    const lines = figures(await textOf(base), 'queue_length');
    expect(lines).toHaveLength(401);
    const rest = Array.from({ length: 100 }, (_, index) => 400 + index).reduce(
      (sum, count) => sum + count,
      0,
    );
    expect(lines.at(-1)).toBe(`queue_length{source="shop",queue="other"} ${rest}`);
  });

  it('leave out what is not known', async () => {
    const broken = { listWorkers: () => Promise.reject(new Error('away')), name: 'sad' };
    const queues = { name: 'sad', listQueues: () => [{ name: 'q', waiting: null }] as never };
    const sources = combineSources({ workers: broken, queues }, memorySources({ name: 'glad' }));
    const { base } = await serve({ sources, metrics: true, onError() {} });
    const text = await textOf(base);
    expect(figures(text, 'source_up').toSorted()).toEqual([
      'source_up{source="glad"} 1',
      'source_up{source="sad"} 0',
    ]);
    expect(figures(text, 'queue_length')).toEqual([]);
    expect(figures(text, 'workers{source="sad"')).toEqual([]);
    expect(figures(text, 'errors_total')).toContain(
      'errors_total{source="sad",call="listWorkers",error="source_unavailable"} 1',
    );
    expect(figures(text, 'findings{code="source_down",severity="critical"')).toHaveLength(1);
  });
});

describe('figures of the monitor itself', () => {
  it('count answers by route and status, and their errors', async () => {
    const { base } = await serve({
      sources: memorySources(),
      metrics: true,
      authorize: (incoming) => incoming.headers['x-name'] !== 'mallory',
    });
    await ask(base, '/api/tasks/');
    await ask(base, '/api/tasks/?limit=x');
    await ask(base, '/api/tasks/none/');
    await ask(base, '/api/workers/', { headers: { 'x-name': 'mallory' } });
    await ask(base, '/api/workers/', { method: 'POST' });
    const text = await textOf(base);
    expect(figures(text, 'http_requests_total').toSorted()).toEqual([
      'http_requests_total{route="task",code="404"} 1',
      'http_requests_total{route="tasks",code="200"} 1',
      'http_requests_total{route="tasks",code="400"} 1',
      'http_requests_total{route="workers",code="403"} 1',
      'http_requests_total{route="workers",code="405"} 1',
    ]);
    expect(figures(text, 'http_errors_total').toSorted()).toEqual([
      'http_errors_total{route="task",error="task_not_found"} 1',
      'http_errors_total{route="tasks",error="invalid_parameter"} 1',
      'http_errors_total{route="workers",error="forbidden"} 1',
      'http_errors_total{route="workers",error="method_not_allowed"} 1',
    ]);
    expect(figures(text, 'source_reads_total')).toContain(
      'source_reads_total{source="memory",call="listTasks"} 1',
    );
    expect(figures(text, 'build_info')[0]).toMatch(/^build_info\{version="[\d.]+\S*"\} 1$/);
  });

  it('say how many streams are open', async () => {
    const { base } = await serve({ sources: memorySources(), metrics: true });
    const streams = async (): Promise<string | undefined> => figures(await textOf(base), 'streams')[0];
    const open = await askStream(base, '/api/events/latest/');
    await until(async () => (await streams()) === 'streams 1');
    open.close();
    await until(async () => (await streams()) === 'streams 0');
  });

  it('see how long the event loop was blocked', async () => {
    const { base } = await serve({ sources: memorySources(), metrics: true });
    const name = 'event_loop_delay_seconds';
    await until(async () => !figures(await textOf(base), `${name}_count`).includes(`${name}_count 0`));
    const until300 = performance.now() + 300;
    while (performance.now() < until300);
    const above = async (): Promise<number> => {
      const text = await textOf(base);
      const [all, short] = [`${name}_count`, `${name}_bucket{le="0.1"}`].map((start) =>
        Number(figures(text, start)[0]?.split(' ')[1]),
      );
      return Number(all) - Number(short);
    };
    await until(async () => (await above()) >= 1);
  });

  it('fit into the registry of the host, where their names are to be free', async () => {
    const register = new Registry();
    const { base, router } = await serve({ sources: shop(), metrics: { register } });
    expect(figures(await textOf(base), 'queue_length')).toHaveLength(3);
    expect(() =>
      createMonitorRouter({ sources: memorySources(), authorize: false, metrics: { register } }),
    ).toThrow(/has a metric named 'task_monitor_/);
    await router.close();
    expect(register.getMetricsAsArray()).toEqual([]);
  });

  it('are listed in the docs, like those of BullMQ', async () => {
    const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const sources = bullmqSources({ connection: 'redis://127.0.0.1:9' });
    const meter = openMeter(sources, { hostname: false, mostSeries: 100 });
    meter.close();
    sources.close();
    const text = await textOf((await serve({ sources: shop(), metrics: true })).base);
    const own = [...text.matchAll(/^# TYPE (task_monitor_\w+)/gm)].map(([, name]) => name);
    expect(own.length).toBeGreaterThan(10);
    const names = [...own, ...meter.families.map(({ name }) => name)];
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it.skipIf(!isInstalled('promtool'))(
    isInstalled('promtool')
      ? 'have names as promtool wants them'
      : 'have names (skipped: install prometheus)',
    async () => {
      const { base } = await serve({ sources: shop(), metrics: true });
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
        input: await textOf(base),
        encoding: 'utf8',
      });
      expect([status, stdout, stderr]).toEqual([0, '', '']);
    },
  );
});
