import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { anyText } from '../helpers/any-text.ts';

const serializer = createSerializer({ redactor: createRedactor(), preview: 64 });
const task: Task = {
  id: 'ABC-1',
  state: 'SUCCESS',
  name: 'shop.Charge',
  worker: 'celery@Host',
  queue: 'orders',
  args: "('Größe', 12)",
  kwargs: "{'password': 'hunter2', 'note': 'a.*b', 'path': 'C:\\\\x'}",
  exception: "ValueError('blue')",
  result: 'visible',
  traceback: 'nowhere',
};
const finds = (q: string, given: Task = task): boolean => serializer.matcher([q.toLowerCase()])(given);

describe('a search', () => {
  it.each([
    'abc-1',
    'charge',
    'CELERY@h',
    'größe',
    '12',
    "'note': 'a.*b'",
    '***',
    "': '***'",
    'c:\\\\x',
    "error('BLUE",
    'visible',
  ])('finds %s', (q) => {
    expect(finds(q)).toBe(true);
  });

  it.each([...['hunter2', 'hunter', 'orders', 'nowhere', 'success', 'a..b', '^abc', 'zzz']])(
    'does not find %s',
    (q) => {
      expect(finds(q)).toBe(false);
    },
  );

  it('takes every character as it is', () => {
    expect(finds('a.*b')).toBe(true);
    expect(finds('(')).toBe(true);
    expect(finds('[')).toBe(false);
  });

  it('finds what is shown and nothing behind the cut', () => {
    const long = { ...task, args: `${'x'.repeat(62)}yz${'w'.repeat(50)}` };
    expect(finds('xy…', long)).toBe(true);
    expect(finds('xyz', long)).toBe(false);
    expect(finds('ww', long)).toBe(false);
  });

  it('looks at what the redaction of the host makes of a text', () => {
    const redactor = createRedactor({ redact: (text) => text.replaceAll('12', 'twelve') });
    const { matcher } = createSerializer({ redactor });
    expect(matcher(['twelve'])(task)).toBe(true);
    expect(matcher(['12'])(task)).toBe(false);
  });

  it('looks at values that are no text as they are shown', () => {
    const given = { ...task, args: [{ token: 'hunter2', size: 7 }], kwargs: new Map([['a', 1]]) };
    expect(finds('"size":7', given)).toBe(true);
    expect(finds('[["a",1]]', given)).toBe(true);
    expect(finds('hunter2', given)).toBe(false);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a text', 'abc'],
    ['an empty object', {}],
    [
      'a throwing getter',
      Object.defineProperty({}, 'args', {
        get: () => {
          throw new Error('no');
        },
      }),
    ],
  ])('finds nothing in %s', (_what, given) => {
    expect(finds('a', given as Task)).toBe(false);
  });

  it.each([
    ['charge', { field: 'name', text: 'shop.Charge' }],
    ['abc', { field: 'task_id', text: 'ABC-1' }],
    ['celery', { field: 'worker', text: 'celery@Host' }],
    ['größe', { field: 'args', text: "('Größe', 12)" }],
    ['blue', { field: 'exception', text: "ValueError('blue')" }],
    ['visible', { field: 'result', text: 'visible' }],
    ['zzz', null],
  ])('says where it has found %s', (q, match) => {
    expect(serializer.finder(q)(task)).toEqual(match);
  });

  it('shows some text around what it has found, also where letters become longer in lower case', () => {
    const { finder } = createSerializer({ redactor: createRedactor() });
    const given = { ...task, result: `${'İ'.repeat(60)}needle${'y'.repeat(130)}` };
    expect(finder('needle')(given)).toEqual({
      field: 'result',
      text: `…${'İ'.repeat(24)}needle${'y'.repeat(90)}…`,
    });
    const whole = { ...task, result: `${'x'.repeat(30)}${'z'.repeat(200)}` };
    expect(finder('z'.repeat(200))(whole)?.text).toBe(`…${'x'.repeat(24)}${'z'.repeat(200)}`);
  });

  it('agrees with what rows show, for any text and any search', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "'password': 'x y'",
        'token=abc&',
        '"',
        "'",
        '\\',
        ', ',
        '{',
        '}',
        'redis://u:p@h',
        '…',
        '*',
        'Σς',
        'İ',
      ),
      anyText({ maxLength: 6 }),
      fc.string({ maxLength: 6 }),
    );
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, fc.nat(80), fc.integer({ min: 1, max: 6 }), (args, kwargs, from, length) => {
        const given: Task = { id: 'i', state: 'S', args, kwargs };
        const row = serializer.taskRow(given, 's');
        const shown = `${row?.args}\n${row?.kwargs}`.toLowerCase();
        const raw = `${args}\n${kwargs}`.toLowerCase();
        for (const q of [shown.slice(from, from + length), raw.slice(from, from + length)]) {
          if (q === '') continue;
          const isShown = [row?.task_id, row?.args, row?.kwargs].some((field) =>
            field?.toLowerCase().includes(q),
          );
          expect(serializer.matcher([q])(given)).toBe(isShown);
        }
      }),
      { numRuns: 500, seed: 21 },
    );
  });

  it('redacts as much for a guess of a masked secret as for a text that is nowhere', () => {
    const secret = 'hunter2';
    const texts = `{'user': 'ann', 'password': '${secret}'}`;
    const work = [secret, 'absent7'].map((q) => {
      const redactor = createRedactor();
      const { matcher } = createSerializer({ redactor });
      expect(matcher([q])({ id: 'i', state: 'S', args: texts, kwargs: texts })).toBe(false);
      return { ...redactor.work };
    });
    expect(work[0]).toEqual({ texts: 2, characters: 2 * texts.length });
    expect(work[1]).toEqual(work[0]);
  });
});
