/**
 * Each field of a message, on each of its ways: packed in memory, written and read after a restart, merged with what
 * another instance has heard. A field that is added to `TaskChange` does not compile until it is in a table here.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { History, HistoryWriter, TaskChange, TaskFacts } from '../../src/history/history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import { progressOf, type TaskDetail } from '../../src/model.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { CONTEXT, historyOf, T0, told } from '../history/telling.ts';
import { AT_ONCE, instanceOf, untilReady, untilWritten } from './instances.ts';

/** What a message says, and what a reader shows of it. */
interface Sample<Value> {
  readonly value: Value;
  readonly shown: Partial<TaskDetail>;
  /** What a message must say beside it, so that it counts. */
  readonly beside?: Partial<TaskFacts>;
}

/** Messages about a task, and what a reader shows after them and not without the field. */
interface Life {
  readonly told: readonly TaskChange[];
  readonly shown: Partial<TaskDetail>;
}

/** What the header of a message says, too, so that it may come without any change of the task. */
const HEADER: {
  readonly [Field in Exclude<keyof TaskFacts, 'id' | 'retries' | 'truncated'>]: Sample<TaskFacts[Field]>;
} = {
  name: { value: 'lab.add', shown: { name: 'lab.add' } },
  queue: { value: 'mail', shown: { queue: 'mail' } },
  args: { value: '(1,)', shown: { args: '(1,)' } },
  kwargs: { value: '{}', shown: { kwargs: '{}' }, beside: { args: '()' } },
  eta: { value: T0 + 90_000, shown: { eta: new Date(T0 + 90_000) } },
  expires: { value: T0 + 99_000, shown: { expires: new Date(T0 + 99_000) }, beside: { eta: null } },
  parentId: { value: 'parent', shown: { parentId: 'parent' } },
  rootId: { value: 'root', shown: { rootId: 'root' } },
  groupId: { value: 'group', shown: { groupId: 'group' } },
  chordId: { value: 'body', shown: { chordId: 'body' } },
  kind: { value: 'starmap', shown: { kind: 'starmap' } },
  stamps: { value: { tenant: ['acme', 2n ** 60n] }, shown: { stamps: { tenant: ['acme', 2n ** 60n] } } },
  timeLimits: { value: { soft: null, hard: 30 }, shown: { timeLimits: { soft: null, hard: 30 } } },
  traceId: { value: 'a'.repeat(32), shown: { traceId: 'a'.repeat(32) } },
};

/** Is not kept with the task: it decides about the feed, or who is alive. */
type Passing = 'id' | 'eventType' | 'isLogged' | 'sender';

const at = (seconds: number) => T0 + seconds * 1_000;
const started = told({ type: 'started', time: at(2), worker: 'w@h' });
const failed = told({ type: 'failed', time: at(4), worker: 'w@h' });
const read = (change: Partial<TaskChange> & Pick<TaskChange, 'type'>) =>
  told({ time: null, origin: 'result', stored: true, ...change });
const progress = progressOf({ current: 3, total: 4, text: 'rows' });

