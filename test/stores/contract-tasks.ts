import { expect, it } from 'vitest';
import type { StoredQuery, StoredTask } from '../../src/history/store.ts';
import { SORTS } from '../helpers/task-query.ts';
import { DAY, ODD, type Open, recordOf, storedQuery, taskOf, walk } from './samples.ts';

export function describeTasks(open: Open): void {
  it('gives a task back as it was written, whatever its texts contain', async () => {
    const { session } = await open();
    const task = taskOf(ODD, {
      ...{
        state: 'RETRY',
        name: ODD,
        worker: 'celery@a',
        queue: 'q',
        rootId: ODD,
        parentId: 'p',
        groupId: 'g',
      },
      ...{
        chordId: 'c',
        timestamp: 1_700_000_000_123,
        received: 1.5,
        started: 2,
        finished: 0,
        runtime: 0.25,
      },
      ...{ isOpen: true, record: '{"a":"\\u0000\\"é😀","b":null}', texts: '{"args":"\\\\"}' },
    });
    expect(await session.tasks.write([task, taskOf('other')])).toEqual(new Set([ODD, 'other']));
    expect(await session.tasks.read([ODD, 'absent'])).toEqual([task]);
    expect(await session.tasks.read([])).toEqual([]);
    expect(await session.tasks.write([])).toEqual(new Set());
  });

  it('writes a task over the version before, and over no other', async () => {
    const { session } = await open();
    const version = (number: number, name: string) => taskOf('a', { version: number, name });
    await session.tasks.write([version(1, 'first')]);
    expect(await session.tasks.write([version(1, 'again')])).toEqual(new Set());
    expect(await session.tasks.write([version(3, 'skips one')])).toEqual(new Set());
    expect(await session.tasks.write([version(2, 'second')])).toEqual(new Set(['a']));
    expect(await session.tasks.write([version(2, 'late')])).toEqual(new Set());
    expect(await session.tasks.read(['a'])).toEqual([version(2, 'second')]);
    // One that has been dropped meanwhile begins anew.
    expect(await session.tasks.write([taskOf('dropped', { version: 5 })])).toEqual(new Set());
  });

  it('lets one of two instances write a version', async () => {
    const first = await open();
    const second = await open({ source: first.source });
    const ids = Array.from({ length: 200 }, (_, at) => `task-${at}`);
    for (const version of [1, 2, 3]) {
      const tasks = ids.map((id) => taskOf(id, { version }));
      const [one, two] = await Promise.all([
        first.session.tasks.write(tasks),
        second.session.tasks.write(tasks.toReversed()),
      ]);
      expect([...one, ...two].toSorted()).toEqual(ids.toSorted());
    }
  });

  it('finds tasks by what links them, and what relates these', async () => {
    const { session } = await open();
    await session.tasks.write([
      taskOf('root', { rootId: 'root', texts: '{}' }),
      taskOf('child', { rootId: 'root', parentId: 'root', groupId: 'g' }),
      taskOf('body', { rootId: 'root', chordId: 'g' }),
      taskOf('alone'),
    ]);
    const ids = async (link: 'rootId' | 'parentId' | 'groupId' | 'chordId', wanted: string[]) =>
      (await session.tasks.linked(link, wanted, 10)).map(({ id }) => id).toSorted();
    expect(await ids('rootId', ['root', 'absent'])).toEqual(['body', 'child', 'root']);
    expect(await ids('parentId', ['root'])).toEqual(['child']);
    expect(await ids('groupId', ['g'])).toEqual(['child']);
    expect(await ids('chordId', ['g'])).toEqual(['body']);
    const linked = await session.tasks.linkedIds('rootId', ['root'], 9);
    expect(linked.toSorted()).toEqual(['body', 'child', 'root']);
    expect(await session.tasks.linkedIds('rootId', ['root'], 2)).toHaveLength(2);
    expect(await session.tasks.known(['root', 'absent'])).toEqual(new Set(['root']));
    expect(await session.tasks.find(['root'])).toEqual([taskOf('root', { rootId: 'root' })]);
    expect(await session.tasks.linked('rootId', ['root'], 2)).toHaveLength(2);
    const body = { id: 'body', name: null, rootId: 'root', parentId: null, groupId: null, chordId: 'g' };
    expect(await session.tasks.linked('chordId', ['g'], 9)).toEqual([body]);
    expect(await session.tasks.relatives(['body', 'absent'])).toEqual([body]);
  });

  it('keeps sources apart', async () => {
    const one = await open();
    const two = await open({ store: one.store });
    await one.session.tasks.write([taskOf('a', { name: 'one' })]);
    await two.session.tasks.write([taskOf('a', { name: 'two' })]);
    expect((await one.session.tasks.list(storedQuery())).map(({ name }) => name)).toEqual(['one']);
    await one.store.close(one.session);
    expect((await two.session.tasks.read(['a'])).map(({ name }) => name)).toEqual(['two']);
  });
}

