import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Activity, QueueDepths } from '../../src/source.ts';
import { CONTEXT, query, told } from '../history/telling.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 10, 21, 6);
const at = (minute: number): number => T0 + minute * MINUTE;

/** What happened in a queue within a minute. */
interface Happened {
  readonly minute: number;
  /** Default: `mail`. `null`: messages do not say of which queue they are. */
  readonly queue?: string | null;
  /** How many messages wait: one reading, or several. Default: nothing was read. */
  readonly waiting?: number | readonly number[];
  /** For how many seconds the oldest of them has been due. */
  readonly age?: number;
  readonly isAtLeast?: boolean;
  readonly sent?: number;
  readonly received?: number;
  readonly started?: number;
}

/** What a history in memory tells of queues after this, minute by minute. */
async function toldOf(
  all: readonly Happened[],
  { minutes = 4, end = at(minutes) - 1 } = {},
): Promise<{ readonly depths: readonly QueueDepths[]; readonly growing: Activity['growing'] }> {
  let now = T0;
  let count = 0;
  const history = createMemoryHistory({ now: () => now });
  for (const { minute, queue = 'mail', waiting = [], age, isAtLeast = false, ...counts } of all) {
    now = at(minute) + 1_000;
    const due = age === undefined ? null : now - age * 1_000;
    for (const depth of [waiting].flat()) history.writer.recordQueue(String(queue), depth, due, isAtLeast);
    for (const type of ['sent', 'received', 'started'] as const) {
      for (let left = counts[type] ?? 0; left > 0; left -= 1) {
        count += 1;
        const change: TaskChange = told({ id: `t${count}`, type, time: now });
        history.writer.recordTask(queue === null ? change : { ...change, queue });
      }
    }
  }
  now = end;
  const asked = { minutes, now: new Date(end), stepSeconds: 60, filter: query() };
  const { queueDepths = [] } = await history.reader.getTaskStats(asked, CONTEXT);
  const { growing } = await history.reader.getActivity(CONTEXT);
  history.close();
  return { depths: queueDepths, growing };
}

describe('the depths of queues', () => {
  it('have what was read and counted in each step, and do not know what was not', async () => {
    const { depths } = await toldOf([
      { minute: -1, waiting: 1 },
      { minute: 0, waiting: [7, 2], age: 30, sent: 5, received: 4 },
      { minute: 2, waiting: 3, age: 90, isAtLeast: true },
      { minute: 3, received: 1 },
    ]);
    expect(depths).toEqual([
      {
        queue: 'mail',
        waiting: [1, 7, null, 3, null],
        oldestSeconds: [null, 30, null, 90, null],
        sent: [null, 5, null, 0, 0],
        received: [0, 4, null, 0, 1],
        ...{ growingSince: null, oldestAtLeast: true },
      },
    ]);
  });

  it('derive what entered from what was taken out, where clients do not report it', async () => {
    const { depths } = await toldOf([
      { minute: -1, waiting: 10 },
      { minute: 0, waiting: 15, received: 4 },
      { minute: 1, waiting: 12, received: 3 },
      { minute: 2, waiting: 0, received: 2 },
    ]);
    expect(depths[0]).toMatchObject({ sent: [null, 9, 0, 0, null], received: [0, 4, 3, 2, null] });
  });

  it('do not know what entered before the first report, unless the depth tells', async () => {
    const { depths } = await toldOf([
      { minute: -1, started: 2 },
      { minute: 0, started: 2 },
      { minute: 1, sent: 1, started: 1 },
      { minute: 2, started: 1 },
    ]);
    expect(depths[0]).toMatchObject({ sent: [null, null, 1, 0, null], received: [2, 2, 1, 1, null] });
    const { depths: read } = await toldOf([
      { minute: -1, waiting: 4, received: 1 },
      { minute: 0, waiting: 6, received: 1 },
      { minute: 1, waiting: 0, sent: 1, received: 7 },
    ]);
    expect(read[0]?.sent).toEqual([null, 3, 1, null, null]);
  });

  it('count starts where the engine reports nothing of receiving', async () => {
    const { depths } = await toldOf([{ minute: 1, waiting: 0, started: 6 }]);
    expect(depths[0]?.received).toEqual([null, null, 6, null, null]);
    const both = await toldOf([{ minute: 1, waiting: 0, started: 6, received: 7 }]);
    expect(both.depths[0]?.received?.[2]).toBe(7);
  });

  it('do not know what was taken out of a queue in a step in which nobody said of which', async () => {
    const { depths } = await toldOf([
      { minute: 1, waiting: 0, received: 6 },
      { minute: 1, queue: null, received: 1 },
      { minute: 2, waiting: 0, received: 6 },
      { minute: 2, queue: null, sent: 1 },
    ]);
    expect(depths[0]?.received).toEqual([null, null, null, 6, null]);
  });

  it('are those of the 20 queues in which most waited, and of fewer over many steps', async () => {
    const all = Array.from({ length: 30 }, (_, n) => ({ minute: 1, queue: `q${n}`, waiting: n }));
    const { depths } = await toldOf(all);
    expect([depths.length, depths[0]?.queue, depths.at(-1)?.queue]).toEqual([20, 'q29', 'q10']);
    expect((await toldOf(all, { minutes: 1_400, end: at(4) })).depths).toHaveLength(4);
  });
});

