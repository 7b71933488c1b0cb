import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lifeOf } from '../../src/history/merge/life.ts';
import { merge } from '../../src/history/merge/merge.ts';
import { type EntryKind, emptyRecord, KIND_ORDER, type TaskRecord } from '../../src/history/merge/record.ts';
import { causeOfRecord } from '../../src/history/merge/record-cause.ts';
import { readKeptTask, readRecordText, writeRecordText } from '../../src/history/stored/record-text.ts';
import { T0, told } from './telling.ts';

/** Any text that a message may have brought, lone surrogates and NUL included. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 5 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom('\0', '\ud800', '\udc00x', '__proto__', "'; DROP TABLE task; --", '"}', '😀'.repeat(1_500)),
  fc.string({ unit: 'binary', minLength: 2_040, maxLength: 2_060 }),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const time = fc.double({ min: -1e14, max: 1e14, noNaN: true }).map((value) => value + 0);

const stampValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.bigInt(),
    fc.double(),
    text,
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom('~', '__proto__', 'a'), text), tie('value'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).value;

const entry = fc.record({
  kind: fc.constantFrom(...(Object.keys(KIND_ORDER) as EntryKind[])),
  state: maybe(text),
  origin: fc.constantFrom('event' as const, 'result' as const),
  time,
  timeSource: fc.constantFrom('sender' as const, 'arrival' as const, 'reading' as const),
  isStored: fc.boolean(),
  retries: maybe(fc.nat()),
  isCounted: fc.boolean(),
  worker: maybe(text),
  detail: maybe(text),
});

const rank = fc.nat({ max: 7 });
const record: fc.Arbitrary<TaskRecord> = fc.record({
  id: text,
  entries: fc.array(entry, { maxLength: 5 }),
  ranks: fc.record({
    ...{ name: rank, args: rank, queue: rank, eta: rank, lineage: rank },
    ...{ group: rank, chord: rank, result: rank, exception: rank },
  }),
  ...{ name: maybe(text), queue: maybe(text), args: maybe(text), kwargs: maybe(text) },
  ...{ eta: maybe(time), expires: maybe(time), parentId: maybe(text), hasNoParent: fc.boolean() },
  ...{ rootId: maybe(text), groupId: maybe(text), chordId: maybe(text) },
  kind: maybe(fc.constantFrom('map' as const, 'starmap' as const, 'chunks' as const)),
  stamps: maybe(
    fc.record(
      { value: stampValue, size: fc.nat(), isRedacted: fc.constant(true) },
      { requiredKeys: ['value', 'size'] },
    ),
  ),
  progress: maybe(
    fc.record(
      {
        value: fc.record({
          current: maybe(time),
          total: maybe(time),
          percent: maybe(time),
          text: maybe(text),
        }),
        at: time,
        attempt: maybe(fc.nat()),
        isRedacted: fc.constant(true),
      },
      { requiredKeys: ['value', 'at', 'attempt'] },
    ),
  ),
  ...{ result: maybe(text), exception: maybe(text), traceback: maybe(text), runtime: maybe(time) },
  traceId: maybe(fc.constantFrom('a'.repeat(32), '0'.repeat(31).concat('1'))),
  truncated: fc.subarray(['args', 'kwargs', 'result', 'exception', 'traceback'] as const),
  isMissing: fc.boolean(),
});

describe('a record as text', () => {
  it('survives exactly, whatever it holds', () => {
    fc.assert(
      fc.property(
        record.map((value) => structuredClone(value)),
        (given) => {
          const { record: written, texts } = writeRecordText(given, null);
          expect(readRecordText(given.id, written, texts)).toStrictEqual(given);
          // What a database keeps has no half characters and no NUL.
          expect(written).not.toMatch(/\0/);
          expect(Buffer.from(written).toString()).toBe(written);
        },
      ),
      { seed: 4, numRuns: 400 },
    );
  }, 30_000);

  it('says which texts were not read', () => {
    const long = { ...emptyRecord('a'), args: `${'x'.repeat(2_047)}😀 and more`, result: 'short' };
    const { record: written, texts } = writeRecordText(long, null);
    const kept = readKeptTask({ id: 'a', record: written, texts: null, rootId: 'r' });
    expect(kept).toMatchObject({
      rootId: 'r',
      shortened: ['args'],
      record: { args: 'x'.repeat(2_047), result: 'short', truncated: ['args'] },
    });
    expect(readKeptTask({ id: 'a', record: written, texts, rootId: null })).toEqual({
      ...{ record: long, rootId: null, shortened: [] },
    });
  });

  it('keeps the cause that only the end of a long traceback tells', () => {
    const traceback = `${'  File "/app/deep.py", line 1, in again\n'.repeat(80)}  File "/app/shop.py", line 7, in pay\nKeyError: 1`;
    const failed = told({ type: 'failed', exception: "KeyError('a')", traceback });
    const record = merge(emptyRecord('a'), failed, T0);
    const cause = causeOfRecord(record, lifeOf(record.entries, record.runtime), []);
    const { record: written } = writeRecordText(record, cause);
    const kept = readKeptTask({ id: 'a', record: written, texts: null, rootId: null });
    expect(kept).toMatchObject({ shortened: ['traceback'], cause: { frame: 'shop.py in pay' } });
  });

  it('of another version, or broken, is not read', () => {
    const { record: written } = writeRecordText({ ...emptyRecord('a'), name: 'n' }, null);
    expect(readRecordText('a', written.replace('"v":1', '"v":2'), null)).toBeNull();
    for (const broken of ['', 'null', '[]', '{}', '{"v":1}', written.slice(1)]) {
      expect(readRecordText('a', broken, null)).toBeNull();
    }
  });

  it('takes nothing of a wrong type', () => {
    const hostile =
      '{"v":1,"entries":[[0,1,0],[99,1,0],7,[1,"x",0],[1,5,255]],"ranks":[9,"x"],"name":1,"eta":"x","kind":"k",' +
      '"truncated":["name",1],"stamps":{"a":1},"isMissing":1,"__proto__":{"queue":"q"},"id":"b"}';
    const read = readRecordText('a', hostile, '{"args":1}');
    expect(read).toMatchObject({ id: 'a', name: null, eta: null, kind: null, queue: null, isMissing: false });
    expect(read?.entries).toHaveLength(1);
    expect(read?.stamps).toBeNull();
    expect(read?.truncated).toEqual([]);
  });
});
