import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isoTime } from '../../src/serialize.ts';

const FIRST = new Date('0000-01-01T00:00:00.000Z');
const LAST = new Date('9999-12-31T23:59:59.999Z');

it('writes every date of four-digit years as toISOString does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.date({ noInvalidDate: true, min: FIRST, max: LAST }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: -120_000, max: 120_000 }),
      (dates, shift) => {
        // Neighbours of a moment share its minute or not.
        for (const date of dates) {
          const neighbour = new Date(date.getTime() + shift);
          expect(isoTime(date)).toBe(date.toISOString());
          if (neighbour >= FIRST && neighbour <= LAST)
            expect(isoTime(neighbour)).toBe(neighbour.toISOString());
        }
      },
    ),
    { seed: 7 },
  );
});

it.each([
  ['the first moment of year 0', FIRST],
  ['the last moment of year 9999', LAST],
  ['the millisecond before 1970', new Date(-1)],
  ['a leap day', new Date('2024-02-29T23:59:59.999Z')],
])('writes %s', (_what, date) => {
  expect(isoTime(date)).toBe(date.toISOString());
});

it.each([
  ['an invalid date', new Date(Number.NaN)],
  ['a year of five digits', new Date(LAST.getTime() + 1)],
  ['a year before 0', new Date(FIRST.getTime() - 1)],
  ['milliseconds', 1_700_000_000_000],
  ['a text', '2026-11-21T02:00:00.000Z'],
  ['null', null],
  ['undefined', undefined],
  ['what only looks like a date', { getTime: (): number => 0 }],
])('gives null for %s', (_what, value) => {
  expect(isoTime(value)).toBeNull();
});
