import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TaskStats } from '../../src/source.ts';
import { CONTEXT, query, T0 } from '../history/telling.ts';
import { taskSource } from './combine-kit.ts';

type Group = NonNullable<TaskStats['causes']>[number];

const at = (seconds: number): Date => new Date(T0 + seconds * 1_000);
const group = (id: string, count: number, more: Partial<Group> = {}): Group => ({
  ...{ id, exception: 'E', message: null, frame: null, count, isNew: null, activity: [] },
  ...{ firstSeen: null, lastSeen: null, names: [], workers: [], sample: null, ...more },
});

/** What a source has counted in two steps. */
const counted = (causes?: readonly Group[], causesTruncated?: boolean, stepSeconds = 60): TaskStats => ({
  stepSeconds,
  series: [0, stepSeconds].map((t) => ({ t: at(t), received: 0, succeeded: 0, failed: 0, retried: 0 })),
  ...{ states: {}, names: [], workers: [], queues: [] },
  ...(causes !== undefined && { causes }),
  ...(causesTruncated !== undefined && { causesTruncated }),
});

/** The causes of a combination of sources that have these. */
async function merge(all: readonly TaskStats[], causes = 50) {
  const parts = all.map((stats, n) => ({
    tasks: { ...taskSource(`p${n}`, []), getTaskStats: () => stats },
  }));
  const asked = { minutes: 5, now: at(120), filter: query(), causes };
  const merged = await combineSources(...parts).tasks?.getTaskStats?.(asked, CONTEXT);
  return { causes: merged?.causes, causesTruncated: merged?.causesTruncated };
}

describe('causes of several sources', () => {
  it('are added up by id, the most frequent first', async () => {
    const few = group('x', 2, {
      ...{ firstSeen: at(5), lastSeen: at(70), sample: 'later', activity: [1, 1] },
      ...{ names: ['a', 'b'], workers: ['v'] },
    });
    const many = group('x', 4, {
      ...{ firstSeen: at(10), lastSeen: at(40), sample: 'earlier', activity: [1, 3, 9] },
      ...{ names: ['c', 'b'], workers: ['w'] },
    });
    const sum = {
      ...{ ...group('x', 6), firstSeen: at(5), lastSeen: at(70), sample: 'later' },
      ...{ names: ['c', 'b', 'a'], workers: ['w', 'v'] },
      // Both half minutes are in the first minute; there is no step for what comes after them.
      activity: [5, 1],
    };
    const [none, half] = [counted([group('z', 5), group('y', 5)]), counted([many], false, 30)];
    for (const all of [
      [counted([few]), half, none],
      [half, none, counted([few])],
    ]) {
      const { causes, causesTruncated } = await merge(all);
      expect([causes?.[0], causesTruncated]).toEqual([sum, false]);
      expect(causes?.map(({ id, activity }) => [id, activity])).toEqual([
        ['x', [5, 1]],
        ['y', [0, 0]],
        ['z', [0, 0]],
      ]);
    }
  });

  it('have the times that any source knows, and are new if they are new for all of them', async () => {
    const seen = { firstSeen: at(1), lastSeen: at(2), sample: 's' };
    const names = Array.from({ length: 15 }, (_, n) => `n${n}`);
    const more = names.map((name) => `${name}+`);
    for (const [one, other, sum] of [
      [seen, {}, seen],
      [{}, {}, { firstSeen: null, lastSeen: null, sample: null }],
      [{ isNew: true }, { isNew: true }, { isNew: true }],
      [{ isNew: true }, { isNew: false }, { isNew: false }],
      [{ isNew: null }, { isNew: true }, { isNew: null }],
      [{ isNew: null }, { isNew: false }, { isNew: false }],
      [{ names }, { names: more }, { names: [...names, ...more.slice(0, 5)] }],
    ] satisfies Partial<Group>[][]) {
      const [a, b] = [counted([group('x', 2, one)]), counted([group('x', 1, other)])];
      for (const { causes } of [await merge([a, b]), await merge([b, a])]) {
        expect(causes).toMatchObject([{ count: 3, ...sum }]);
      }
    }
  });

  it('are listed up to the number asked for, 1,000 at most, and say where others are missing', async () => {
    const [x, y, z] = [group('x', 3), group('y', 2), group('z', 1)];
    const many = Array.from({ length: 1_000 }, (_, n) => group(`m${n}`, 9));
    for (const [all, most, listed, isTruncated] of [
      [[counted([x, y]), counted([y, z])], 3, 3, false],
      [[counted([x, y]), counted([y, z])], 2, 2, true],
      [[counted([x], true), counted([y], false)], 3, 2, true],
      [[counted([x]), counted()], 3, 1, true],
      [[counted([x]), counted(many)], 2_000, 1_000, true],
      [[counted(), counted()], 3, undefined, undefined],
    ] as const) {
      const { causes, causesTruncated } = await merge(all, most);
      expect([causes?.length, causesTruncated]).toEqual([listed, isTruncated]);
    }
    expect(await merge([counted([x]), counted([y])], 0)).toEqual({});
  });
});