export function describeLists(open: Open): void {
  it('walks through every order page by page, and misses and repeats nothing', async () => {
    const { session } = await open();
    const tasks = Array.from({ length: 60 }, (_, at) => {
      const some = (every: number) => (at % every === 0 ? null : 1_700_000_000_000 + (at % 11) * 0.5);
      return taskOf(`id-${String((at * 37) % 60).padStart(2, '0')}`, {
        ...{
          day: DAY - (at % 3),
          timestamp: some(5),
          received: some(2),
          started: some(3),
          finished: some(7),
        },
        ...{ runtime: at % 4 === 0 ? null : at % 9, name: at % 6 === 0 ? null : `name-${at % 5}` },
        ...{ state: ['SUCCESS', 'FAILURE', 'STARTED'][at % 3] ?? '' },
      });
    });
    await session.tasks.write(tasks);
    for (const sort of SORTS) {
      for (const order of ['asc', 'desc'] as const) {
        const sign = order === 'asc' ? 1 : -1;
        const expected = tasks.toSorted((a, b) => {
          const [one, two] = [a[sort], b[sort]];
          if (one === two) return a.id < b.id ? -1 : 1;
          if (one === null || two === null) return one === null ? 1 : -1;
          return one < two ? -sign : sign;
        });
        const ids = expected.map(({ id }) => id);
        expect(await walk(session, { sort, order, limit: 7 }), `${sort} ${order}`).toEqual(ids);
      }
    }
    expect(await session.tasks.list(storedQuery({ limit: 0 }))).toEqual([]);
  });

  it('filters by each field and by several', async () => {
    const { session } = await open();
    const tasks = Array.from({ length: 24 }, (_, at) =>
      taskOf(`t${String(at).padStart(2, '0')}`, {
        ...{
          state: `S${at % 2}`,
          name: `n${at % 3}`,
          worker: `w${at % 4}`,
          queue: at % 5 === 0 ? null : ODD,
        },
        ...{
          rootId: `r${at % 3}`,
          parentId: `p${at % 6}`,
          groupId: `g${at % 8}`,
          timestamp: at,
          texts: '{}',
        },
        isOpen: at > 20,
      }),
    );
    await session.tasks.write(tasks);
    const check = async (given: Partial<StoredQuery>, matches: (task: StoredTask, at: number) => boolean) => {
      const [expected, query] = [tasks.filter(matches).toReversed(), storedQuery(given)];
      expect(await session.tasks.list(query)).toEqual(expected.map((task) => ({ ...task, texts: null })));
      expect(await session.tasks.records(query)).toEqual(expected.map(recordOf));
      expect(await session.tasks.count(query, 1_000)).toBe(expected.length);
    };
    await check({ states: ['S1'] }, ({ state }) => state === 'S1');
    await check({ names: ['n0', 'n2'] }, ({ name }) => name !== 'n1');
    await check({ workers: ['w1'], names: ['n1'] }, ({ worker, name }) => worker === 'w1' && name === 'n1');
    await check({ queues: [ODD] }, ({ queue }) => queue !== null);
    await check({ rootId: 'r1' }, ({ rootId }) => rootId === 'r1');
    await check({ parentId: 'p5' }, ({ parentId }) => parentId === 'p5');
    await check({ groupId: 'g7', states: ['S1'] }, ({ groupId }) => groupId === 'g7');
    await check({ since: new Date(5), until: new Date(9) }, (_, at) => at >= 5 && at < 9);
    await check({ isOpen: true }, ({ isOpen }) => isOpen);
    await check({ except: ['t03', 't04'], until: new Date(6) }, (_, at) => at < 6 && at !== 3 && at !== 4);
    await check({ names: ["n0' OR 1=1 --"] }, () => false);
    expect(await session.tasks.count(storedQuery(), 10)).toBe(10);
  });

  it('never leaves out what a search would find', async () => {
    const { session } = await open();
    await session.tasks.write([
      taskOf('Upper-100%', { record: JSON.stringify({ args: 'Say "Hello_World" to \\É' }) }),
      taskOf('other', { record: '{}' }),
    ]);
    for (const hint of ['hello_world', 'upper-100%', 'say "hello', '\\é', 'to \\é', 'o'])
      expect((await session.tasks.list(storedQuery({ hint }))).map(({ id }) => id)).toContain('Upper-100%');
  });
}

