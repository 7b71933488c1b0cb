import { describe, expect, it } from 'vitest';
import type { TaskQuery, TaskStats } from '../../src/source.ts';
import { type ContractPart, sourceContract } from '../../src/testing.ts';
import { until } from '../helpers/redis-server.ts';
import { arraySources } from './array-source.ts';
import { ALL_PARTS, itKeepsTheContract, NO_FINDINGS, NOT_SEEDED } from './contract-parts.ts';

const NO_CAUSES = 'The statistics have no causes.';

/** What the source in `array-source.ts` does without. */
const NOT_IN_ARRAYS = {
  'tasks: hides secrets in tasks that it calls redacted': 'The source redacts no listed task.',
  'tasks: continues after a row at the position that endAt() returns': 'No page of several rows has endAt().',
  'tasks.stats: has totals that add up the last steps in which all is known':
    'The statistics have no totals.',
  'tasks.stats: says which tasks sent those of a name, and which ones they sent':
    'The statistics have no callers.',
  'tasks.stats: groups failures by cause, the most frequent first': NO_CAUSES,
  'tasks.stats: lists as many causes as were asked for, and says whether there are others': NO_CAUSES,
  'tasks.stats: has no other causes than the list is filtered by': NO_CAUSES,
  ...NO_FINDINGS,
};

describe('the contract suite on a source that is right', () => {
  itKeepsTheContract({ parts: ALL_PARTS, create: arraySources }, NOT_IN_ARRAYS);
});

describe('the contract suite', () => {
  it('skips what a source says that it cannot do, with the reason, and fails where it does not say so', async () => {
    const capabilities = { sorts: ['timestamp'], filters: ['states'], search: false, total: false } as const;
    const create = () => {
      const { sources, seed } = arraySources();
      const { tasks } = sources;
      const refuse = ({ sort, q, names, conditions }: TaskQuery): void => {
        const isPlain = sort === 'timestamp' && q === null && names.length + conditions.length === 0;
        if (!isPlain) throw new Error('not possible here');
      };
      const listTasks: typeof tasks.listTasks = async (query, context) => {
        refuse(query);
        return { ...(await tasks.listTasks(query, context)), total: null };
      };
      const getTaskStats: typeof tasks.getTaskStats = (query, context) => {
        refuse(query.filter);
        return tasks.getTaskStats?.(query, context) as TaskStats;
      };
      const { getTask } = tasks;
      return { seed, sources: { tasks: { name: 'table', capabilities, getTask, listTasks, getTaskStats } } };
    };
    const parts = ['tasks', 'tasks.stats'] as const;
    const cases = sourceContract({ parts, create, capabilities });
    const skipped = cases.flatMap(({ skip }) => skip ?? []);
    expect(skipped).toContain('The source cannot search.');
    expect(skipped).toContain('The source cannot filter by names.');
    expect(skipped).toContain('The source cannot filter by conditions.');
    const reported: (string | null)[] = [];
    for (const { run, skip } of cases)
      if (skip !== null) await run({ skip: (reason) => reported.push(reason) });
    expect(reported).toEqual(skipped);
    for (const { run, skip } of cases) if (skip === null) await run();
    const silent = sourceContract({ parts, create });
    const undeclared = silent.find(({ name }) => name.includes('named capabilities'));
    await expect(undeclared?.run()).rejects.toThrow('capabilities of tasks');
  });

  it('tells a runner which cases it could not check, and why', async () => {
    const create = () => {
      const { sources, seed } = arraySources();
      seed([{ id: 'one', state: 'SUCCESS', timestamp: new Date(1_700_000_000_000) }]);
      return { sources };
    };
    const skipped = new Map<string, string>();
    // As in node:test, whose method needs its object.
    class Context {
      readonly #name: string;
      constructor(name: string) {
        this.#name = name;
      }
      skip(reason: string): void {
        skipped.set(this.#name, reason);
      }
    }
    for (const { name, run } of sourceContract({ parts: ALL_PARTS, create })) await run(new Context(name));
    expect(Object.fromEntries(skipped)).toMatchObject(NOT_SEEDED);
    expect(skipped.get('tasks: combines filters: all of them must match')).toBe(
      'No listed task has both a name and a worker.',
    );
    expect(skipped.has('tasks: returns null for an unknown id')).toBe(false);
  });

  it('ends in what the function of the runner throws, as that of vitest does', async () => {
    const { sources } = arraySources();
    const create = () => ({ sources: { workers: sources.workers } });
    const independent = sourceContract({ parts: ['workers'], create }).find(({ name }) =>
      name.includes('independent answers'),
    );
    const stop = new Error('ends the test');
    const skip = () => {
      throw stop;
    };
    await expect(independent?.run({ skip })).rejects.toBe(stop);
  });

  it('warns of what it could not check where the runner has no function for it', async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error) => warnings.push(warning);
    process.on('warning', hear);
    const create = () => ({ sources: { workers: { name: 'own', listWorkers: () => [] } } });
    const cases = sourceContract({ parts: ['workers'], create });
    await cases.find(({ name }) => name.includes('when a task is added'))?.run();
    const text =
      'Not checked: source: changes its revision when a task is added. The source has no part tasks.';
    await until(() => warnings.some(({ message }) => message === text));
    process.off('warning', hear);
    expect(warnings.find(({ message }) => message === text)?.name).toBe('ExpressTaskMonitorWarning');
  });

  it('fails on a source that is empty and cannot be filled, for nothing can be found out there', async () => {
    const cases = sourceContract({
      parts: ['tasks'],
      create: () => ({ sources: { tasks: arraySources().sources.tasks } }),
    });
    const results = await Promise.allSettled(cases.map(({ run }) => run()));
    expect(results.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(10);
  });

  it('gives each case a title of its own and no argument to fill, as every runner wants it', () => {
    const cases = sourceContract({ parts: ALL_PARTS, create: arraySources });
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(cases.every(({ run }) => run.length === 0)).toBe(true);
  });

  it('says which parts there are when it is given none or an unknown one', () => {
    const create = arraySources;
    expect(() => sourceContract({ parts: [], create })).toThrow(/tasks\.tree/);
    expect(() => sourceContract({ parts: ['jobs' as ContractPart], create })).toThrow(TypeError);
  });

  it('closes what it made, also after a case that failed', async () => {
    let open = 0;
    const close = () => {
      open -= 1;
    };
    const create = () => {
      open += 1;
      const made = arraySources();
      const sources = { ...made.sources, workers: { name: 'not a name!', listWorkers: () => [] } };
      return { ...made, sources, close };
    };
    await Promise.allSettled(sourceContract({ parts: ALL_PARTS, create }).map(({ run }) => run()));
    expect(open).toBe(0);
  });

  it('tries a case again on a live source, and only there', async () => {
    for (const live of [true, false]) {
      let made = 0;
      const create = () => {
        made += 1;
        const { sources, seed } = arraySources();
        // Wrong at first, right from the second time on.
        return { sources: made === 1 ? {} : { workers: sources.workers }, seed };
      };
      const [declared] = sourceContract({ parts: ['workers'], create, live });
      const outcome = await declared?.run().then(
        () => 'passed',
        () => 'failed',
      );
      expect(outcome).toBe(live ? 'passed' : 'failed');
    }
  });
});
