import type { ViteUserConfig } from 'vitest/config';
import { CountReporter } from './count-reporter.ts';

/** Where the counts go, for `.ci/run`. */
const report = process.env.TASK_MONITOR_REPORT;

/** Hosts of tests without `onError` make the mistakes of which the library warns. */
export const execArgv = ['--disable-warning=ExpressTaskMonitorWarning'];

/** What every configuration of tests has in common. */
export const settings: NonNullable<ViteUserConfig['test']> = {
  root: new URL('..', import.meta.url).pathname,
  setupFiles: ['test/setup.ts'],
  execArgv,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  ...(report ? { reporters: ['default', new CountReporter(report)] } : {}),
};

/**
 * Tests that take long: real deployments that are watched, real projects that install the package, and every view of the
 * page in every state. `npm run test:live` runs them alone, and `.ci/run` does so too.
 */
export const LIVE: readonly string[] = [
  'test/alerting/instances.test.ts',
  'test/bullmq/live.test.ts',
  'test/bullmq/recorded-cost.test.ts',
  'test/bullmq/recorded-killed.test.ts',
  'test/bullmq/recorded-live.test.ts',
  'test/bullmq/scale.test.ts',
  'test/celery/amqp-control-outage.test.ts',
  'test/celery/amqp-refused-live.test.ts',
  'test/celery/amqp-workers.test.ts',
  'test/celery/amqp-outage.test.ts',
  'test/celery/canvas.test.ts',
  'test/celery/control-workers.test.ts',
  'test/celery/deployment.test.ts',
  'test/celery/django-beat-live.test.ts',
  'test/celery/django-beat.test.ts',
  'test/celery/ends-live.test.ts',
  'test/celery/fields-live.test.ts',
  'test/celery/fields-rabbitmq.test.ts',
  'test/celery/hints-live.test.ts',
  'test/celery/hints-probe.test.ts',
  'test/celery/leader-live.test.ts',
  'test/celery/live.test.ts',
  'test/celery/metrics-live.test.ts',
  'test/celery/never-ran-live.test.ts',
  'test/celery/replica.test.ts',
  'test/celery/repeats-live.test.ts',
  'test/celery/retries-live.test.ts',
  'test/celery/running-live.test.ts',
  'test/celery/schedules-live.test.ts',
  'test/celery/sql/database-user.test.ts',
  'test/celery/sql/results-contract.test.ts',
  'test/celery/sql/results-live.test.ts',
  'test/celery/sql/results-plans.test.ts',
  'test/celery/store-live.test.ts',
  'test/celery/versions-live.test.ts',
  'test/command/doctor-live.test.ts',
  'test/celery/waiting-live.test.ts',
  'test/dashboard/axe.test.ts',
  'test/dashboard/charts.test.ts',
  'test/dashboard/fits.test.ts',
  'test/dashboard/frame.test.ts',
  'test/dashboard/held.test.ts',
  'test/dashboard/held-tables.test.ts',
  'test/dashboard/keyboard.test.ts',
  'test/dashboard/live.test.ts',
  'test/dashboard/reach.test.ts',
  'test/dashboard/waterfall-view.test.ts',
  'test/dashboard/workflow-graph.test.ts',
  'test/dashboard/workflows.test.ts',
  'test/examples/both.test.ts',
  'test/examples/celery-rabbitmq.test.ts',
  'test/examples/celery-store.test.ts',
  'test/examples/pg-boss.test.ts',
  'test/examples/shared-history.test.ts',
  'test/incident/bullmq.test.ts',
  'test/incident/celery.test.ts',
  'test/incident/memory.test.ts',
  'test/metrics/alerts-live.test.ts',
  'test/packaging/compile.test.ts',
  'test/packaging/consumers.test.ts',
  'test/packaging/oldest-clients.test.ts',
  'test/packaging/stores.test.ts',
  'test/stores/postgres.test.ts',
  'test/stores/sqlite-node24.test.ts',
];

/** `npm test` tries a sample of their cases, and `npm run test:live` the rest of them (`test/helpers/cases.ts`). */
export const SAMPLED: readonly string[] = [
  'test/bullmq/causes.test.ts',
  'test/bullmq/cluster.test.ts',
  'test/bullmq/components.test.ts',
  'test/bullmq/contract.test.ts',
  'test/bullmq/events-clients.test.ts',
  'test/bullmq/events.test.ts',
  'test/bullmq/findings.test.ts',
  'test/bullmq/health.test.ts',
  'test/bullmq/http.test.ts',
  'test/bullmq/meter.test.ts',
  'test/bullmq/paging-moves.test.ts',
  'test/bullmq/paging.test.ts',
  'test/bullmq/progress.test.ts',
  'test/bullmq/queues.test.ts',
  'test/bullmq/recorded-job.test.ts',
  'test/bullmq/running.test.ts',
  'test/bullmq/schedule-runs.test.ts',
  'test/bullmq/schedules.test.ts',
  'test/bullmq/stalled.test.ts',
  'test/bullmq/stats-kept.test.ts',
  'test/bullmq/trace-id.test.ts',
  'test/bullmq/waiting.test.ts',
  'test/celery/queues-paging.test.ts',
  'test/celery/recordings.test.ts',
  'test/combine/feed-walks.test.ts',
  'test/combine/walks.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/graph/graph-tracker.test.ts',
  'test/history/order.test.ts',
  'test/history/task-list.test.ts',
  'test/packaging/pages-code.test.ts',
  'test/packaging/types.test.ts',
  'test/router/hostile-requests.test.ts',
  'test/secrets/bullmq.test.ts',
  'test/secrets/celery.test.ts',
  'test/secrets/limits.test.ts',
  'test/secrets/page.test.ts',
  'test/secrets/routes.test.ts',
  'test/serialize/secrets.test.ts',
];

/** Have a configuration of their own: `npm run test:hosts`. */
export const HOSTS = 'test/hosts/**/*.test.ts';

/** Have a configuration of their own: `npm run test:faults`. */
export const FAULTS = 'test/faults/**/*.test.ts';
