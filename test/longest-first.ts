import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. */
const LONGEST = [
  'secrets/bullmq',
  'dashboard/signed-out',
  'dashboard/held',
  'bullmq/events',
  'dashboard/reach',
  'dashboard/live',
  'celery/contract',
  'celery/backend-scan',
  'router/lifecycle',
  'dashboard/views',
  'router/streams-faults',
  'bullmq/schedules',
  'celery/backend-reconcile',
  'celery/replay',
  'router/hostile-requests',
  'bullmq/page-cost',
  'dashboard/fits',
  'packaging/pages-code',
  'bullmq/paging',
  'secrets/routes',
  'bullmq/scale',
  'secrets/page',
  'dashboard/hostile',
  'dashboard/overview',
  'bullmq/events-hostile',
  'packaging/types',
  'secrets/celery',
  'celery/shuffled',
  'metrics/real-prometheus',
  'bullmq/contract',
  'bullmq/paging-moves',
  'router/streams',
  'fuzz/fuzz',
  'graph/graph-tracker',
  'graph/graph-steps',
  'celery/queues-paging',
  'testing/broken-sources',
  'bullmq/clients',
  'celery/array-broker',
  'examples/celery',
  'examples/memory',
  'router/hostile-sources',
  'bullmq/workers-cluster',
  'celery/backend-lookup',
  'router/warnings',
  'celery/findings',
  'combine/contract',
  'history/order',
  'history/floods',
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