const LIVES: { readonly [Field in Exclude<keyof TaskChange, keyof typeof HEADER | Passing>]: Life } = {
  type: { told: [told({ type: 'rejected', time: at(1) })], shown: { state: 'REJECTED' } },
  state: { told: [told({ type: 'custom', state: 'HALFWAY', time: at(1) })], shown: { state: 'HALFWAY' } },
  time: { told: [told({ type: 'sent', time: at(1) })], shown: { sent: new Date(at(1)) } },
  // By the clock of the backend no run time is derived.
  origin: { told: [{ ...started, origin: 'result', time: null }, failed], shown: { runtime: null } },
  stored: { told: [read({ type: 'started' })], shown: { state: 'STARTED', started: null } },
  heardAt: { told: [read({ type: 'started', heardAt: at(1) })], shown: { started: new Date(at(1)) } },
  worker: { told: [started], shown: { worker: 'w@h' } },
  retries: { told: [told({ type: 'received', retries: 2 })], shown: { retries: 2 } },
  tentative: {
    told: [started, told({ type: 'revoked', time: at(3), origin: 'result', tentative: true })],
    shown: { state: 'STARTED' },
  },
  isConsequence: {
    told: [{ ...failed, origin: 'result', isConsequence: true }],
    shown: { flags: ['consequence'] },
  },
  result: { told: [told({ type: 'succeeded', time: at(4), result: '3' })], shown: { result: '3' } },
  exception: { told: [{ ...failed, exception: 'KeyError(1)' }], shown: { exception: 'KeyError(1)' } },
  traceback: { told: [{ ...failed, traceback: 'line 7' }], shown: { traceback: 'line 7' } },
  runtime: { told: [{ ...failed, runtime: 1.5 }], shown: { runtime: 1.5, runtimeSource: 'engine' } },
  truncated: {
    told: [told({ type: 'succeeded', time: at(4), result: '3...', truncated: ['result'] })],
    shown: { truncated: ['result'] },
  },
  progress: { told: [told({ type: 'custom', state: 'P', time: at(1), progress })], shown: { progress } },
  detail: {
    told: [told({ type: 'revoked', time: at(4), detail: 'terminated' })],
    shown: { timeline: [expect.objectContaining({ detail: 'terminated' })] as never },
  },
};

const bare = (id: string): TaskChange => told({ id, type: 'received', worker: 'w@h', time: T0 });
const factsOf = (id: string, field: string, { value, beside }: Sample<unknown>): TaskFacts => ({
  id,
  ...beside,
  [field]: value,
});
const headers = Object.entries(HEADER) as [string, Sample<unknown>][];
/** Of each field, the messages that set it and no other. */
const lives: [string, Life][] = [
  ...headers.map(([field, { value, shown, beside }]): [string, Life] => [
    field,
    { told: [told({ type: 'sent', time: T0, retries: 0, ...beside, [field]: value })], shown },
  ]),
  ...Object.entries(LIVES),
];

const tell = (writer: HistoryWriter, id: string, { told: messages }: Life): void => {
  for (const message of messages) writer.recordTask({ ...message, id });
};
const tellAll = (writer: HistoryWriter, prefix = ''): void => {
  for (const [field, life] of lives) tell(writer, prefix + field, life);
};
/** What is shown of each field, beside what is to be shown. */
async function shownBy(
  { reader }: Pick<History, 'reader'>,
  prefix = '',
  fields: readonly [string, Pick<Life, 'shown'>][] = lives,
) {
  const shown: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  for (const [field, { shown: wanted }] of fields) {
    const task = await reader.getTask(prefix + field, CONTEXT);
    shown[field] = Object.fromEntries(
      Object.keys(wanted).map((key) => [key, task?.[key as keyof TaskDetail]]),
    );
    expected[field] = wanted;
  }
  return { shown, expected };
}

describe('every field of a message', () => {
  it('is shown at once', async () => {
    const history = historyOf([]);
    tellAll(history.writer);
    const { shown, expected } = await shownBy(history);
    expect(shown).toEqual(expected);
  });

  it('is shown when many other tasks have changed since, and after a further message', async () => {
    const history = historyOf([]);
    tellAll(history.writer);
    for (let n = 0; n < 3_000; n++) history.writer.recordTask(told({ id: `other-${n}`, type: 'sent' }));
    const { shown, expected } = await shownBy(history);
    expect(shown).toEqual(expected);
    for (const [field] of lives) history.writer.recordFacts({ id: field, traceId: 'b'.repeat(32) });
    const again = await shownBy(
      history,
      '',
      lives.filter(([field]) => field !== 'traceId'),
    );
    expect({ ...again.expected, ...again.shown }).toEqual(again.expected);
  });

  it.each(headers)(
    'that is %s changes the task, also where a header alone tells it',
    async (field, sample) => {
      const history = historyOf([bare('a')]);
      await history.reader.getTask('a', CONTEXT);
      const { revision } = history.reader.freshness('tasks');
      history.writer.recordFacts(factsOf('a', field, sample));
      expect(history.reader.freshness('tasks').revision).toBeGreaterThan(revision);
      expect(await history.reader.getTask('a', CONTEXT)).toMatchObject(sample.shown);
    },
  );
});

