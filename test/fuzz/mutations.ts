/** Known inputs with something wrong in them: texts with changed bytes, values of any type in any place. */
import fc from 'fast-check';
import { anyValue, text, token } from './inputs.ts';

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
