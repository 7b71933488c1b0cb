import { expect, it } from 'vitest';
import { LONGEST_LEASE_MS, type RollupQuery, type StoredRollup } from '../../src/history/store.ts';
import { until } from '../helpers/redis-server.ts';
import { ODD, type Open, taskOf } from './samples.ts';

export function describeOthers(open: Open): void {
  it('finds what relates tasks whose ids look like the separators of a list', async () => {
    const { session } = await open();
    const odd = ['a\\,b', '\\', '\\\\,', ',', '=', '"', '\n', 'x\0y', '\ud800', '\u{1f600}', '\\,=z'];
    await session.tasks.write(odd.map((id) => taskOf(id, { rootId: 'odd', parentId: id, groupId: '' })));
    const relatives = { name: null, rootId: 'odd', groupId: '', chordId: null };
    const expected = odd.map((id) => ({ id, parentId: id, ...relatives }));
    const sorted = <Row extends { id: string }>(rows: readonly Row[]): Row[] =>
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(sorted(await session.tasks.relatives(odd))).toEqual(sorted(expected));
    expect(sorted(await session.tasks.linked('rootId', ['odd'], 99))).toEqual(sorted(expected));
    expect(await session.tasks.known(odd)).toEqual(new Set(odd));
    expect((await session.tasks.linkedIds('rootId', ['odd'], 99)).toSorted()).toEqual(odd.toSorted());
  });

  it('keeps each relation once', async () => {
    const { session } = await open();
    const relations = [
      { parent: 'a', child: ODD, relation: 'chain' },
      { parent: null, child: 'b', relation: 'link' },
      { parent: '', child: 'b', relation: 'link' },
    ];
    expect(await session.relations.isEmpty()).toBe(true);
    await session.relations.write(relations);
    expect(await session.relations.isEmpty()).toBe(false);
    await session.relations.write([...relations, { parent: ODD, child: 'c', relation: 'group' }]);
    expect(await session.relations.read(['a'], 10)).toEqual([relations[0]]);
    expect(await session.relations.read([ODD], 10)).toHaveLength(2);
    expect(await session.relations.read(['b'], 10)).toEqual(expect.arrayContaining(relations.slice(1)));
    expect(await session.relations.read(['b'], 1)).toHaveLength(1);
    await session.relations.write([]);
    expect(await session.relations.read([], 10)).toEqual([]);
  });

  it('keeps texts by kind, with revisions that grow', async () => {
    const { session } = await open();
    await session.snapshots.write(new Map([['workers', '[1]']]));
    await session.snapshots.write(
      new Map([
        ['workers', '["\\u0000"]'],
        [ODD, 'x'],
      ]),
    );
    expect(await session.snapshots.revisions()).toEqual(
      new Map([
        ['workers', 2],
        [ODD, 1],
      ]),
    );
    expect(await session.snapshots.read(['workers', 'absent'])).toEqual(
      new Map([['workers', '["\\u0000"]']]),
    );
    expect(await session.snapshots.read([])).toEqual(new Map());
  });

  it('keeps the heavier of two rollups, adds them up and drops old ones', async () => {
    const { session } = await open();
    const cell = (given: Partial<StoredRollup>): StoredRollup => ({
      ...{ span: 60, level: 4, start: 60_000, writer: '', name: 'n', queue: 'q', worker: 'w', weight: 1 },
      ...{ counts: [1, 2, 3, 4, 5, 6, 7, 8, 9], times: null },
      ...given,
    });
    const heavy = cell({ weight: 3, times: '{}', counts: [9, 0, 0, 0, 0, 0, 0, 0, 2 ** 40] });
    await session.rollups.write([cell({ weight: 2 }), cell({ name: ODD, start: 120_000 })]);
    await session.rollups.write([heavy]);
    await session.rollups.write([cell({ weight: 2 }), cell({ writer: 'b' }), cell({ level: 0, name: '' })]);
    const query: RollupQuery = {
      ...({ span: 60, level: 4 } as const),
      ...{ from: 60_000, to: 120_000, names: [], queues: [], workers: [] },
    };
    const read = await session.rollups.read(query, 10);
    expect(read).toHaveLength(2);
    expect(read).toEqual(expect.arrayContaining([heavy, cell({ writer: 'b' })]));
    expect(await session.rollups.read({ ...query, to: 121_000, names: [ODD, 'x'] }, 10)).toEqual([
      cell({ name: ODD, start: 120_000 }),
    ]);
    expect(await session.rollups.read({ ...query, workers: ['x'] }, 10)).toEqual([]);
    expect(await session.rollups.sums({ ...query, to: 121_000 })).toEqual([
      { start: 60_000, counts: [10, 2, 3, 4, 5, 6, 7, 8, 2 ** 40 + 9] },
      { start: 120_000, counts: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    ]);
    const depth = cell({ level: 5, name: '', worker: '', queue: 'deep', times: null });
    for (const [minute, most] of [3, 9, 5].entries()) {
      const counts = [1, most, 0, 0, 0, 0, 0, 0, 0];
      await session.rollups.write([{ ...depth, start: (minute + 3) * 60_000, counts }]);
    }
    const steps = { first: 60_000, ms: 180_000 };
    const rows = await session.rollups.byQueue({ ...query, level: 5, to: 600_000 }, steps);
    expect(rows.map(({ queue, step, sums, peaks }) => [queue, step, sums[1], peaks[1]]).toSorted()).toEqual([
      ['deep', 0, 3, 3],
      ['deep', 1, 14, 9],
    ]);
    await session.rollups.dropBefore(60, 120_000);
    expect(await session.rollups.sums({ ...query, to: 121_000 })).toHaveLength(1);
    await session.rollups.write([]);
  });

  it('adds up rollups over time, with the texts of all of them', async () => {
    const { session } = await open();
    const cell = (start: number, given: Partial<StoredRollup>): StoredRollup => ({
      ...{ span: 3_600, level: 4, start, writer: '', name: ODD, queue: 'q', worker: 'w', weight: 1 },
      ...{ counts: [1, 2, 3, 4, 5, 6, 7, 8, 9], times: '1 2,' },
      ...given,
    });
    await session.rollups.write([
      ...[cell(0, {}), cell(0, { writer: 'b' }), cell(3_600_000, { times: null }), cell(7_200_000, {})],
      ...[cell(0, { worker: 'x', times: null }), cell(0, { queue: 'other' }), cell(0, { level: 1 })],
    ]);
    const query: RollupQuery = {
      ...({ span: 3_600, level: 4 } as const),
      ...{ from: 0, to: 7_200_000, names: [], queues: ['q'], workers: [] },
    };
    const totals = await session.rollups.totals(query, 10);
    expect(totals.toSorted((a, b) => (a.worker < b.worker ? -1 : 1))).toEqual([
      { name: ODD, queue: 'q', worker: 'w', counts: [3, 6, 9, 12, 15, 18, 21, 24, 27], times: '1 2,1 2,' },
      { name: ODD, queue: 'q', worker: 'x', counts: [1, 2, 3, 4, 5, 6, 7, 8, 9], times: null },
    ]);
    const oldest = await session.rollups.totals({ ...query, workers: ['w'] }, 2);
    expect(oldest.map(({ counts }) => counts[0])).toEqual([2]);
  });

  it('reports its size', async () => {
    const { session } = await open();
    expect(await session.size()).toBeGreaterThan(20_000);
  });
}

export function describeFeed(open: Open): void {
  it('numbers the chunks of several instances without gaps, and trims the oldest', async () => {
    const one = await open();
    const two = await open({ source: one.source });
    const from = Date.now();
    const numbers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        (at % 2 === 0 ? one : two).session.feed.append(`i${at % 2}`, `["${at}"]`, 3),
      ),
    );
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, at) => at + 1));
    const { feed } = one.session;
    const chunks = await feed.read(10, 1);
    expect(chunks).toEqual([
      {
        number: 11,
        instance: expect.stringMatching(/^i[01]$/),
        items: expect.any(String),
        count: 3,
        addedAt: expect.any(Number),
      },
    ]);
    expect(Math.abs((chunks[0]?.addedAt ?? 0) - from)).toBeLessThan(60_000);
    expect((await feed.newest(4)).map(({ number }) => number)).toEqual([11, 12]);
    await feed.trim(6);
    expect((await feed.read(0, 100)).map(({ number }) => number)).toEqual([11, 12]);
    await feed.trim(0);
    expect((await feed.newest(100)).map(({ number }) => number)).toEqual([12]);
    expect(await feed.append(ODD, '[]', 0)).toBe(13);
    expect((await feed.read(12, 9)).map(({ instance }) => instance)).toEqual([ODD]);
  });
}