export function describeRetention(open: Open): void {
  it('drops old days, and keeps tasks that have not ended with their relations', async () => {
    const { session } = await open();
    const old = DAY - 3;
    const done = Array.from({ length: 1_500 }, (_, at) => taskOf(`done-${at}`, { day: old }));
    await session.tasks.write([
      ...done,
      taskOf('open', { day: old, isOpen: true }),
      taskOf('twice', { day: old, isOpen: true }),
      taskOf('twice', { day: DAY, name: 'later' }),
      taskOf('new'),
    ]);
    const relation = { parent: 'done-1', child: 'open', relation: 'chain' };
    await session.relations.write([relation]);
    await session.tasks.dropBefore(DAY - 2, DAY);
    expect(await session.relations.read(['open'], 9)).toEqual([relation]);
    const left = await session.tasks.list(storedQuery({ sort: 'name', order: 'asc' }));
    expect(left.map(({ id, day }) => [id, day])).toEqual([
      ['twice', DAY],
      ['new', DAY],
      ['open', DAY],
    ]);
    // The writer finds that it has moved, and goes on.
    expect(await session.tasks.write([taskOf('open', { day: old, version: 2 })])).toEqual(new Set());
    expect(await session.tasks.write([taskOf('open', { version: 2 })])).toEqual(new Set(['open']));
    await session.tasks.dropBefore(DAY - 2, DAY);
    expect(await session.tasks.count(storedQuery(), 9)).toBe(3);
  });

  it('moves tasks that have not ended to the day that it is given, whatever the clock of the process says', async () => {
    const { session } = await open();
    await session.tasks.write([taskOf('open', { isOpen: true }), taskOf('done')]);
    await session.tasks.dropBefore(DAY + 3, DAY + 10);
    const left = await session.tasks.list(storedQuery());
    expect(left.map(({ id, day }) => [id, day])).toEqual([['open', DAY + 10]]);
  });

  it('keeps what another source keeps for longer', async () => {
    const one = await open();
    const two = await open({ store: one.store });
    for (const { session } of [one, two])
      await session.tasks.write([taskOf('old', { day: DAY - 5 }), taskOf('new')]);
    await one.session.tasks.dropBefore(DAY - 2, DAY);
    expect((await one.session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['new']);
    expect(await two.session.tasks.count(storedQuery(), 9)).toBe(2);
  });

  it('takes days that are far away', async () => {
    const { session } = await open();
    await session.tasks.write([taskOf('past', { day: 3 }), taskOf('future', { day: DAY + 900 })]);
    expect(await session.tasks.write([taskOf('past', { day: 3, version: 2 })])).toEqual(new Set(['past']));
    await session.tasks.dropBefore(DAY - 7, DAY);
    expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['future']);
  });
}
