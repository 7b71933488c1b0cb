import { beforeEach, describe, expect, it } from 'vitest';
import { addTimes, TIMES } from '../../src/history/stored/rollups/rollup-cells.ts';
import { DAY, ended, HOUR, MINUTE, type RollupsKit, rollupsKit, START } from './rollups-kit.ts';

let kit: RollupsKit;
beforeEach(async () => {
  kit = await rollupsKit();
});

describe('folding', () => {
  it('makes hours and days, each once, on each level', async () => {
    const one = kit.instance();
    for (let hour = 0; hour < 26; hour++) {
      kit.moveTo(hour * 60 + 1);
      one.record(...ended(kit, 2));
      one.recordQueue('q', hour, null);
      await one.write();
      await one.write();
    }
    expect(kit.cells(86_400, 0).map(({ start, counts }) => [start, counts[3]])).toEqual([[START, 48]]);
    for (const level of [1, 2, 3, 4] as const) {
      expect(kit.cells(3_600, level).map(({ counts }) => counts[3])).toEqual(
        Array.from({ length: 25 }, () => 2),
      );
      expect(kit.cells(86_400, level).map(({ counts }) => counts[3])).toEqual([48]);
    }
    expect(kit.cells(86_400, 5).map(({ counts }) => counts.slice(0, 3))).toEqual([[24, 23, 23]]);
    const times = new Float64Array(TIMES);
    addTimes(times, kit.cells(86_400, 1)[0]?.times ?? '');
    expect(times.reduce((sum, count) => sum + count)).toBe(48);
  });

  it('takes in late cells, also of hours and days that are folded already', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 2));
    await one.write();
    kit.moveTo(24 * 60 - 30);
    one.record(...ended(kit, 1));
    await one.write();
    kit.moveTo(24 * 60 + 5);
    await one.write();
    expect(kit.succeeded(86_400)).toEqual(new Map([[0, 3]]));
    one.record(...ended(kit, 4, { time: START + 10 * MINUTE }));
    await one.write();
    kit.moveTo(25 * 60 + 10);
    await one.write();
    expect(kit.succeeded(3_600).get(0)).toBe(6);
    expect(kit.succeeded(86_400)).toEqual(new Map([[0, 7]]));
  });

  it('is done after a downtime, by whoever takes over, and changes nothing when it is done again', async () => {
    const one = kit.instance();
    one.record(...ended(kit, 2));
    await one.write(false);
    kit.moveTo(40 * 60);
    const two = kit.instance();
    await two.write();
    const hours = JSON.stringify([...kit.succeeded(3_600)]);
    expect(hours).toBe('[[0,2]]');
    expect([...kit.succeeded(86_400)]).toEqual([[0, 2]]);
    await kit.instance().write();
    expect(JSON.stringify([...kit.succeeded(3_600)])).toBe(hours);
  });

  it('drops minutes after two days, hours and days after their retention, and keeps what is folded', async () => {
    kit = await rollupsKit(4);
    const one = kit.instance();
    one.record(...ended(kit, 2));
    await one.write();
    kit.moveTo((2 * DAY + 2 * HOUR) / MINUTE);
    await one.write();
    expect(kit.cells(60, 1)).toEqual([]);
    expect([...kit.succeeded(3_600)]).toEqual([[0, 2]]);
    expect([...kit.succeeded(86_400)]).toEqual([[0, 2]]);
    kit.moveTo((5 * DAY) / MINUTE);
    await one.write();
    expect(kit.succeeded(3_600).size + kit.succeeded(86_400).size).toBe(0);
  });
});
