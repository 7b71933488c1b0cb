import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. A file with a browser, which keeps a core busy, stands between two that mostly wait. */
const LONGEST = [
  'router/lifecycle',
  'dashboard/overview',
  'celery/contract',
  'router/streams-faults',
  'bullmq/paging',
  'bullmq/recorded-feed',
  'dashboard/task',
  'bullmq/events',
  'bullmq/paging-moves',
  'celery/sql/results-postgres',
  'celery/replay',
  'dashboard/search',
  'packaging/types',
  'bullmq/schedules',
  'stored/same-reads',
  'dashboard/views',
  'bullmq/clients',
  'dashboard/workers',
  'celery/array-broker',
  'router/warnings',
  'secrets/page',
  'celery/amqp-contract',
  'bullmq/contract',
  'celery/schedules-crontab',
  'examples/celery',
  'stores/postgres-store',
  'examples/memory',
  'combine/contract',
  'secrets/routes',
  'router/streams',
  'secrets/bullmq',
  'celery/queues-paging',
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
