import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, longest first. */
const LONGEST = [
  'secrets/bullmq',
  'packaging/consumers',
  'dashboard/reach',
  'bullmq/paging-moves',
  'bullmq/events',
  'router/streams-faults',
  'bullmq/paging',
  'celery/backend-scan',
  'bullmq/scale',
  'bullmq/contract',
  'celery/deployment',
  'packaging/types',
  'packaging/pages-code',
  'fuzz/fuzz',
  'bullmq/live',
  'celery/canvas',
  'examples/memory',
  'celery/hints-probe',
  'secrets/page',
  'celery/control-workers',
  'router/hostile-requests',
  'celery/contract',
  'celery/backend-lookup',
  'secrets/routes',
  'celery/queues-scale',
  'celery/sentinel-urls',
  'router/hostile-sources',
  'history/order',
  'testing/broken-sources',
  'celery/queues-paging',
  'celery/acl',
  'examples/celery',
  'celery/replay',
  'dashboard/views',
  'celery/backend-reconcile',
  'combine/contract',
  'bullmq/events-hostile',
  'redact/properties',
  'history/fold',
  'dashboard/live',
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