describe('a queue grows', () => {
  type Reading = readonly [minute: number, waiting: number];
  /** Since which minute, both in the statistics and in what findings are made of. */
  async function since(
    readings: readonly Reading[],
    end = readings.at(-1)?.[0] ?? 0,
  ): Promise<number | null> {
    const happened = readings.map(([minute, waiting]) => ({ minute, waiting }));
    const { depths, growing } = await toldOf(happened, { minutes: 30, end: at(end) + 1_000 });
    const found = depths[0]?.growingSince ?? null;
    expect(growing?.map((one) => one.since) ?? []).toEqual(found === null ? [] : [found.getTime()]);
    return found === null ? null : (found.getTime() - T0) / MINUTE;
  }
  const minutes = (waiting: readonly number[]): readonly Reading[] =>
    waiting.map((depth, minute) => [minute, depth]);

  it.each<[string, readonly number[], number | null]>([
    ['since it was last as low as before', [0, 1, 0, 2, 0, 30, 80, 120, 190, 260, 300], 4],
    ['although single readings are lower', [0, 0, 30, 60, 90, 85, 120, 115, 150, 180, 200], 1],
    ['from a depth at which it stood', [500, 500, 510, 500, 560, 620, 680, 740, 800, 900, 1000], 3],
    ['not while it falls', [300, 280, 240, 200, 150, 120, 90, 60, 30], null],
    ['not while it stands', [300, 305, 298, 300, 301, 300, 299, 300], null],
    ['not for a burst that is worked off', [0, 0, 3000, 2800, 2500, 2300, 2000, 1700, 1500], null],
    ['not for a burst of the last minutes', [0, 0, 0, 0, 0, 0, 0, 900, 3000], null],
    ['not again after it was worked off', [0, 100, 200, 300, 0, 0, 5, 8, 3], null],
    ['never where nothing was read', [], null],
    ['with 20 tasks', [0, 4, 8, 12, 16, 20], 0],
    ['not with 19', [0, 4, 8, 12, 16, 19], null],
    ['not for less than five minutes', [0, 5, 10, 15, 20], null],
    ['by a quarter', [75, 80, 85, 90, 95, 100], 0],
    ['not by less', [76, 80, 85, 90, 95, 100], null],
    ['although it fell by a tenth of what waits now', [0, 50, 60, 50, 70, 100], 0],
    ['not where it fell by more', [0, 50, 61, 50, 70, 100], null],
    ['since it was up to a fiftieth above its lowest', [0, 2, 20, 40, 60, 80, 100], 1],
    ['not since it was higher', [0, 3, 20, 40, 60, 80, 100], 0],
  ])('%s', async (_what, waiting, expected) => {
    expect(await since(minutes(waiting))).toBe(expected);
  });

  it('as far as it was read without ten minutes’ pause, and within the last three', async () => {
    const depth = minutes([0, 40, 80, 120, 160, 200, 240, 280]);
    expect(await since(depth, 9)).toBe(0);
    expect(await since(depth, 10)).toBeNull();
    const [first, ...others] = depth as [Reading, ...Reading[]];
    const moved = (by: number) => others.map(([minute, waiting]): Reading => [minute + by, waiting]);
    expect(await since([first, ...moved(9)])).toBe(0);
    expect(await since([first, ...moved(10)])).toBe(11);
  });

  it('from so many to so many', async () => {
    const { growing } = await toldOf(
      minutes([0, 4, 8, 12, 16, 20]).map(([minute, waiting]) => ({ minute, waiting })),
      { end: at(5) },
    );
    expect(growing).toEqual([{ queue: 'mail', since: at(0), from: 0, waiting: 20 }]);
  });
});
