import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/task-history.ts';
import { T0, taskOf, told } from './telling.ts';

const WORKERS = ['w1@a', 'w2@b'] as const;

/** Messages of one task as clients, workers and the backend send them, each at a moment of its own. */
const messages = fc
  .uniqueArray(
    fc.record({
      at: fc.integer({ min: 0, max: 500 }),
      type: fc.constantFrom(
        ...(['sent', 'received', 'started', 'custom', 'retried', 'requeued', 'failed', 'succeeded'] as const),
        ...(['revoked', 'rejected'] as const),
      ),
      worker: fc.constantFrom(...WORKERS),
      retries: fc.integer({ min: 0, max: 2 }),
      isResult: fc.boolean(),
      text: fc.constantFrom('a', 'b', 'c'),
    }),
    { maxLength: 8, size: 'max', selector: ({ at }) => at },
  )
  .map((all) => all.map(asChange));

function asChange(given: {
  at: number;
  type: TaskChange['type'];
  worker: string;
  retries: number;
  isResult: boolean;
  text: string;
}): TaskChange {
  const { type, text, retries } = given;
  const isEnd = type === 'failed' || type === 'succeeded';
  const time = T0 + given.at;
  if (given.isResult && isEnd) {
    return told({
      type,
      time,
      retries,
      origin: 'result',
      [type === 'failed' ? 'exception' : 'result']: text,
    });
  }
  if (type === 'sent') {
    return told({
      type,
      time,
      retries,
      name: `sent.${text}`,
      queue: text,
      args: text,
      kwargs: '{}',
      rootId: text,
      parentId: text,
    });
  }
  const by = { type, time, worker: given.worker };
  if (type === 'received') {
    return told({
      ...by,
      retries,
      name: `got.${text}`,
      args: text,
      kwargs: '{}',
      rootId: text,
      parentId: null,
    });
  }
  if (type === 'custom') return told({ ...by, state: `DOING_${text}` });
  if (type === 'succeeded') return told({ ...by, result: text, runtime: given.at });
  return told(isEnd || type === 'retried' ? { ...by, exception: text } : by);
}

describe('the order in which a task is told of', () => {
  it('does not matter, nor how often each message comes', async () => {
    await fc.assert(
      fc.asyncProperty(
        messages.chain((all) =>
          fc.tuple(
            fc.constant(all),
            fc.shuffledSubarray(all, { minLength: all.length }),
            fc.array(fc.nat({ max: Math.max(0, all.length - 1) }), { maxLength: 8 }),
          ),
        ),
        async ([all, shuffled, again]) => {
          if (all.length === 0) return;
          const repeated = [...shuffled, ...again.flatMap((at) => shuffled[at] ?? [])];
          expect(await taskOf(repeated)).toEqual(await taskOf(all));
        },
      ),
      { seed: 11, numRuns: 3_000 },
    );
  });
});
