import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import type { MonitorSources } from '../../src/source.ts';
import { sourceContract } from '../../src/testing.ts';
import { arraySources, type WholeSources } from './array-source.ts';
import { BROKEN } from './broken-sources.ts';
import { ALL_PARTS } from './contract-parts.ts';

function casesOn(spoil: (sources: WholeSources) => MonitorSources, timeoutMs = 5000) {
  const create = () => {
    const { sources, seed } = arraySources();
    return { sources: spoil(sources), seed };
  };
  return new Map(sourceContract({ parts: ALL_PARTS, create, timeoutMs }).map((each) => [each.name, each]));
}

/** Cases that need more than the source in `array-source.ts` has. The sources of this library are tried by them. */
const UNTRIED = [
  'tasks.stats: groups failures by cause, the most frequent first',
  'tasks.stats: has no other causes than the list is filtered by',
  'tasks.stats: has totals that add up the last steps in which all is known',
  'tasks.stats: lists as many causes as were asked for, and says whether there are others',
  'tasks.stats: says which tasks sent those of a name, and which ones they sent',
  'history: counts by minute, so that two spans add up to one',
  'history: reports what happens, and the tasks that have not ended, longest running first',
];

describe('the contract suite on a broken source', () => {
  describe.each(Object.entries(BROKEN))('by the case "%s"', (name, broken) => {
    it.each(Object.entries(broken))('finds out that it %s', async (title, spoil) => {
      const meant = casesOn(spoil, /^hangs|for ever$/.test(title) ? 200 : undefined).get(name);
      const error = await meant?.run().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
    });
  });

  it('has a broken source for each of its cases', () => {
    const untried = [...casesOn((sources) => sources).keys()].filter((name) => !BROKEN[name]);
    expect(untried.toSorted()).toEqual(UNTRIED.toSorted());
  });

  it('names the place and what was wrong there', async () => {
    const name = 'tasks: lists every seeded task with its known values';
    const spoil = BROKEN[name]?.['gives times as text'];
    const error = await (spoil &&
      casesOn(spoil)
        .get(name)
        ?.run()
        .catch((reason: unknown) => reason));
    expect(error).toBeInstanceOf(AssertionError);
    expect(String(error)).toMatch(/listTasks\.tasks\[\d+\]\.started: expected a valid Date, got '20/);
  });
});
