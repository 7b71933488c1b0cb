/** What two instances have heard of a task, one after the other, makes what one would know that had heard all of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HistoryReader, HistoryWriter, TaskChange } from '../../src/history/history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT, historyOf, T0, told } from '../history/telling.ts';
import { AT_ONCE, instanceOf, untilReady, untilWritten } from './instances.ts';

/** A message, and when it arrives at every instance that hears it. */
interface Arrival {
  readonly change: TaskChange;
  readonly at: number;
}
/** What is heard of a task: in the order of one instance, and by each of two. */
interface Life {
  readonly all: readonly Arrival[];
  readonly one: readonly Arrival[];
  readonly other: readonly Arrival[];
}

const TYPES = [
  ...(['sent', 'received', 'started', 'custom', 'retried', 'requeued', 'failed', 'succeeded'] as const),
  ...(['revoked', 'rejected', 'propagated', 'stored sent', 'stored end'] as const),
];
const dated = fc.record({
  at: fc.integer({ min: 0, max: 500 }),
  type: fc.constantFrom(...TYPES),
  worker: fc.constantFrom('w1@a', 'w2@b'),
  retries: fc.integer({ min: 0, max: 2 }),
  isResult: fc.boolean(),
  isCut: fc.boolean(),
  text: fc.constantFrom('a', 'b', 'c'),
});
type Dated = typeof dated extends fc.Arbitrary<infer Value> ? Value : never;

/** What is read of a task is the same wherever it is read. */
const WAITING: Partial<TaskChange> = {
  ...{ name: 'read', args: 'q', kwargs: '{}', queue: 'q', rootId: 'q', parentId: 'q', chordId: 'body' },
};

/** A message as clients, workers and the backend send them. */
function asChange({ at, type, worker, retries, isResult, isCut, text }: Dated): TaskChange {
  const time = T0 + at;
  const message = { name: `sent.${text}`, args: text, kwargs: '{}', rootId: text, parentId: text, eta: time };
  const result = { time, retries, origin: 'result' } as const;
  const isEnd = type === 'failed' || type === 'succeeded';
  if (type === 'sent') return told({ type, time, retries, queue: text, ...message });
  if (type === 'stored sent') return told({ type: 'sent', time: null, stored: true, retries, ...WAITING });
  if (type === 'stored end') {
    return told({ type: 'succeeded', ...result, stored: true, name: 'read', result: text });
  }
  if (type === 'propagated') return told({ type: 'failed', ...result, isConsequence: true, exception: text });
  if (isResult && isEnd) {
    return told({ type, ...result, [type === 'failed' ? 'exception' : 'result']: `${text} whole` });
  }
  const by = { type, time, worker };
  if (type === 'received') {
    return told({ ...by, retries, ...message, name: `got.${text}`, eta: null, parentId: null });
  }
  if (type === 'custom') {
    const progress = { current: at, total: null, percent: null, text };
    return told({ ...by, state: `DOING_${text}`, ...(isCut && { progress }) });
  }
  if (type === 'succeeded') {
    return told({ ...by, result: text, runtime: at, ...(isCut && { truncated: ['result'] }) });
  }
  return told(isEnd || type === 'retried' ? { ...by, exception: text, traceback: `T${text}` } : by);
}

/** Messages at moments of their own, each heard by one instance, the other, or both. */
const divided: fc.Arbitrary<Life> = fc
  .uniqueArray(fc.tuple(dated, fc.constantFrom<readonly (0 | 1)[]>([0], [1], [0, 1])), {
    selector: ([{ at }]) => at,
    maxLength: 10,
    size: 'max',
  })
  .map((parts) => {
    const all = parts.map(([given], n) => ({ change: asChange(given), at: T0 + 10_000 + 7 * n }));
    const of = (instance: 0 | 1) => all.filter((_, n) => parts[n]?.[1].includes(instance));
    return { all, one: of(0), other: of(1) };
  });

/** What backend and worker report of a task that is retried some times. */
const attempts = fc
  .record({
    retries: fc.nat({ max: 3 }),
    hasEvents: fc.boolean(),
    hasStarted: fc.boolean(),
    isNumbered: fc.boolean(),
    end: fc.constantFrom<TaskChange['type'] | null>('succeeded', 'failed', null),
    custom: fc.boolean(),
  })
  .map(({ retries, hasEvents, hasStarted, isNumbered, end, custom }) => {
    const life: TaskChange[] = [];
    const at = () => T0 + 1_000 * life.length;
    const result = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>, attempt: number) =>
      life.push(told({ time: null, origin: 'result', ...(isNumbered && { retries: attempt }), ...change }));
    const event = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>) =>
      hasEvents && life.push(told({ worker: 'w1@a', time: at(), ...change }));
    event({ type: 'sent', retries: 0, name: 'n', args: 'x', worker: null });
    for (let attempt = 0; attempt <= retries; attempt++) {
      event({ type: 'received', retries: attempt, name: 'n', args: 'x' });
      event({ type: 'started' });
      if (hasStarted) result({ type: 'started', worker: 'w1@a' }, attempt);
      if (custom) result({ type: 'custom', state: 'DOING' }, attempt);
      if (attempt === retries) break;
      // One RETRY after another is taken for the same, and its exception is not looked at.
      const text = isNumbered ? attempt : '';
      result({ type: 'retried', exception: `E${text}`, traceback: `T${text}` }, attempt);
      event({ type: 'retried', exception: `E${text}`, traceback: `T${text}` });
    }
    if (end !== null) {
      const outcome = end === 'failed' ? { exception: 'E' } : { result: 'R' };
      result({ type: end, time: at(), ...outcome }, retries);
      event({ type: end, runtime: 2, ...outcome });
    }
    return life;
  });

