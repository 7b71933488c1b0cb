import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { createMonitorRouter, type MonitorRouter } from '../../src/index.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { EXPRESS, listen } from '../helpers/hosts.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf as query } from '../helpers/task-query.ts';
import { type Prometheus, startPrometheus } from '../metrics/prometheus.ts';
import { isInstalled } from '../metrics/real-process.ts';

const missing = redisMissing ?? celeryMissing ?? (isInstalled('prometheus') ? null : 'install prometheus');

/** Counters and histograms of one job. Labels of the scrape itself are left out. */
const COUNTED = '{__name__=~"celery_task_.+"';

describe.skipIf(missing !== null)(titleUnless(missing, "Celery's metrics"), () => {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;
  let routers: MonitorRouter[];
  let prometheus: Prometheus;
  const closers: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    app = celeryApp({
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      task_send_sent_event: true,
      task_track_started: true,
      task_acks_late: true,
      worker_hijack_root_logger: false,
      worker_prefetch_multiplier: 1,
      // What a killed worker had is given to another one soon, and nothing else is given twice on a busy machine.
      broker_transport_options: { visibility_timeout: 20 },
    });
    sources = celerySources({ broker: redis.url(1), backend: redis.url(2) });
    await until(() => sources.tasks.status?.().ok === true);
    routers = [true, false].map((hostname) =>
      createMonitorRouter({ sources, authorize: false, metrics: { hostname } }),
    );
    const host = EXPRESS.express();
    for (const [at, router] of routers.entries()) host.use(['/whole', '/short'][at] as string, router);
    const { url, close } = await listen(host);
    closers.push(close);
    const before = await listeners(redis);
    const exporter = await app.program('port ', 'exporter.py');
    await until(async () => (await listeners(redis)) > before);
    prometheus = await startPrometheus({
      whole: `${url}/whole/metrics`,
      short: `${url}/short/metrics`,
      reference: `http://127.0.0.1:${/port (\d+)/.exec(exporter.output())?.[1]}/metrics`,
    });
    await Promise.all([
      app.worker('-c', '4', '-n', 'one@%h', '-Q', 'celery,slow'),
      app.worker('-P', 'threads', '-c', '4', '-n', 'two@%h', '-Q', 'celery,heavy'),
    ]);
    await runEverything(app, sources);
  }, 300_000);

  afterAll(async () => {
    await prometheus?.close();
    await app?.close();
    await Promise.all((routers ?? []).map((router) => router.close()));
    await Promise.all(closers.map((close) => close()));
    await redis?.close();
  });

  it('are those of an exporter that hears the same events, to the last one', async () => {
    const compare = async () => {
      const reference = await seriesOf(prometheus, 'reference');
      const summed = await seriesOf(prometheus, 'reference', ['hostname']);
      return {
        series: reference.size,
        whole: differences(await seriesOf(prometheus, 'whole'), reference),
        short: differences(await seriesOf(prometheus, 'short'), summed),
      };
    };
    // The run had everything that can happen.
    const kinds = ['retried', 'rejected', 'revoked', 'succeeded', 'started', 'received', 'sent'];
    const exceptions = ['ValueError', 'OSError', 'KeyError', 'WorkerLostError'];
    const lacking = async (): Promise<string[]> => {
      const counts = new Map<string, number>();
      for (const { metric, value } of await prometheus.query(`${COUNTED}, job="short"}`)) {
        const key = metric.exception || String(metric.__name__);
        counts.set(key, (counts.get(key) ?? 0) + value);
      }
      return [
        ...kinds.filter((kind) => (counts.get(`celery_task_${kind}_total`) ?? 0) < 10),
        ...exceptions.filter((exception) => !counts.has(exception)),
      ];
    };
    await expect.poll(lacking, { timeout: 60_000 }).toEqual([]);
    // Until Prometheus has scraped all three after the last event.
    await expect.poll(compare, { timeout: 60_000 }).toMatchObject({ whole: [], short: [] });
    expect((await compare()).series).toBeGreaterThan(100);
  }, 150_000);

  it('show workers and queues as they are', async () => {
    const one = async (query: string): Promise<number | undefined> =>
      (await prometheus.query(query))[0]?.value;
    const becomes = (name: string, labels: string, value: number) =>
      until(async () => (await one(`celery_${name}{job="short", ${labels}}`)) === value);
    await becomes('worker_up', 'hostname=~"one@.+"', 1);
    await becomes('worker_tasks_active', 'hostname=~"one@.+"', 0);
    await becomes('active_worker_count', 'queue_name="heavy"', 1);
    // A pool of threads makes them one by one, as tasks come; one of processes has them all at once.
    await becomes('active_process_count', 'queue_name="slow"', 4);
    await becomes('active_worker_count', 'queue_name="celery"', 2);
    await becomes('queue_length', 'queue_name="celery"', 0);
    expect(await prometheus.query('celery_active_consumer_count{job="short"}')).toEqual([]);
  }, 120_000);
});

