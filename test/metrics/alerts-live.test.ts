/** The alert rules, the dashboard and celery-exporter's queries on a Prometheus that watches a real incident. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as bullmq from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { celerySources } from '../../src/celery.ts';
import { combineSources } from '../../src/index.ts';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { type CeleryApp, type CeleryWorker, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { redisMissing, titleUnless } from '../helpers/redis-server.ts';
import { type LiveRouter, serveForAll } from '../incident/live-router.ts';
import { ROOT } from '../packaging/packed.ts';
import { readBoard, withoutVariables } from './grafana-board.ts';
import { type Prometheus, prometheusMissing, startPrometheus } from './prometheus.ts';
import { poll } from './real-process.ts';

const missing = prometheusMissing ?? redisMissing ?? celeryMissing;
const [WORKER, STUCK] = ['w1@shop', 'w2@shop'];
const QUEUES = { [WORKER]: 'celery,mail', [STUCK]: 'video' };
/** The deploy of the incident comes within a minute and a half, and it ends a minute later. */
const WAIT_MS = 240_000;

/** Name and labels of an alert. */
type Alert = readonly [name: string, labels: string];

const DURING: readonly Alert[] = [
  ['CeleryTasksFail', 'name="payments.charge"'],
  ['TaskQueueLong', 'source="celery", queue="mail"'],
  ['TaskQueueWaits', 'source="celery", queue="mail"'],
  ['BullMQJobsFail', 'queue="jobs"'],
];
const SILENT: readonly Alert[] = [
  ['TaskWorkersGone', 'source="celery"'],
  ['TaskFindingCritical', 'source="celery", code="workers_silent"'],
];

/** The rules with seconds instead of minutes: an incident takes two minutes here. */
function inSeconds(rules: string): string {
  return rules
    .replaceAll(/\bfor: \d+m/g, 'for: 2s')
    .replaceAll(/\[\d+[mh]\]/g, '[30s]')
    .replace('(task_monitor_queue_length) > 100', '(task_monitor_queue_length) > 30')
    .replace('(task_monitor_queue_oldest_due_seconds) > 600', '(task_monitor_queue_oldest_due_seconds) > 10');
}

/** What the boards and rules of celery-exporter ask, which go by all of its labels. */
const OF_CELERY_EXPORTER = [
  'sum(rate(celery_task_received_total{job=~"tasks", queue_name=~".*", name=~".*"}[1m])) by (name)',
  'sum(increase(celery_task_failed_total{job=~"tasks", queue_name!~"None", name!~"None"}[5m])) by (name, exception)',
  'sum(rate(celery_task_succeeded_total{job=~"tasks", hostname=~"w1@shop"}[1m])) by (job, hostname, queue_name, name)',
  'histogram_quantile(0.95, sum(irate(celery_task_runtime_bucket{job=~"tasks"}[1m])) by (name, job, le))',
  'histogram_quantile(0.95, sum(rate(celery_task_queue_wait_time_bucket{job=~"tasks"}[5m])) by (queue_name, le))',
  'celery_worker_up{job=~"tasks"} == 1',
  'sum(celery_worker_tasks_active{job=~"tasks"}) by (hostname)',
  'sum(celery_queue_length{job=~"tasks", queue_name=~"mail"}) by (queue_name)',
  'sum(celery_active_worker_count) by (queue_name)',
  'sum(celery_active_process_count) by (queue_name)',
];

describe.skipIf(missing !== null)(titleUnless(missing, 'an incident that Prometheus watches'), () => {
  let shop: BullMQApp;
  let app: CeleryApp;
  let router: LiveRouter;
  let prometheus: Prometheus;
  let workers: CeleryWorker[];

  const startWorkers = () =>
    Promise.all(
      Object.entries(QUEUES).map(([name, queues]) =>
        app.worker('-n', name, '-P', 'threads', '-c', '2', '-Q', queues),
      ),
    );

  const isFiring = async ([alert, labels]: Alert): Promise<boolean> =>
    (await prometheus.query(`ALERTS{alertstate="firing", alertname="${alert}", ${labels}}`)).length > 0;

  /** Waits until an alert fires, or no longer does. */
  const settle = (alert: Alert, expected: boolean): Promise<unknown> =>
    poll(
      async () => ({ alert, isFiring: await isFiring(alert) }),
      (seen) => seen.isFiring === expected,
      WAIT_MS,
    );

  beforeAll(async () => {
    shop = await startBullMQ(bullmq);
    const { redis } = shop;
    const settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      task_send_sent_event: true,
      worker_hijack_root_logger: false,
    };
    app = celeryApp(settings, 'incident');
    const sources = combineSources(celerySources({ settings }), bullmqSources({ connection: redis.url() }));
    router = await serveForAll(sources, () => [], { metrics: { hostname: true } });
    const rules = readFileSync(join(ROOT, 'docs/grafana/alerts.yml'), 'utf8');
    prometheus = await startPrometheus({ tasks: `${router.base}/metrics` }, inSeconds(rules));
    workers = await startWorkers();
  }, 120_000);

  afterAll(async () => {
    await prometheus?.close();
    await router?.close();
    await app?.close();
    await shop?.close();
  }, 60_000);

  it('alerts while it lasts, and no longer', async () => {
    const jobs = shop.queue('jobs');
    let isBroken = false;
    shop.worker('jobs', async () => {
      if (isBroken) throw new Error('no');
    });
    const added = setInterval(() => void jobs.add('job', {}).catch(() => {}), 500);
    await poll(
      () => prometheus.query('bullmq_job_completed_total > 3'),
      ({ length }) => length > 0,
      WAIT_MS,
    );
    for (const alert of DURING) expect([alert, await isFiring(alert)]).toEqual([alert, false]);

    isBroken = true;
    const played = app.script('incident.py', WORKER, '11448');
    played.catch(() => {});
    await Promise.all(DURING.map((alert) => settle(alert, true)));
    await askEverything();
    await played;

    // The one whose tasks hang does not end by itself.
    await Promise.all(workers.map((worker) => worker.stop()));
    isBroken = false;
    await Promise.all(SILENT.map((alert) => settle(alert, true)));

    workers = await startWorkers();
    await Promise.all([...DURING, ...SILENT].map((alert) => settle(alert, false)));
    clearInterval(added);
    for (const name of ['TaskMonitorGone', 'TaskMetricsLimited', 'TaskEventsDropped']) {
      expect([name, await isFiring([name, 'job="tasks"'])]).toEqual([name, false]);
    }
  }, 900_000);

  /** Each query of the dashboard and of celery-exporter's boards has an answer. */
  async function askEverything(): Promise<void> {
    const without: string[] = [];
    const asked = [...readBoard().queries.map((expr) => withoutVariables(expr)), ...OF_CELERY_EXPORTER];
    for (const expr of asked) if ((await prometheus.query(expr)).length === 0) without.push(expr);
    // There is no store, no schedule, nothing was dropped and nothing went wrong in the monitor.
    const empty = /task_monitor_(?:store|schedules|events_dropped|http_errors|errors)/;
    expect(without.filter((expr) => !empty.test(expr))).toEqual([]);
  }
});