/** What was heard of attempts by an instance that stopped, and by one that started, earlier or later. */
const interrupted: fc.Arbitrary<Life> = fc
  .tuple(attempts, fc.nat(), fc.nat(), fc.boolean())
  .map(([life, end, start, isRead]) => {
    const heard = life.map((change, n) => ({ change, at: T0 + 10 + 1_000 * n }));
    const one = heard.slice(0, end % (heard.length + 1));
    const other = heard.slice(Math.max(one.length, start % (heard.length + 1)));
    const [first] = other;
    // At its start, an instance reads the state from where it is stored.
    if (isRead && first?.change.origin === 'result') {
      other[0] = { change: { ...first.change, stored: true }, at: first.at };
    }
    return { all: [...one, ...other].sort((a, b) => a.at - b.at), one, other };
  });

const UNDATED = { time: null, origin: 'result' } as const;
const clock = { now: T0 };
const NOW = { now: () => clock.now };
const END = T0 + 60_000;

function tell(writer: HistoryWriter, id: string, arrivals: readonly Arrival[]): void {
  for (const { change, at } of arrivals) {
    clock.now = at;
    writer.recordTask({ ...change, id });
  }
}

async function knownBy(reader: HistoryReader, count: number): Promise<unknown[]> {
  clock.now = END;
  const tasks: (TaskDetail | null)[] = [];
  for (let n = 0; n < count; n++) tasks.push(await reader.getTask(`t${n}`, CONTEXT));
  // Whether its worker is still there is not part of what is known of a task.
  return tasks.map(
    (task) =>
      task && {
        ...task,
        truncated: [...(task.truncated ?? [])].sort(),
        flags: task.flags?.filter((flag) => flag !== 'worker_lost'),
      },
  );
}

/** What one instance knows that has heard of each task in this order. */
async function knownInOrder(lives: readonly (readonly Arrival[])[]): Promise<unknown[]> {
  clock.now = T0;
  const history = historyOf([], NOW);
  for (const [n, arrivals] of lives.entries()) tell(history.writer, `t${n}`, arrivals);
  const known = await knownBy(history.reader, lives.length);
  history.close();
  return known;
}

/** What a third instance reads when one has written what it has heard, and another one has then done so, too. */
async function knownToBoth(first: readonly (readonly Arrival[])[], second: readonly (readonly Arrival[])[]) {
  clock.now = T0;
  const store = createArrayStore();
  const open = (hearing: 'part' | 'all'): StoredHistory => instanceOf({ store, hearing }, NOW, AT_ONCE);
  for (const lives of [first, second]) {
    const instance = open('part');
    for (const [n, arrivals] of lives.entries()) tell(instance.writer, `t${n}`, arrivals);
    await untilWritten(instance);
  }
  const reader = open('all');
  await untilReady(reader);
  return await knownBy(reader.reader, first.length);
}

async function expectMerged(lives: readonly Life[]): Promise<void> {
  const whole = await knownInOrder(lives.map(({ all }) => all));
  const [ones, others] = [lives.map(({ one }) => one), lives.map(({ other }) => other)];
  expect(await knownToBoth(ones, others)).toEqual(whole);
}

describe('two instances that share a store', { timeout: 240_000 }, () => {
  it('know what one would know that had heard all of it', async () => {
    const lives = fc.sample(divided, { seed: 5, numRuns: 60 });
    const orders = [
      await knownInOrder(lives.map(({ all }) => all)),
      await knownInOrder(lives.map(({ all }) => all.toReversed())),
      await knownInOrder(lives.map(({ one, other }) => [...one, ...other])),
      await knownInOrder(lives.map(({ one, other }) => [...other, ...one])),
    ];
    const texts = orders.map((known) => known.map((task) => JSON.stringify(task)));
    // Where the order of arrival makes a difference to one instance, nobody can say what is right.
    const judged = lives.filter((_, n) => new Set(texts.map((known) => known[n])).size === 1);
    expect(judged.length).toBeGreaterThan(lives.length / 2);
    await expectMerged(judged);
  });

  const doing = (detail: string | null = null) =>
    told({ type: 'custom', state: 'DOING', ...UNDATED, detail });
  const retried = (exception: string) => told({ type: 'retried', ...UNDATED, exception });
  const failed = (exception: string | null = null) => told({ type: 'failed', worker: 'w1@a', exception });
  it.each<[string, TaskChange, TaskChange, number, string]>([
    ['the text that the last report of a state has', doing('a'), doing('b'), 10, 'b'],
    ['the text that only its first report has', doing('a'), doing(), 10, 'a'],
    ['the text that only its last report has', doing(), doing('a'), 10, 'a'],
    ['the last of two texts that arrive at once', doing('b'), doing('a'), 0, 'a'],
    ['the error of a retry that is reported again', retried('a'), retried('b'), 10, 'a'],
    ['the error that one of two reports has', failed('a'), failed(), 10, 'a'],
  ])('show %s', async (_, first, last, delay, detail) => {
    const [one = [], other = []] = [first, last].map((change, n) => [[{ change, at: T0 + delay * n }]]);
    expect(await knownToBoth(one, other)).toMatchObject([{ timeline: [{ detail }] }]);
  });

  it('count the attempts that the backend does not number as one instance would', async () => {
    await expectMerged(fc.sample(interrupted, { seed: 8, numRuns: 80 }));
  });
});
