import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { History, TaskChange, TaskFacts } from '../../src/history/history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { runs, seedOf } from '../helpers/cases.ts';
import { CONTEXT, historyOf, T0, taskOf, told } from './telling.ts';

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

/** What was read of the task, and what others tell of it. */
const beside = fc.array(
  fc.oneof(
    fc.record({ stored: fc.constantFrom<TaskChange['type']>('sent', 'succeeded', 'failed') }),
    fc
      .record({
        parent: fc.constantFrom('a', 'b', 'c', 'g'),
        child: fc.constantFrom('a', 'b', 'd'),
        relation: fc.constantFrom('child', 'chain', 'link', 'group', 'chord', 'map', 'other'),
      })
      // Messages here disagree on the parent; which of them agreed with the relation is not remembered.
      .filter(({ child, relation }) => child !== 'a' || relation !== 'child'),
    fc.constant<TaskFacts>({
      id: 'a',
      name: 'header.name',
      queue: 'header',
      args: 'header',
      kwargs: 'header',
      parentId: 'c',
      rootId: 'header',
      groupId: 'header.group',
      stamps: { by: 'header' },
    }),
  ),
  { maxLength: 8, size: 'max' },
);

type Step = TaskChange | TaskFacts | TaskRelation | { readonly stored: TaskChange['type'] };

function tell(history: History, step: Step): void {
  if ('relation' in step) history.writer.recordRelation(step);
  else if ('type' in step) history.writer.recordTask(step);
  else if ('id' in step) history.writer.recordFacts(step);
  else if (step.stored === 'sent') {
    // As it waits in its queue.
    history.writer.recordTask(
      told({
        type: 'sent',
        time: null,
        stored: true,
        retries: 0,
        name: 'q.name',
        queue: 'q',
        args: 'q',
        kwargs: 'q',
        parentId: 'b',
        rootId: 'q',
        chordId: 'body',
      }),
    );
  } else {
    history.writer.recordTask(
      told({
        type: step.stored,
        time: T0 + 600,
        origin: 'result',
        stored: true,
        retries: 2,
        parentId: 'b',
        worker: 'w1@a',
        [step.stored === 'failed' ? 'exception' : 'result']: 'stored',
      }),
    );
  }
}

async function knownAfter(steps: readonly Step[]) {
  const history = historyOf([told({ type: 'custom', state: 'FIRST', time: T0 - 1 })]);
  for (const step of steps) tell(history, step);
  const task = await history.reader.getTask('a', CONTEXT);
  const tree = await history.reader.getTaskTree('a', CONTEXT);
  const relations = (tree?.relations ?? []).map((relation) => JSON.stringify(relation)).sort();
  history.close();
  return {
    task: { ...task, children: [...(task?.children ?? [])].sort() },
    root: tree?.rootId,
    tasks: tree?.tasks.map(({ id }) => id).sort(),
    relations,
  };
}

const shuffledTwice = (steps: readonly Step[]) =>
  fc.tuple(
    fc.constant(steps),
    fc.shuffledSubarray([...steps], { minLength: steps.length }),
    fc.array(fc.nat({ max: Math.max(0, steps.length - 1) }), { maxLength: 8 }),
  );

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
      { seed: seedOf(11), numRuns: runs(2_000) },
    );
  }, 240_000);

  it('does not matter when some of it was read, and beside facts and relations', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(messages, beside).chain(([heard, more]) => shuffledTwice([...heard, ...(more as Step[])])),
        async ([all, shuffled, again]) => {
          const repeated = [...shuffled, ...again.flatMap((at) => shuffled[at] ?? [])];
          expect(await knownAfter(repeated)).toEqual(await knownAfter(all));
        },
      ),
      { seed: seedOf(23), numRuns: runs(1_000) },
    );
  }, 240_000);
});
