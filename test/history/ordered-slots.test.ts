import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createOrderedSlots } from '../../src/history/index/ordered-slots.ts';
import { NO_KEY } from '../../src/history/index/slot-blocks.ts';

// Slots double as ids here: ties go by slot number.
const bySlot = (a: number, b: number) => a - b;
const collect = (
  list: ReturnType<typeof createOrderedSlots>,
  order: 'asc' | 'desc',
  after?: [number, number],
) => [...list.walk(order, after ? { key: after[0], compare: (slot) => slot - after[1] } : null)];
const sorted = (model: Map<number, number>, order: 'asc' | 'desc') =>
  [...model]
    .sort(([a, ka], [b, kb]) => {
      if (ka === kb) return a - b;
      if (ka === NO_KEY) return 1;
      if (kb === NO_KEY) return -1;
      return order === 'asc' ? ka - kb : kb - ka;
    })
    .map(([slot]) => slot);

describe('ordered slots', () => {
  it('agree with a sorted array after any insertions and removals, walked from any place', () => {
    const key = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constant(NO_KEY));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), key), { maxLength: 120, size: 'max' }),
        fc.tuple(key, fc.integer({ min: -1, max: 41 })),
        (steps, place) => {
          const list = createOrderedSlots(bySlot);
          const model = new Map<number, number>();
          for (const [slot, at] of steps) {
            const old = model.get(slot);
            if (old !== undefined) {
              expect(list.remove(old, slot)).toBe(true);
              model.delete(slot);
            } else {
              list.insert(at, slot);
              model.set(slot, at);
            }
          }
          expect(list.size).toBe(model.size);
          for (const order of ['asc', 'desc'] as const) {
            const all = sorted(model, order);
            expect(collect(list, order)).toEqual(all);
            const withPlace = sorted(new Map([...model, [place[1] + 0.5, place[0]]]), order);
            const rest = withPlace.slice(withPlace.indexOf(place[1] + 0.5) + 1);
            expect(collect(list, order, [place[0], place[1] + 0.5])).toEqual(rest);
          }
          const before = [...model].filter(
            ([s, k]) => k < place[0] || (k === place[0] && s < place[1]),
          ).length;
          expect(list.countBefore({ key: place[0], compare: (slot) => slot - place[1] })).toBe(before);
        },
      ),
      { numRuns: 500, seed: 1 },
    );
  });

  it('keep their order over many blocks, whatever the order of intake', () => {
    const list = createOrderedSlots(bySlot);
    const model = new Map<number, number>();
    let random = 7;
    const next = () => {
      random = (random * 48271) % 2147483647;
      return random;
    };
    for (let step = 0; step < 30_000; step++) {
      const slot = next() % 9000;
      const old = model.get(slot);
      if (old !== undefined) {
        list.remove(old, slot);
        model.delete(slot);
      }
      if (step % 3 !== 0 || old === undefined) {
        const at = step % 2 === 0 ? step : next() % 5000;
        list.insert(at, slot);
        model.set(slot, at);
      }
    }
    expect(collect(list, 'asc')).toEqual(sorted(model, 'asc'));
    expect(collect(list, 'desc')).toEqual(sorted(model, 'desc'));
    for (const [slot, at] of model) expect(list.remove(at, slot)).toBe(true);
    expect(list.size).toBe(0);
    expect(collect(list, 'desc')).toEqual([]);
  });
});
