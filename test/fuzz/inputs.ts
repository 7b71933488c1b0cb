/** Hostile inputs: bytes, texts, numbers, JSON values of any type. */
import fc from 'fast-check';
import { anyText } from '../helpers/any-text.ts';

/** Bits of text that readers of JSON, of Python's reprs, of URLs and of times look for. */
const TOKENS = [
  ...[
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    "'",
    '(',
    ')',
    '\n',
    '\r',
    '\t',
    ' ',
    '\u0000',
    '\u007f',
    '\u2028',
  ],
  ...['null', 'true', 'NaN', 'Infinity', '-Infinity', '-', '1e999', '-0', '0x10', '1.0', '9'.repeat(40)],
  ...['"__proto__":', '"constructor":', '{"__type__":', '"__value__":', '"hex":', '\\ud800', '\\u0000', '\\'],
  ...[
    '\ud83d',
    '\udca3',
    '💣',
    'é',
    '…',
    '...',
    '\u202e',
    '\ufffd',
    '*',
    '#',
    '%',
    '%2F',
    '%00',
    '/',
    '=',
    ';',
  ],
  ...['T', 'Z', '+00:00', '2026-02-30', '+275760-09-13', 'None', "b'", '<', '>', '&', '@', '://', 'redis://'],
  ...[
    '\u0006\u0016',
    'password',
    'Bearer ',
    'eyJ',
    '…',
    ']]}}',
    '{"exc_type":',
    '-----BEGIN PRIVATE KEY-----',
  ],
];

export const token: fc.Arbitrary<string> = fc.constantFrom(...TOKENS);

/** Numbers at which times, counts and indexes end. */
const NUMBERS = [
  ...[
    0,
    -0,
    1,
    -1,
    0.5,
    1e-7,
    59,
    60,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    2 ** 53 + 2,
    -(2 ** 53),
    1e21,
    1e300,
    -1e300,
  ],
  // In seconds and in milliseconds: now, the last moment of a Date and what is behind it, the year 10000.
  ...[
    1_790_000_000,
    1_790_000_000_000,
    8.64e12,
    8.64e12 + 1,
    8.64e15,
    8.64e15 + 1,
    253_402_300_800,
    -62_167_219_201,
  ],
  ...[Number.MAX_VALUE, Number.MIN_VALUE, -8.64e15 - 1],
];

/** No row is made of an id or a name that is longer than anybody writes: those come with `longText`. */
const LONGEST_TEXT = 4_000;

/** Text of any characters, also of half ones; now and then long. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: anyText({ maxLength: 20 }) },
  { weight: 4, arbitrary: fc.array(token, { maxLength: 8 }).map((parts) => parts.join('')) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(token, fc.integer({ min: 1, max: 3_000 }))
      .map(([bit, n]) => bit.repeat(n).slice(0, LONGEST_TEXT)),
  },
);

/** A text that is long because one bit of it comes again and again: what is quadratic shows here. */
export function longText(most = 65_536): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(token, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: most }), text)
    .map(([bits, length, end]) => {
      const bit = bits.join('');
      return bit.repeat(Math.ceil(length / bit.length)).slice(0, length) + end;
    });
}

export const number: fc.Arbitrary<number> = fc.oneof(fc.constantFrom(...NUMBERS), fc.double({ noNaN: true }));

/** A time as somebody may write it. */
const timeText = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, -1)),
  fc.constantFrom(
    '2026-11-21T02:00:00.123456',
    '2026-11-21T02:00:00+05:30',
    '2026-11-21',
    'T',
    '+275760-09-13T00:00:00',
  ),
);

/** Any value that JSON has; deep and wide ones now and then. */
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(null, true, false, '', [], {}, [[]], [null], [{}]) },
  { weight: 4, arbitrary: number },
  { weight: 5, arbitrary: text },
  { weight: 1, arbitrary: timeText },
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 600 }).map((depth) => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
      return value;
    }),
  },
);

/** Text of no form at all. */
export const bytes: fc.Arbitrary<string> = fc
  .uint8Array({ maxLength: 200 })
  .map((array) => Buffer.from(array).toString('latin1'));

/** JSON as Python writes it: with spaces, and now and then a number that JSON does not know. */
export const pythonJson = (value: unknown): string => {
  const json = JSON.stringify(value) ?? 'null';
  return json.replaceAll('1e+300', 'Infinity').replaceAll('1e+21', 'NaN');
};

export const base64 = (value: string): string => Buffer.from(value).toString('base64');
