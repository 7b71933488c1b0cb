/** What every store must do, whatever keeps it. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type {
  HistoryStore,
  RollupQuery,
  StoredQuery,
  StoredRollup,
  StoredTask,
  StoreSession,
} from '../../src/history/store.ts';

/** What the suite is run against. */
export interface ContractSubject {
  /** Another store in the same database, as another process would open it. */
  createStore(): HistoryStore;
}

const DAY = Math.floor(Date.now() / 86_400_000);
/** Ids and names may contain anything. */
const ODD = 'a"b\\c{d},\0e\ud800é\'%_';

export function taskOf(id: string, given: Partial<StoredTask> = {}): StoredTask {
  return {
    ...{ id, day: DAY, version: 1, record: JSON.stringify({ id }), texts: null, state: 'SUCCESS', isOpen: false },
    ...{ name: null, worker: null, queue: null, rootId: null, parentId: null, groupId: null, chordId: null },
    ...{ timestamp: null, received: null, started: null, finished: null, runtime: null },
    ...given,
  };
}

export function storedQuery(given: Partial<StoredQuery> = {}): StoredQuery {
  return {
    ...{ limit: 100, after: null, states: [], names: [], workers: [], queues: [], rootId: null, parentId: null },
    ...{ groupId: null, since: null, until: null, sort: 'timestamp', order: 'desc', isOpen: false, hint: null },
    ...given,
  };
}

let sources = 0;

/** Runs the suite. Each test has a source of its own. */
export function storeContract(title: string, subject: () => ContractSubject): void {
  const open = async (given: { source?: string; store?: HistoryStore; deployment?: string | null } = {}) => {
    const { source = `source-${++sources}`, store = subject().createStore(), deployment = null } = given;
    const session = await store.open({ source, deployment, isReadOnly: false });
    onTestFinished(() => store.close(session));
    return { source, store, session };
  };
  describe(title, () => {
    describeTasks(open);
    describeLists(open);
    describeRetention(open);
    describeOthers(open);
    describeFeed(open);
    describeLease(open);
    describeOpening(open, subject);
  });
}

type Open = (given?: {
  source?: string;
  store?: HistoryStore;
  deployment?: string | null;
}) => Promise<{ source: string; store: HistoryStore; session: StoreSession }>;

