import { describe, expect, it } from 'vitest';
import {
  readBoolean,
  readFunction,
  readGroup,
  readInteger,
  readSourceName,
  refuseUnknownKeys,
} from '../../src/check-options.ts';

const KNOWN = { broker: true, name: true };

describe('a check of options', () => {
  it.each<[check: () => unknown, message: string]>([
    [
      () => refuseUnknownKeys('celerySources', { brokr: 1 }, KNOWN),
      "celerySources: 'brokr' is not an option. Did you mean 'broker'?",
    ],
    [
      () => refuseUnknownKeys('celerySources', { brokerUrl: 1 }, KNOWN, '', { brokerUrl: 'broker' }),
      "celerySources: 'brokerUrl' is not an option. Write broker instead.",
    ],
    [
      () => refuseUnknownKeys('f', { colour: 1 }, KNOWN, 'group.'),
      "f: 'group.colour' is not an option. The options are: broker, name.",
    ],
    [
      () => readGroup('f', 'limits', 'hunter2', {}, '{ a: 1 }'),
      "f: 'limits' must be an object such as { a: 1 }; it is a string.",
    ],
    [
      () => readInteger('f', 'n', 11, { least: 1, most: 10, fallback: 5 }),
      "f: 'n' must be a whole number from 1 to 10, such as 5; it is 11.",
    ],
    [() => readBoolean('f', 'on', 'yes', true), "f: 'on' must be true or false; it is a string."],
    [
      () => readFunction('f', 'on', {}, '() => 1'),
      "f: 'on' must be a function such as () => 1; it is an object.",
    ],
    [
      () => readSourceName('f', 'name', 'my shop', 'shop'),
      "f: 'name' must be 1 to 64 of A-Z a-z 0-9 _ -, such as 'shop'; it is a string.",
    ],
  ])('says what to write: %s', (check, message) => {
    expect(check).toThrow(new TypeError(message));
  });

  it('takes what is right, and the default of what is absent', () => {
    expect(() => refuseUnknownKeys('f', { name: 1 }, KNOWN)).not.toThrow();
    expect(readGroup('f', 'limits', undefined, {}, '')).toEqual({});
    expect(readInteger('f', 'n', undefined, { least: 1, most: 10, fallback: 5 })).toBe(5);
    expect(readInteger('f', 'n', 10, { least: 1, most: 10, fallback: 5 })).toBe(10);
    expect([readBoolean('f', 'on', undefined, true), readBoolean('f', 'on', false, true)]).toEqual([
      true,
      false,
    ]);
    expect(readFunction('f', 'on', undefined, '')).toBeNull();
    expect(readSourceName('f', 'name', undefined, 'shop')).toBe('shop');
  });

  it('does not look for the nearest word of a very long key', () => {
    expect(() => refuseUnknownKeys('f', { ['x'.repeat(1_000_000)]: 1 }, KNOWN)).toThrow(/^.{1,200}$/);
  });
});