const NOW = { now: () => T0 + 60_000 };

describe('every field of a task that is stored', () => {
  let store: ReturnType<typeof createArrayStore>;
  const open = (given: Parameters<typeof instanceOf>[0] = {}) =>
    instanceOf({ store, ...given }, NOW, AT_ONCE);

  beforeEach(async () => {
    store = createArrayStore();
    const before = open();
    tellAll(before.writer);
    await untilWritten(before);
    await before.close();
  });

  it('is shown by an instance that has loaded it', async () => {
    const after = open();
    await untilReady(after);
    expect(after.index.stateOf('type')).toBe('REJECTED');
    const { shown, expected } = await shownBy(after);
    expect(shown).toEqual(expected);
  });

  it('is shown by an instance that reads it from the store', async () => {
    const reader = open({ hearing: 'nothing' });
    await untilReady(reader);
    const { shown, expected } = await shownBy(reader);
    expect(shown).toEqual(expected);
  });
});

describe('every field that one of two instances has heard', () => {
  /** What both know of a task whose fields one of them has heard, and whose receipt the other one. */
  async function mergedOf(
    first: (writer: HistoryWriter) => void,
    second: (writer: HistoryWriter) => void,
  ): Promise<StoredHistory> {
    const store = createArrayStore();
    const open = (given: Parameters<typeof instanceOf>[0] = {}) =>
      instanceOf({ store, hearing: 'part', ...given }, NOW, AT_ONCE);
    const [one, other] = [open(), open()];
    first(one.writer);
    await untilWritten(one);
    second(other.writer);
    await untilWritten(other);
    const reader = open({ hearing: 'nothing' });
    await untilReady(reader);
    return reader;
  }
  /** What both would know if they were one. */
  const whole = historyOf([]);
  tellAll(whole.writer);
  for (const [field] of lives) whole.writer.recordTask(bare(field));
  const tellBare = (writer: HistoryWriter) => {
    for (const [field] of lives) writer.recordTask(bare(field));
  };

  it.each<[string, (writer: HistoryWriter) => void, (writer: HistoryWriter) => void]>([
    ['writes it first', tellAll, tellBare],
    ['adds it', tellBare, tellAll],
  ])('is known to both when that one %s', async (_, first, second) => {
    const merged = await mergedOf(first, second);
    const { shown } = await shownBy(merged);
    expect(shown).toEqual((await shownBy(whole)).shown);
  });

  it('is known to both where a header alone has told it', async () => {
    const merged = await mergedOf(
      (writer) => {
        for (const [field] of headers) writer.recordTask(bare(field));
      },
      (writer) => {
        for (const [field, sample] of headers) {
          writer.recordTask(bare(field));
          writer.recordFacts(factsOf(field, field, sample));
        }
      },
    );
    const { shown, expected } = await shownBy(merged, '', headers);
    expect(shown).toEqual(expected);
  });

  it.each([false, true])(
    'is written although it came while what is stored was loaded (the store knows more: %s)',
    async (isStored) => {
      const store = createArrayStore();
      const open = () => instanceOf({ store }, NOW, AT_ONCE);
      const tellFacts = (writer: HistoryWriter) => {
        for (const [field, sample] of headers) writer.recordFacts(factsOf(field, field, sample));
      };
      const before = open();
      for (const [field] of headers) before.writer.recordTask(bare(field));
      if (isStored) tellFacts(before.writer);
      await untilWritten(before);
      await before.close();
      const after = open();
      for (const [field] of headers) after.writer.recordTask(bare(field));
      if (!isStored) tellFacts(after.writer);
      await untilWritten(after);
      const own = await shownBy(after, '', headers);
      expect(own.shown).toEqual(own.expected);
      await after.close();
      const last = open();
      await untilReady(last);
      const { shown, expected } = await shownBy(last, '', headers);
      expect(shown).toEqual(expected);
    },
  );
});
