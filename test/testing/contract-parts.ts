import { afterAll, expect, it } from 'vitest';
import { type ContractPart, type ContractSetup, type SourceCase, sourceContract } from '../../src/testing.ts';

/** Every part that a source may have. */
export const ALL_PARTS: readonly ContractPart[] = [
  'tasks',
  'tasks.tree',
  'tasks.stats',
  'workers',
  'events',
  'schedules',
  'queues',
  'health',
  'components',
  'history',
];

/** Every part but these. */
export function partsWithout(...missing: readonly ContractPart[]): readonly ContractPart[] {
  return ALL_PARTS.filter((part) => !missing.includes(part));
}

/** Cases that need tasks which the suite adds, for a source whose tasks come from elsewhere. */
export const NOT_SEEDED: Readonly<Record<string, string>> = {
  'tasks: lists every seeded task with its known values': 'The source cannot be seeded.',
  'tasks: hides secrets in tasks that it calls redacted': 'The source cannot be seeded.',
  'tasks.tree: leaves out unrelated tasks': 'The source cannot be seeded.',
  'events: reports every seeded task': 'The source cannot be seeded.',
  'events: returns every item after a time before all of them': 'The source cannot be seeded.',
  'source: changes its revision when a task is added': 'The source cannot be seeded.',
};

const NO_ACTIVITY = 'The source has no getActivity.';

/** What a source without data for the findings leaves unchecked: combined sources are judged one by one. */
export const NO_FINDINGS: Readonly<Record<string, string>> = {
  'history: reports what happens, and the tasks that have not ended, longest running first': NO_ACTIVITY,
  'history: counts by minute, so that two spans add up to one': NO_ACTIVITY,
};

/**
 * Makes a test of each case of the contract suite.
 *
 * @param notChecked the cases that this source gives nothing to check, with the reason. Any other case that is skipped
 *   fails, and so does one of these that is checked after all.
 */
export function itKeepsTheContract(
  setup: ContractSetup,
  notChecked: Readonly<Record<string, string>> = {},
): void {
  itRuns(sourceContract(setup), notChecked);
}

/**
 * The same of a source that is costly to make: it is made once, and only the cases that close it have one of their own.
 */
export function itKeepsTheContractTogether(
  setup: ContractSetup,
  notChecked: Readonly<Record<string, string>> = {},
): void {
  let shared: ReturnType<ContractSetup['create']> | null = null;
  afterAll(async () => {
    const made = await shared;
    await made?.sources.close?.();
    await made?.close?.();
  });
  async function create() {
    shared ??= setup.create();
    const { close: _, ...sources } = (await shared).sources;
    return { sources };
  }
  const together = sourceContract({ ...setup, create });
  const cases = sourceContract(setup).map((own, at) =>
    own.name.includes('can be closed') ? own : (together[at] as SourceCase),
  );
  itRuns(cases, notChecked);
}

function itRuns(cases: readonly SourceCase[], notChecked: Readonly<Record<string, string>>): void {
  for (const { name, run } of cases) {
    const expected = notChecked[name];
    it(expected === undefined ? name : `${name} (not checked: ${expected})`, async () => {
      let skipped: string | undefined;
      await run({
        skip(reason) {
          skipped = reason;
        },
      });
      expect(skipped).toBe(expected);
    });
  }
  it('has the cases that are listed as not checked', () => {
    const names = cases.map(({ name }) => name);
    expect(Object.keys(notChecked).filter((name) => !names.includes(name))).toEqual([]);
  });
}
