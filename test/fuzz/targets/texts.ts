/** Readers of text alone: JSON as Python writes it, reprs, cursors, times, streams of events. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { readStream } from '../../../src/client/server-sent-events.ts';
import { decodeCursor, encodeCursor } from '../../../src/cursor.ts';
import { parseGraphCursor } from '../../../src/graph-updates.ts';
import { readMoment } from '../../../src/http/moment-parameter.ts';
import { isMetricsType } from '../../../src/metrics/content-types.ts';
import { decodeTaskCursor } from '../../../src/routes/task-cursor.ts';
import { progressAt } from '../../../src/sources/bullmq/walk/walk-cursor.ts';
import { pythonText, pythonTupleText } from '../../../src/sources/celery/protocol/python-repr.ts';
import { comparableRepr } from '../../../src/sources/celery/schedules/comparable-repr.ts';
import { anyValue, bytes, longText, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { RESULTS } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const celery = (...files: string[]): string[] => files.map((file) => `sources/celery/${file}.ts`);

const TYPED = [
  { __type__: 'datetime', __value__: '2024-02-29T12:30:00+05:30' },
  { __type__: 'time', __value__: '12:30:00.5' },
  { __type__: 'uuid', __value__: { bytes: 'AA==', hex: '0123456789abcdef0123456789abcdef' } },
  { __type__: 'decimal', __value__: '1.10' },
  { __type__: 'base64', __value__: '/wB=' },
  { a: [1, 'two', null, { __type__: 'date', __value__: '2024-02-29' }] },
];

/** A value in Python's own words, as simply as it can be made. */
function reprOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(reprOf).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${reprOf(key)}: ${reprOf(member)}`)
      .join(', ')}}`;
  }
  if (typeof value === 'string') return `'${value}'`;
  return value === null
    ? 'None'
    : value === true
      ? 'True'
      : value === false
        ? 'False'
        : JSON.stringify(value);
}

const word = fc.stringMatching(/^[a-z0-9 .:,-]{0,12}$/);
const plainJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      word.filter((key) => key !== ''),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value;

export const reprTarget = defineTarget({
  name: "Python's reprs of JSON",
  share: 120,
  covers: celery('python-repr', 'python-typed', 'json-text'),
  inputs: fc.oneof(
    fc.record({ json: misfit(TYPED).map(pythonJson) }),
    fc.record({
      json: fc.oneof(
        { weight: 6, arbitrary: mutated([...RESULTS, ...TYPED.map((value) => JSON.stringify(value))]) },
        { weight: 4, arbitrary: text },
        { weight: 1, arbitrary: longText() },
      ),
    }),
    fc.record({ value: plainJson }),
  ) as fc.Arbitrary<{ readonly json: string } | { readonly value: unknown }>,
  check(input) {
    if ('value' in input) {
      const json = JSON.stringify(input.value);
      expect(pythonText(json, 0)).toBe(reprOf(input.value));
      // The beginning of a text does not depend on where it ends.
      expect(reprOf(input.value).startsWith(pythonText(json, 0, 8).slice(0, 8))).toBe(true);
      return;
    }
    for (const read of [pythonText, pythonTupleText]) {
      try {
        read(input.json, 0, 200);
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
      }
    }
  },
});

export const tokenTarget = defineTarget({
  name: 'cursors, times and types',
  share: 120,
  covers: [
    'cursor.ts',
    'routes/task-cursor.ts',
    'http/moment-parameter.ts',
    'graph/graph-cursor.ts',
    'metrics/content-types.ts',
    'sources/bullmq/walk/walk-cursor.ts',
  ],
  inputs: fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 4, arbitrary: bytes },
    {
      weight: 8,
      arbitrary: mutated([
        'text/plain; version=0.0.4; charset=utf-8',
        '2026-11-21T02:00:00.000Z',
        'g1.abc.view.42',
        '1763690400.5',
      ]),
    },
    {
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom('t', 'e', 'tasks'), fc.array(anyValue, { maxLength: 5 }))
        .map(([kind, parts]) => encodeCursor(kind, parts)),
    },
    { weight: 4, arbitrary: mutated([encodeCursor('t', ['list', 1_790_000_000_000, 'id', 'mark'])]) },
    { weight: 1, arbitrary: longText() },
  ),
  check(given) {
    const moment = readMoment(given);
    if (moment !== null) expect(Number.isNaN(moment.getTime())).toBe(false);
    decodeTaskCursor(given);
    decodeCursor('t', given);
    parseGraphCursor(given);
    progressAt({ key: null, id: 'own', mark: given });
    comparableRepr(given);
    if (isMetricsType(given)) expect(given).toMatch(/^[\t -~]+$/);
  },
});

export const streamTarget = defineTarget({
  name: 'server-sent events in the client',
  share: 50,
  covers: ['client/server-sent-events.ts'],
  inputs: fc.array(
    fc.oneof(
      text,
      mutated(['id: 1\ndata: {"events":[]}\n\n', ': comment\n\n', 'retry: 2000\r\n', 'data: a\rdata: b\r\r']),
    ),
    { maxLength: 8 },
  ),
  async check(chunks) {
    const whole = await itemsOf([Buffer.from(chunks.join(''))]);
    // However the bytes are cut, they say the same.
    const all = Buffer.from(chunks.join(''));
    const middle = Math.floor(all.length / 2);
    expect(await itemsOf([all.subarray(0, middle), all.subarray(middle)])).toEqual(whole);
  },
});

async function itemsOf(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const items: unknown[] = [];
  for await (const item of readStream(body)) items.push(item);
  return items;
}