/** Series by their labels, without those of the scrape. Series that differ in a label that is left out are summed. */
async function seriesOf(
  prometheus: Prometheus,
  job: string,
  leftOut: readonly string[] = [],
): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const { metric, value } of await prometheus.query(`${COUNTED}, job="${job}"}`)) {
    const labels = Object.entries(metric).filter(([name]) => !['job', 'instance', ...leftOut].includes(name));
    const key = JSON.stringify(labels.toSorted());
    sums.set(key, value + (sums.get(key) ?? 0));
  }
  return sums;
}

/**
 * Series that differ. An eta has microseconds, of which the history keeps milliseconds: sums are off by that, and a wait
 * that ends less than a millisecond from a bound may be in the next bucket. Where nothing but failures was heard, since a
 * pool of threads loses events, the exporter has no zero for failures without an exception.
 */
function differences(own: Map<string, number>, reference: Map<string, number>): unknown[] {
  return [...new Set([...own.keys(), ...reference.keys()])].flatMap((key) => {
    const [one, other] = [own.get(key), reference.get(key)];
    const count = reference.get(key.replace('_sum"', '_count"')) ?? 0;
    const isAtBound = key.includes('celery_task_queue_wait_time_bucket"');
    const most = key.includes('_sum"') ? count / 1_000 : Number(isAtBound);
    const isSame = one !== undefined && other !== undefined && Math.abs(one - other) <= most;
    const isZeroOfFailures =
      one === 0 &&
      other === undefined &&
      key.includes('celery_task_failed_total"') &&
      !key.includes('"exception"');
    return isSame || isZeroOfFailures ? [] : [{ key, one, other }];
  });
}

/** How many connections listen to channels. */
async function listeners(redis: RedisServer): Promise<number> {
  const client = createClient({ url: redis.url() });
  await client.connect();
  const list = String(await client.sendCommand(['CLIENT', 'LIST', 'TYPE', 'PUBSUB']));
  client.destroy();
  return list.split('\n').filter((line) => / psub=[1-9]/.test(line)).length;
}

/** Tasks of every fate, failures of several classes, a pool process that dies, and a worker that does. */
async function runEverything(app: CeleryApp, sources: CelerySources): Promise<void> {
  await app.submit();
  const victim = await app.worker('-c', '1', '-n', 'victim@%h', '-Q', 'fragile');
  await app.send(
    ...['a', 'b'].map((key) => ({ name: 'shop.lookup', args: [key] })),
    { name: 'shop.crash', args: [], queue: 'slow' },
    { name: 'shop.slow', args: [2], queue: 'fragile' },
  );
  const worker = async (state: string): Promise<string> => {
    const { tasks } = await sources.tasks.listTasks(query({ queues: ['fragile'] }), context);
    return tasks.find((task) => task.state === state)?.worker ?? '';
  };
  await until(async () => (await worker('STARTED')).startsWith('victim@'));
  await victim.kill();
  await app.worker('-c', '1', '-n', 'heir@%h', '-Q', 'fragile');
  await until(async () => (await worker('SUCCESS')).startsWith('heir@'), 90_000);
}