export function describeLease(open: Open): void {
  it('is held by one instance, which renews it, and tells it who else wants it', async () => {
    const one = await open();
    const two = await open({ source: one.source });
    const lease = one.session.lease;
    expect(await lease.look()).toMatchObject({ isHeld: false, holder: null, contendedAt: null });
    const state = await lease.acquire('a', LONGEST_LEASE_MS);
    expect(state).toEqual({ isHeld: true, now: expect.any(Number), holder: 'a', contendedAt: null });
    expect(Math.abs(state.now - Date.now())).toBeLessThan(60_000);
    expect(await two.session.lease.acquire('b', LONGEST_LEASE_MS)).toMatchObject({
      isHeld: false,
      holder: 'a',
    });
    const renewed = await lease.acquire('a', LONGEST_LEASE_MS);
    expect(renewed).toMatchObject({ isHeld: true, holder: 'a' });
    expect(renewed.contendedAt).toBeGreaterThanOrEqual(state.now);
    expect(renewed.contendedAt).toBeLessThanOrEqual(renewed.now);
    await two.session.lease.release('b');
    expect(await two.session.lease.look()).toMatchObject({ isHeld: false, holder: 'a' });
    await lease.release('a');
    expect(await two.session.lease.look()).toMatchObject({ holder: null });
    expect(await two.session.lease.acquire('b', LONGEST_LEASE_MS)).toMatchObject({
      isHeld: true,
      contendedAt: null,
    });
    expect(await lease.acquire('a', LONGEST_LEASE_MS)).toMatchObject({ isHeld: false, holder: 'b' });
  });

  it('passes to another instance once it has expired', async () => {
    const { session } = await open();
    await session.lease.acquire('a', 1);
    await until(async () => (await session.lease.look()).holder === null);
    const taken = await Promise.all(
      ['b', 'c', 'd'].map((holder) => session.lease.acquire(holder, LONGEST_LEASE_MS)),
    );
    expect(taken.filter(({ isHeld }) => isHeld)).toHaveLength(1);
  });

  it('is free when it would last longer than any lease: the clock was set back', async () => {
    const { session } = await open();
    await session.lease.acquire('dead', 4 * 3_600_000);
    expect(await session.lease.look()).toMatchObject({ holder: null });
    const taken = await session.lease.acquire('next', LONGEST_LEASE_MS);
    expect(taken).toMatchObject({ isHeld: true, holder: 'next' });
    expect(await session.lease.look()).toMatchObject({ holder: 'next' });
  });
}