function describeTasks(open: Open): void {
  it('gives a task back as it was written, whatever its texts contain', async () => {
    const { session } = await open();
    const task = taskOf(ODD, {
      ...{ state: 'RETRY', name: ODD, worker: 'celery@a', queue: 'q', rootId: ODD, parentId: 'p', groupId: 'g' },
      ...{ chordId: 'c', timestamp: 1_700_000_000_123, received: 1.5, started: 2, finished: 0, runtime: 0.25 },
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

  it('finds tasks by what links them, without long texts', async () => {
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
    expect(await session.tasks.linked('rootId', ['root'], 2)).toHaveLength(2);
    expect((await session.tasks.linked('rootId', ['root'], 9)).every(({ texts }) => texts === null)).toBe(true);
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

function describeLists(open: Open): void {
  const walk = async (session: StoreSession, given: Partial<StoredQuery>) => {
    const ids: string[] = [];
    const { sort = 'timestamp' } = given;
    for (let after: StoredQuery['after'] = null; ; ) {
      const page = await session.tasks.list(storedQuery({ ...given, after }));
      ids.push(...page.map(({ id }) => id));
      const last = page.at(-1);
      if (last === undefined) return ids;
      after = { key: last[sort], id: last.id };
    }
  };

  it('walks through every order page by page, and misses and repeats nothing', async () => {
    const { session } = await open();
    const tasks = Array.from({ length: 60 }, (_, at) => {
      const some = (every: number) => (at % every === 0 ? null : 1_700_000_000_000 + (at % 11) * 0.5);
      return taskOf(`id-${String((at * 37) % 60).padStart(2, '0')}`, {
        ...{ day: DAY - (at % 3), timestamp: some(5), received: some(2), started: some(3), finished: some(7) },
        ...{ runtime: at % 4 === 0 ? null : at % 9, name: at % 6 === 0 ? null : `name-${at % 5}` },
        ...{ state: ['SUCCESS', 'FAILURE', 'STARTED'][at % 3] ?? '' },
      });
    });
    await session.tasks.write(tasks);
    for (const sort of ['timestamp', 'received', 'started', 'finished', 'runtime', 'name', 'state'] as const) {
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
        ...{ state: `S${at % 2}`, name: `n${at % 3}`, worker: `w${at % 4}`, queue: at % 5 === 0 ? null : ODD },
        ...{ rootId: `r${at % 3}`, parentId: `p${at % 6}`, groupId: `g${at % 8}`, timestamp: at, texts: '{}' },
        isOpen: at > 20,
      }),
    );
    await session.tasks.write(tasks);
    const check = async (given: Partial<StoredQuery>, matches: (task: StoredTask, at: number) => boolean) => {
      const expected = tasks.filter(matches).toReversed();
      expect(await session.tasks.list(storedQuery(given))).toEqual(
        expected.map((task) => ({ ...task, texts: null })),
      );
      expect(await session.tasks.count(storedQuery(given), 1_000)).toBe(expected.length);
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

function describeRetention(open: Open): void {
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
    await session.tasks.dropBefore(DAY - 2);
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
    await session.tasks.dropBefore(DAY - 2);
    expect(await session.tasks.count(storedQuery(), 9)).toBe(3);
  });

  it('keeps what another source keeps for longer', async () => {
    const one = await open();
    const two = await open({ store: one.store });
    for (const { session } of [one, two]) await session.tasks.write([taskOf('old', { day: DAY - 5 }), taskOf('new')]);
    await one.session.tasks.dropBefore(DAY - 2);
    expect((await one.session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['new']);
    expect(await two.session.tasks.count(storedQuery(), 9)).toBe(2);
  });

  it('takes days that are far away', async () => {
    const { session } = await open();
    await session.tasks.write([taskOf('past', { day: 3 }), taskOf('future', { day: DAY + 900 })]);
    expect(await session.tasks.write([taskOf('past', { day: 3, version: 2 })])).toEqual(new Set(['past']));
    await session.tasks.dropBefore(DAY - 7);
    expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual(['future']);
  });
}

function describeOthers(open: Open): void {
  it('keeps each relation once', async () => {
    const { session } = await open();
    const relations = [
      { parent: 'a', child: ODD, relation: 'chain' },
      { parent: null, child: 'b', relation: 'link' },
      { parent: '', child: 'b', relation: 'link' },
    ];
    await session.relations.write(relations);
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
    expect(await session.snapshots.read(['workers', 'absent'])).toEqual(new Map([['workers', '["\\u0000"]']]));
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
    await session.rollups.dropBefore(60, 120_000);
    expect(await session.rollups.sums({ ...query, to: 121_000 })).toHaveLength(1);
    await session.rollups.write([]);
  });

  it('reports its size', async () => {
    const { session } = await open();
    expect(await session.size()).toBeGreaterThan(20_000);
  });
}

function describeFeed(open: Open): void {
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
      { number: 11, instance: expect.stringMatching(/^i[01]$/), items: expect.any(String), count: 3, addedAt: expect.any(Number) },
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

function describeLease(open: Open): void {
  it('is held by one instance, which renews it, and tells it who else wants it', async () => {
    const one = await open();
    const two = await open({ source: one.source });
    const lease = one.session.lease;
    expect(await lease.look()).toMatchObject({ isHeld: false, report: null, contendedAt: null });
    const state = await lease.acquire('a', 60_000, 'A');
    expect(state).toEqual({ isHeld: true, now: expect.any(Number), report: 'A', contendedAt: null });
    expect(Math.abs(state.now - Date.now())).toBeLessThan(60_000);
    expect(await two.session.lease.acquire('b', 60_000, 'B')).toMatchObject({ isHeld: false, report: 'A' });
    const renewed = await lease.acquire('a', 60_000, 'A2');
    expect(renewed).toMatchObject({ isHeld: true, report: 'A2' });
    expect(renewed.contendedAt).toBeGreaterThanOrEqual(state.now);
    expect(renewed.contendedAt).toBeLessThanOrEqual(renewed.now);
    await two.session.lease.release('b');
    expect(await two.session.lease.look()).toMatchObject({ isHeld: false, report: 'A2' });
    await lease.release('a');
    expect(await two.session.lease.look()).toMatchObject({ report: null });
    expect(await two.session.lease.acquire('b', 60_000, 'B')).toMatchObject({ isHeld: true, contendedAt: null });
    expect(await lease.acquire('a', 60_000, 'A')).toMatchObject({ isHeld: false, report: 'B' });
  });

  it('passes to another instance once it has expired', async () => {
    const { session } = await open();
    await session.lease.acquire('a', 1, 'A');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await session.lease.look()).toMatchObject({ report: null });
    const taken = await Promise.all(['b', 'c', 'd'].map((holder) => session.lease.acquire(holder, 60_000, holder)));
    expect(taken.filter(({ isHeld }) => isHeld)).toHaveLength(1);
  });
}

function describeOpening(open: Open, subject: () => ContractSubject): void {
  it('refuses a second deployment under one name', async () => {
    const { source } = await open({ deployment: 'one' });
    await open({ source, deployment: 'one' });
    await open({ source, deployment: null });
    await expect(open({ source, deployment: 'two' })).rejects.toMatchObject({
      code: 'source_taken',
      remedy: expect.stringContaining('another name'),
    });
  });

  it('registers one of two deployments that start at once', async () => {
    const { source } = await open();
    const results = await Promise.allSettled(['one', 'two'].map((deployment) => open({ source, deployment })));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('gives sources that start at once numbers of their own', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => open()));
    await Promise.all(all.map(({ session, source }) => session.tasks.write([taskOf(source)])));
    for (const { session, source } of all)
      expect((await session.tasks.list(storedQuery())).map(({ id }) => id)).toEqual([source]);
  });

  it('only reads where it is told so', async () => {
    const { source, session } = await open();
    await session.tasks.write([taskOf('a')]);
    const store = subject().createStore();
    const reader = await store.open({ source, deployment: 'any', isReadOnly: true });
    expect(reader.isReadOnly).toBe(true);
    expect(await reader.tasks.read(['a'])).toEqual([taskOf('a')]);
    expect(await reader.lease.look()).toMatchObject({ isHeld: false });
    await store.close(reader);
    await expect(store.open({ source: 'absent', deployment: null, isReadOnly: true })).rejects.toMatchObject({
      code: 'source_missing',
    });
    await open({ source, deployment: 'first' });
  });
}
