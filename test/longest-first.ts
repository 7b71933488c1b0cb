import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. A file with a browser, which keeps a core busy, stands between two that mostly wait. */
const LONGEST = [
  'dashboard/reach',
  'celery/amqp-control',
  'examples/celery',
  'dashboard/overview',
  'bullmq/events',
  'celery/amqp-events',
  'secrets/page',
  'celery/sql/results-postgres',
  'celery/backend-reconcile',
  'dashboard/signed-out',
  'bullmq/cluster',
  'router/streams-faults',
  'dashboard/held',
  'celery/amqp-queues',
  'celery/sql/results-hostile',
  'dashboard/fits',
  'bullmq/schedules',
  'celery/control-facts',
  'dashboard/views',
  'secrets/bullmq',
  'celery/findings',
  'dashboard/hostile',
  'celery/contract',
  'celery/backend-scan',
  'dashboard/live',
  'celery/amqp-contract',
  'stores/sqlite',
  'dashboard/held-tables',
  'stored/postgres',
  'bullmq/events-hostile',
  'packaging/pages-code',
  'metrics/real-prometheus',
  'celery/amqp-hints',
  'dashboard/bullmq',
  'router/streams',
  'celery/amqp-clients',
  'bullmq/recorded-counts',
  'celery/queues-messages',
  'celery/replay',
  'bullmq/clients',
  'celery/sql/results-shown',
  'celery/amqp-waiting',
  'celery/queues-taken',
  'stores/postgres-store',
  'celery/array-broker',
  'bullmq/paging-moves',
  'secrets/routes',
  'celery/sentinel-urls',
  'bullmq/http',
  'packaging/types',
  'examples/bullmq',
  'metrics/sharing',
  'bullmq/recorded-feed',
  'router/lifecycle',
  'celery/backend-lookup',
  'bullmq/paging',
  'bullmq/health',
  'bullmq/events-clients',
  'celery/hints-probe',
  'celery/leader',
  'testing/broken-sources',
  'celery/queues-changes',
  'router/hostile-data',
];

/** The order of files within one run: no worker shall be left alone with a long one at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      // A process that runs many files ends as soon as the next file wants one of its own.
      if (project.config.isolate) return -1;
      const index = LONGEST.findIndex((path) => moduleId.endsWith(`/test/${path}.test.ts`));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
