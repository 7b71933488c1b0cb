import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. A file with a browser, which keeps a core busy, stands between two that mostly wait. */
const LONGEST = [
  'celery/amqp-control',
  'router/lifecycle',
  'celery/backend-lookup',
  'celery/amqp-events',
  'dashboard/overview',
  'celery/contract',
  'router/streams-faults',
  'bullmq/paging',
  'bullmq/recorded-feed',
  'dashboard/task',
  'celery/backend-reconcile',
  'bullmq/recorded',
  'bullmq/events',
  'bullmq/paging-moves',
  'celery/sql/results-postgres',
  'celery/replay',
  'dashboard/search',
  'bullmq/schedules',
  'stored/same-reads',
  'dashboard/views',
  'celery/backend-scan',
  'packaging/types',
  'dashboard/hostile',
  'bullmq/clients',
  'router/answer-cache',
  'dashboard/workers',
  'celery/array-broker',
  'router/warnings',
  'secrets/page',
  'celery/amqp-contract',
  'bullmq/contract',
  'dashboard/lines',
  'celery/schedules-crontab',
  'examples/celery',
  'dashboard/names',
  'stores/postgres-store',
  'examples/memory',
  'combine/contract',
  'secrets/routes',
  'bullmq/hostile',
  'history/floods',
  'router/streams',
  'celery/sql/results-hostile',
  'secrets/bullmq',
  'celery/queues-paging',
  'bullmq/page-cost',
  'serialize/secrets',
  'router/paging',
  'bullmq/cluster',
  'stored/reads',
  'bullmq/events-paging',
  'bullmq/http',
  'metrics/sharing',
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
