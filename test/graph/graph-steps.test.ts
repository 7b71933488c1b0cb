import { describe, expect, it } from 'vitest';
import { createGraphTracker } from '../../src/graph-updates.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { createJsonList } from '../../src/serialize.ts';
import { CONTEXT, told } from '../history/telling.ts';
import { finish, type Steps } from './graph-kit.ts';

type Shape = (
  index: number,
  many: number,
) => Partial<Record<'parentId' | 'groupId' | 'chordId', string | null>>;

const SHAPES: Readonly<Record<string, Shape>> = {
  'a tree': (index) => ({ parentId: index === 0 ? null : `t${(index - 1) >> 1}` }),
  'a chain': (index) => ({ parentId: index === 0 ? null : `t${index - 1}` }),
  'a circle': (index, many) => ({ parentId: `t${(index + 1) % many}` }),
  'a group with a body': () => ({ groupId: 'g', chordId: 'body' }),
};

/** Tasks that count how often they are read, and a look at the most reads between two pauses. */
function counted(many: number, shape: Shape) {
  let reads = 0;
  const tasks = Array.from({ length: many }, (_, index) => ({
    id: `t${index}`,
    get state() {
      reads += 1;
      return 'STARTED';
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

describe.each(Object.entries(SHAPES))('a graph of %s', (_name, shape) => {
  const MANY = 4_000;

  it('is built and compared with many pauses, a few tasks at a time', () => {
    const { tasks, run } = counted(MANY, shape);
    const tracker = createGraphTracker();
    const first = run(tracker.observe('t0', { rootId: 't0', tasks }));
    expect(first.most).toBeLessThanOrEqual(64);
    // To read tasks, to derive relations, edges and order, and to compare nodes.
    expect(first.pauses).toBeGreaterThan((5 * MANY) / 64);
    const again = run(tracker.observe('t0', { rootId: 't0', tasks }));
    expect(again.most).toBeLessThanOrEqual(64);
    expect(again.result.graph.shape).toBe(first.result.graph.shape);
    expect(again.pauses).toBeLessThan(first.pauses);
  });

  it('is found in a history with pauses', async () => {
    const history = createMemoryHistory({ maxTasks: MANY });
    for (let index = 0; index < MANY; index += 1) {
      history.writer.recordTask(told({ id: `t${index}`, type: 'started', ...shape(index, MANY) }));
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
