import { describe } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { Task } from '../../src/model.ts';
import { recordLife } from '../memory/record-life.ts';
import { arraySources } from '../testing/array-source.ts';
import { itKeepsTheContract, NO_FINDINGS, partsWithout } from '../testing/contract-parts.ts';

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

const OF_TWO = {
  ...NO_FINDINGS,
  'tasks: continues after a row at the position that endAt() returns': 'No page of several rows has endAt().',
};

/** A worker and a workflow are known to one source alone, as they would be. */
function placeOf({ id, worker }: Task): number {
  return id.startsWith('flow') || worker === 'celery@a' || worker === undefined ? 0 : 1;
}

describe('the contract of sources, for a combination', () => {
  describe('of two', () => {
    const create = memories(['one', 'two'], placeOf);
    itKeepsTheContract({ parts: PARTS, create }, OF_TWO);
  });

  describe('of two whose cursors and revisions are counts', () => {
    const create = () => {
      const { sources, seed } = arraySources();
      const { tasks, events } = memorySources({ name: 'idle' });
      return { sources: combineSources(sources, { tasks, events }), seed };
    };
    const parts = [...PARTS, 'components', 'queues'] as const;
    itKeepsTheContract(
      { parts, create },
      {
        ...OF_TWO,
        'tasks: hides secrets in tasks that it calls redacted': 'The source redacts no listed task.',
        'tasks.stats: says which tasks sent those of a name, and which ones they sent':
          'The statistics have no callers.',
        'tasks.stats: has no other causes than the list is filtered by':
          'The source has no failure of the last 24 hours.',
      },
    );
  });
});
