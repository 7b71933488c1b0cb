import { describe, expect, it } from 'vitest';
import { createGraphTracker } from '../../src/graph.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { createJsonList } from '../../src/serialize.ts';
import { CONTEXT, told } from '../history/telling.ts';
import { finish, type Steps } from './graph-kit.ts';

interface Shape {
  readonly of: (
    index: number,
    many: number,
  ) => Partial<Record<'parentId' | 'groupId' | 'chordId', string | null>>;
  /** Steps that nobody has seen, behind each task. */
  readonly unseen?: number;
  /** How many times the tasks, or what belongs to each, are gone through: first, unchanged, and with one task less. */
  readonly passes: readonly [first: number, again: number, changed: number];
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'a tree': {
    of: (index) => ({ parentId: index === 0 ? null : `t${(index - 1) >> 1}` }),
    passes: [11, 6, 11],
  },
  'a chain': { of: (index) => ({ parentId: index === 0 ? null : `t${index - 1}` }), passes: [11, 6, 11] },
  'a circle': { of: (index, many) => ({ parentId: `t${(index + 1) % many}` }), passes: [11, 6, 11] },
  'a group with a body': { of: () => ({ groupId: 'g', chordId: 'body' }), passes: [21, 11, 21] },
  'a flow whose rest will not run': {
    of: (index) => ({ parentId: `t${index - 1}` }),
    unseen: 2,
    passes: [38, 21, 38],
  },
};

/** Relations to the steps behind each task, of which none runs after a failure. */
const relationsOf = (many: number, unseen: number): TaskRelation[] =>
  Array.from({ length: many * unseen }, (_, index) => ({
    ...{ parent: index < many ? `t${index}` : `u${index - many}`, child: `u${index}`, relation: 'link' },
  }));

/** Tasks that count how often they are read, and a look at the most reads between two pauses. */
function counted(many: number, shape: Shape['of']) {
  let reads = 0;
  const tasks = Array.from({ length: many }, (_, index) => ({
    id: `t${index}`,
    get state() {
      reads += 1;
      return 'FAILURE';
    },
    ...shape(index, many),
  }));
  return {
    tasks,
    run<Result>(steps: Steps<Result>) {
      let most = 0;
      let pauses = -1;
      let step: IteratorResult<void, Result>;
      do {
        reads = 0;
        step = steps.next();
        most = Math.max(most, reads);
        pauses += 1;
      } while (step.done !== true);
      return { most, pauses, result: step.value };
    },
  };
}

describe.each(Object.entries(SHAPES))('a graph of %s', (_name, { of, unseen = 0, passes }) => {
  const MANY = 4_000;

  it('is built and compared a few tasks at a time, with pauses all the way', () => {
    const { tasks, run } = counted(MANY, of);
    const tree = { rootId: 't0', tasks, relations: relationsOf(MANY, unseen) };
    const tracker = createGraphTracker();
    const trees = [tree, tree, { ...tree, tasks: tasks.slice(0, -1) }];
    const looks = trees.map((one) => run(tracker.observe('t0', one)));
    expect(looks.map(({ most }) => most)).toEqual([64, 64, 64]);
    expect(looks.map(({ pauses }) => Math.round((pauses * 64) / MANY))).toEqual(passes);
    const [first, again] = looks.map(({ result }) => result.graph.shape);
    expect(again).toBe(first);
  });

  it('is found in a history with pauses', async () => {
    const history = createMemoryHistory({ maxTasks: MANY });
    for (let index = 0; index < MANY; index += 1) {
      history.writer.recordTask(told({ id: `t${index}`, type: 'started', ...of(index, MANY) }));
    }
    const found = history.reader.getTaskTree('t0', CONTEXT);
    expect(found).toBeInstanceOf(Promise);
    expect((await found)?.tasks).toHaveLength(MANY);
    history.close();
  });
});

describe('a list of JSON', () => {
  const items = Array.from({ length: 3_000 }, (_, index) => ({ index, text: 'é'.repeat(index % 90) }));
  const textOf = (count: number): string => JSON.stringify(items.slice(0, count)).slice(1, -1);

  it('writes each item once, whoever asks for how many, and gives everybody what they ask for', () => {
    let written = 0;
    const list = createJsonList(items, (item) => {
      written += 1;
      return JSON.stringify(item);
    });
    const readers = [2_000, 1, 0, 2_999, 700, 3_000, 5_000].map((count) => ({
      count,
      steps: list.first(count),
    }));
    // All are under way at the same time.
    const results = readers.map(({ count, steps }) => ({ count, steps, step: steps.next() }));
    for (const { count, steps, step } of results.toReversed()) {
      const pieces = step.done === true ? step.value : finish(steps);
      expect(Buffer.concat(pieces).toString()).toBe(textOf(count));
    }
    for (const count of [0, 1, 699, 1_500]) {
      expect(Buffer.concat(finish(list.first(count))).toString()).toBe(textOf(count));
    }
    expect(written).toBe(items.length);
  });
});
