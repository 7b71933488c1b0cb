import { beforeEach, describe, expect, it } from 'vitest';
import { addTimes, TIMES, writeTimes } from '../../src/history/stored/rollups/rollup-cells.ts';
import { ended, MINUTE, type RollupsKit, rollupsKit, START } from './rollups-kit.ts';

let kit: RollupsKit;
beforeEach(async () => {
  kit = await rollupsKit();
});

describe('rollups', () => {
  it('are written on each level, with histograms by name', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 2), ...ended(kit, 1, { worker: 'v' }), ...ended(kit, 1, { name: 'ship' }));
    await one.write();
    expect(kit.succeeded()).toEqual(new Map([[0, 4]]));
    const byLevel = ([1, 2, 3, 4] as const).map((level) =>
      kit.cells(60, level).map(({ name, queue, worker, counts }) => [name, queue, worker, counts[3]]),
    );
    expect(byLevel).toEqual([
      [
        ['pay', '', '', 3],
        ['ship', '', '', 1],
      ],
      [['', 'q', '', 4]],
      [
        ['', '', 'w', 3],
        ['', '', 'v', 1],
      ],
      [
        ['pay', 'q', 'w', 2],
        ['pay', 'q', 'v', 1],
        ['ship', 'q', 'w', 1],
      ],
    ]);
    const times = new Float64Array(TIMES);
    addTimes(times, kit.cells(60, 1)[0]?.times ?? '');
    expect(times.reduce((sum, count) => sum + count)).toBe(3);
  });

  it('are written again only where they have changed', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 1), ...ended(kit, 1, { name: 'ship' }));
    await one.write();
    kit.store.calls.length = 0;
    const before = kit.cells(60, 4).map((cell) => cell);
    one.record(...ended(kit, 1));
    await one.write();
    const after = kit.cells(60, 4);
    expect(after.filter((cell) => !before.includes(cell)).map(({ name }) => name)).toEqual(['pay']);
    expect(kit.succeeded()).toEqual(new Map([[0, 3]]));
  });

  it('are complete when a write failed, or was done and its answer lost', async () => {
    const one = kit.instance();
    for (const at of ['before', 'after'] as const) {
      one.record(...ended(kit, 5));
      kit.store[at] = (call) => {
        if (call === 'rollups.write') throw new Error('away');
      };
      await expect(one.write()).rejects.toThrow('away');
      kit.store[at] = null;
      one.record(...ended(kit, 1));
      await one.write();
    }
    expect(kit.succeeded()).toEqual(new Map([[0, 12]]));
  });

  it('count on after a restart, without counting twice', async () => {
    const before = kit.instance();
    const tasks = ended(kit, 5);
    before.record(...tasks);
    await before.write();
    kit.moveTo(0.5);
    const after = kit.instance();
    await after.write();
    after.record(...ended(kit, 3));
    await after.write();
    expect(kit.succeeded()).toEqual(new Map([[0, 8]]));
    expect(after.succeeded('pay')).toBe(8);
    kit.moveTo(70);
    const later = kit.instance();
    await later.write();
    expect(later.succeeded('pay')).toBe(8);
    expect(kit.succeeded()).toEqual(new Map([[0, 8]]));
  });

  it('count results that the backend still has once, before and after they are loaded', async () => {
    const before = kit.instance();
    const tasks = ended(kit, 5);
    before.record(...tasks);
    await before.write();
    kit.moveTo(5);
    const stored = tasks.map((task) => ({ ...task, stored: true, origin: 'result' as const }));
    const missed = ended(kit, 2, { time: START + 2 * MINUTE, stored: true, origin: 'result' });
    const after = kit.instance();
    after.record(...stored.slice(0, 3), ...missed);
    await after.write();
    after.record(...stored);
    await after.write();
    expect(kit.succeeded()).toEqual(
      new Map([
        [0, 5],
        [2, 2],
      ]),
    );
  });

  it('are the same whichever of two instances writes that hear the same', async () => {
    const instances = [kit.instance(), kit.instance()] as const;
    let writing = 0;
    for (let minute = 0; minute < 12; minute++) {
      for (let part = 0; part < 6; part++) {
        kit.moveTo(minute + part / 6);
        const tasks = ended(kit, 2, { queue: `q${part}` });
        for (const instance of instances) instance.record(...tasks);
        if (part === 3 && minute % 2 === 1) writing = 1 - writing;
        await instances[writing]?.write();
        await instances[1 - writing]?.skip();
      }
    }
    expect([...kit.succeeded().values()]).toEqual(Array.from({ length: 12 }, () => 12));
  });

  it('are the same when two instances that hear the same write at once', async () => {
    const instances = [kit.instance(), kit.instance()] as const;
    for (let minute = 0; minute < 3; minute++) {
      kit.moveTo(minute);
      const tasks = ended(kit, 4);
      instances[0].record(...tasks);
      await Promise.all(instances.map((one) => one.write()));
      instances[1].record(...tasks);
      await Promise.all(instances.map((one) => one.write()));
    }
    expect([...kit.succeeded().values()]).toEqual([4, 4, 4]);
  });

  it('do not count late what another instance has counted late before', async () => {
    const [a, b] = [kit.instance(), kit.instance()] as const;
    kit.moveTo(30);
    const first = ended(kit, 1);
    for (const one of [a, b]) one.record(...first);
    await a.write();
    await b.skip();
    const late = ended(kit, 3, { time: START });
    for (const one of [a, b]) one.record(...late);
    await a.write();
    await b.write();
    expect(kit.succeeded()).toEqual(
      new Map([
        [30, 1],
        [0, 3],
      ]),
    );
  });

  it('add late counts to minutes that are no longer in memory', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 5));
    await one.write();
    kit.moveTo(40);
    one.record(...ended(kit, 1));
    await one.write();
    one.record(...ended(kit, 2, { time: START + 1_000 }));
    await one.write();
    one.record(...ended(kit, 1, { time: START + 2_000 }));
    await one.write();
    expect(kit.succeeded().get(0)).toBe(8);
    expect(kit.cells(60, 1).find(({ start }) => start === START)?.counts[3]).toBe(8);
  });

  it('are kept in memory while the store is away, and complete when it is back', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 5));
    await one.write();
    one.record(...ended(kit, 1));
    kit.store.before = () => {
      throw new Error('away');
    };
    for (let minute = 1; minute < 30; minute++) {
      kit.moveTo(minute);
      one.record(...ended(kit, 1));
      await expect(one.write()).rejects.toThrow('away');
    }
    kit.store.before = null;
    await one.write();
    expect(kit.succeeded().get(0)).toBe(6);
    expect(kit.succeeded().size).toBe(30);
  });

  it('are added where each instance hears its own part', async () => {
    const [a, b] = [kit.instance('a'), kit.instance('b')] as const;
    a.record(...ended(kit, 2));
    b.record(...ended(kit, 3));
    await a.write();
    await b.write(false);
    const again = kit.instance('a2');
    again.record(...ended(kit, 4));
    await again.write();
    expect(kit.succeeded()).toEqual(new Map([[0, 9]]));
    kit.moveTo(61);
    await again.write();
    expect(kit.succeeded(3_600)).toEqual(new Map([[0, 9]]));
  });

  it('say how long was watched, also over a restart', async () => {
    const one = kit.instance();
    kit.moveTo(0.5);
    await one.write();
    const two = kit.instance();
    await two.write();
    kit.moveTo(1.5);
    await two.write();
    expect(kit.cells(60, 0).map(({ counts }) => counts[8])).toEqual([60, 30]);
  });

  it('have the depths of queues', async () => {
    const one = kit.instance();
    one.recordQueue('q', 9, START - 5_000);
    one.recordQueue('q', 3, null);
    await one.write();
    expect(kit.cells(60, 5).map(({ queue, counts }) => [queue, ...counts])).toEqual([
      ['q', 2, 9, 3, 1, 5, 5, 0, 0, 0],
    ]);
  });
});

describe('histograms as text', () => {
  it('are read as they were written, and added', () => {
    const times = new Float64Array(TIMES);
    times[0] = 1;
    times[35] = 36 ** 4;
    times[TIMES - 1] = 123_456_789;
    const read = new Float64Array(TIMES);
    addTimes(read, writeTimes(times));
    addTimes(read, writeTimes(times));
    expect([...read]).toEqual([...times].map((count) => 2 * count));
  });

  it('lose nothing else when a part of a text is none', () => {
    const read = new Float64Array(TIMES);
    addTimes(read, 'zzz 5,1 2,');
    expect(read[1]).toBe(2);
  });
});
