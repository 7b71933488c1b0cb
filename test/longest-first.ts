import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. */
const LONGEST = [
  'packaging/consumers',
  'secrets/bullmq',
  'dashboard/reach',
  'dashboard/signed-out',
  'bullmq/events',
  'bullmq/paging-moves',
  'fuzz/fuzz',
  'dashboard/live',
  'secrets/routes',
  'packaging/pages-code',
  'celery/backend-scan',
  'router/streams-faults',
  'bullmq/contract',
  'bullmq/schedules',
  'packaging/types',
  'celery/backend-reconcile',
  'examples/memory',
  'bullmq/events-hostile',
  'bullmq/live',
  'celery/control-workers',
  'bullmq/paging',
  'router/hostile-requests',
  'secrets/page',
  'bullmq/scale',
  'bullmq/workers-cluster',
  'metrics/real-prometheus',
  'celery/deployment',
  'graph/graph-steps',
  'celery/contract',
  'celery/canvas',
  'dashboard/views',
  'router/lifecycle',
  'dashboard/hostile',
  'examples/celery',
  'testing/broken-sources',
  'history/floods',
  'graph/graph-tracker',
  'combine/contract',
  'secrets/celery',
  'history/order',
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
