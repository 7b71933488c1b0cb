import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. */
const LONGEST = [
  'packaging/types',
  'bullmq/contract',
  'testing/broken-sources',
  'celery/contract',
  'secrets/bullmq',
  'bullmq/events',
  'celery/queues-paging',
  'celery/backend-reconcile',
  'dashboard/reach',
  'combine/contract',
  'router/hostile-requests',
  'secrets/routes',
  'router/streams-faults',
  'bullmq/paging-moves',
  'celery/sentinel-urls',
  'packaging/consumers',
  'dashboard/hostile',
  'bullmq/paging',
  'router/hostile-sources',
  'dashboard/live',
  'dashboard/views',
  'packaging/pages-code',
  'celery/backend-lookup',
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
