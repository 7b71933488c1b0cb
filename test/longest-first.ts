import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Starts with those that take longest, so that no worker is left alone with one at the end. */
const LONGEST = [
  'test/packaging/types.test.ts',
  'test/packaging/consumers.test.ts',
  'test/dashboard/reach.test.ts',
];

/** The order of files within one run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((path) => moduleId.endsWith(path));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
