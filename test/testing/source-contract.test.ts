import { describe, expect, it } from 'vitest';
import { type ContractPart, sourceContract } from '../../src/testing.ts';
import { arraySources } from './array-source.ts';
import { ALL_PARTS } from './contract-parts.ts';

describe('the contract suite on a source that is right', () => {
  it.each(sourceContract({ parts: ALL_PARTS, create: arraySources }))('$name', ({ run }) => run());
});

describe('the contract suite', () => {
  it('skips what a source says that it cannot do, with the reason, and fails where it does not say so', async () => {
    const capabilities = { sorts: ['timestamp'], filters: ['states'], search: false, total: false } as const;
    const create = () => {
      const { sources, seed } = arraySources();
      const { tasks } = sources;
      const listTasks: typeof tasks.listTasks = async (query, context) => {
        const isPlain = query.sort === 'timestamp' && query.q === null && query.names.length === 0;
        if (!isPlain || query.conditions.length > 0) throw new Error('not possible here');
        return { ...(await tasks.listTasks(query, context)), total: null };
      };
      return { seed, sources: { tasks: { name: 'table', capabilities, getTask: tasks.getTask, listTasks } } };
    };
    const cases = sourceContract({ parts: ['tasks'], create, capabilities });
    const skipped = cases.flatMap(({ skip }) => skip ?? []);
    expect(skipped).toContain('The source cannot search.');
    expect(skipped).toContain('The source cannot filter by names.');
    expect(skipped).toContain('The source cannot filter by conditions.');
    for (const { run, skip } of cases) if (skip === null) await run();
    const silent = sourceContract({ parts: ['tasks'], create });
    const undeclared = silent.find(({ name }) => name.includes('named capabilities'));
    await expect(undeclared?.run()).rejects.toThrow('capabilities of tasks');
  });

  it('passes on a source that cannot be filled and holds something already', async () => {
    const create = () => {
      const { sources, seed } = arraySources();
      seed([{ id: 'one', state: 'SUCCESS', timestamp: new Date(1_700_000_000_000) }]);
      return { sources };
    };
    for (const { run } of sourceContract({ parts: ALL_PARTS, create })) await run();
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
