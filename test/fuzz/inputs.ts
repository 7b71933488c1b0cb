/** Hostile inputs: bytes, mutated texts, and JSON values of any type in any place. */
import fc from 'fast-check';

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

/** Text of any characters, also of half ones; now and then long. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 4, arbitrary: fc.array(token, { maxLength: 8 }).map((parts) => parts.join('')) },
  { weight: 2, arbitrary: fc.string({ maxLength: 20 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(token, fc.integer({ min: 1, max: 3_000 })).map(([bit, n]) => bit.repeat(n)),
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

/** Names of members that mean something to an object of JavaScript. */
const anyName = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', 'length', ''), text);

/** Where a mutation happens, from 0 to 1, and what it does. */
type Mutation = readonly [
  place: number,
  what: 'flip' | 'cut' | 'end' | 'double' | 'add',
  bit: string,
  size: number,
];

const mutation: fc.Arbitrary<Mutation> = fc.tuple(
  fc.integer({ min: 0, max: 9_999 }).map((n) => n / 10_000),
  fc.constantFrom('flip' as const, 'cut' as const, 'end' as const, 'double' as const, 'add' as const),
  token,
  fc.integer({ min: 1, max: 40 }),
);

function mutate(given: string, [share, what, bit, size]: Mutation): string {
  const at = Math.floor(share * given.length);
  switch (what) {
    case 'flip':
      return (
        given.slice(0, at) +
        String.fromCharCode(given.charCodeAt(at) ^ (1 << (size % 8))) +
        given.slice(at + 1)
      );
    case 'cut':
      return given.slice(0, at) + given.slice(at + size);
    case 'end':
      return given.slice(0, at);
    case 'double':
      return given.slice(0, at + size) + given.slice(at);
    default:
      return given.slice(0, at) + bit + given.slice(at);
  }
}

/** A known text with a few of its bytes changed. */
export function mutated(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([seed, mutations]) => mutations.reduce(mutate, seed));
}

/** Text of no form at all. */
export const bytes: fc.Arbitrary<string> = fc
  .uint8Array({ maxLength: 200 })
  .map((array) => Buffer.from(array).toString('latin1'));

type Change = readonly [place: number, how: 'set' | 'drop' | 'add', value: unknown, name: string];

const change: fc.Arbitrary<Change> = fc.tuple(
  fc.nat(10_000),
  fc.constantFrom('set' as const, 'set' as const, 'set' as const, 'drop' as const, 'add' as const),
  anyValue,
  anyName,
);

/** A known JSON value with values of any type in a few of its places. */
export function misfit<T = unknown>(seeds: readonly unknown[]): fc.Arbitrary<T> {
  return fc
    .tuple(fc.constantFrom(...seeds), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([seed, changes]) => {
      const copy = { root: structuredClone(seed) };
      for (const each of changes) apply(copy, each);
      return copy.root as T;
    });
}

function apply(copy: { root: unknown }, [place, how, value, name]: Change): void {
  const places = placesIn(copy);
  const [holder, key] = (places[place % places.length] ?? [copy, 'root']) as [
    Record<string, unknown>,
    string,
  ];
  // A copy: the next change may be made within it.
  if (how === 'set') define(holder, key, structuredClone(value));
  else if (how === 'drop' && Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (how === 'drop') delete holder[key];
  else if (!Array.isArray(holder)) define(holder, name, structuredClone(value));
}

/** As JSON.parse does it: `__proto__` is a name like any other. */
function define(holder: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Every place in a value that holds another; of a large one the first. */
function placesIn(value: unknown): (readonly [object, string])[] {
  const places: (readonly [object, string])[] = [];
  const open: unknown[] = [value];
  while (open.length > 0 && places.length < 400) {
    const holder = open.shift();
    if (typeof holder !== 'object' || holder === null) continue;
    for (const key of Object.keys(holder)) {
      places.push([holder, key]);
      open.push((holder as Record<string, unknown>)[key]);
    }
  }
  return places;
}

/** JSON as Python writes it: with spaces, and now and then a number that JSON does not know. */
export const pythonJson = (value: unknown): string => {
  const json = JSON.stringify(value) ?? 'null';
  return json.replaceAll('1e+300', 'Infinity').replaceAll('1e+21', 'NaN');
};

export const base64 = (value: string): string => Buffer.from(value).toString('base64');
