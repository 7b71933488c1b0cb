import { describe, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { Task } from '../../src/model.ts';
import { sourceContract } from '../../src/testing.ts';
import { recordLife } from '../memory/record-life.ts';
import { arraySources } from '../testing/array-source.ts';
import { partsWithout } from '../testing/contract-parts.ts';

const PARTS = partsWithout('queues', 'components');

function memories(names: readonly string[], placeOf: (task: Task) => number) {
  return () => {
    const all = names.map((name) =>
      memorySources({ name, schedules: [{ id: `${name}-nightly`, name: 'nightly' }] }),
    );
    const sources = combineSources(...all);
    const seed = (tasks: readonly Task[]) => {
      for (const task of tasks) {
        const target = all[placeOf(task)];
        if (target !== undefined) recordLife(target, task);
      }
    };
    return { sources, seed };
  };
}

/** A worker and a workflow are known to one source alone, as they would be. */
function placeOf({ id, worker }: Task): number {
  return id.startsWith('flow') || worker === 'celery@a' || worker === undefined ? 0 : 1;
}

describe('the contract of sources, for a combination', () => {
  describe('of one', () => {
    const create = memories(['one'], () => 0);
    for (const { name, run } of sourceContract({ parts: PARTS, create })) it(name, run);
  });

  describe('of two', () => {
    const create = memories(['one', 'two'], placeOf);
    for (const { name, run } of sourceContract({ parts: PARTS, create })) it(name, run);
  });

  describe('of one that holds all and one that is empty', () => {
    const create = memories(['empty', 'full'], () => 1);
    for (const { name, run } of sourceContract({ parts: PARTS, create })) it(name, run);
  });

  describe('of two whose cursors and revisions are counts', () => {
    const create = () => {
      const { sources, seed } = arraySources();
      const { tasks, events } = memorySources({ name: 'idle' });
      return { sources: combineSources(sources, { tasks, events }), seed };
    };
    const parts = [...PARTS, 'components', 'queues'] as const;
    for (const { name, run } of sourceContract({ parts, create })) it(name, run);
  });
});
