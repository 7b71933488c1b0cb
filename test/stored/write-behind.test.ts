import { describe, expect, it, vi } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { createRedactor } from '../../src/redact.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { AT_ONCE, instanceOf, runTask, sendTask, taskIn, untilReady, untilWritten } from './instances.ts';

const WAIT = { timeout: 30_000, interval: 10 };

/** A store whose calls fail while `isAway`. */
function failingStore(): ArrayStore & { isAway: boolean } {
  const store = Object.assign(createArrayStore(), { isAway: false });
  store.before = () => {
    if (store.isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  return store;
}

const idsIn = (store: ArrayStore): string[] =>
  [...store.rows('celery').tasks.values()].map(({ id }) => id).sort();

/** A task as an instance shows it that has heard nothing. */
async function stored(store: ArrayStore, id: string) {
  const reader = instanceOf({ store, hearing: 'nothing', isReadOnly: true });
  await untilReady(reader);
  return await taskIn(reader, id);
}

describe('writing behind', () => {
  it('writes what has changed, with columns to filter by', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    runTask(history, 'a', 1_000_000);
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a']), WAIT);
    const [task] = store.rows('celery').tasks.values();
    expect(task).toMatchObject({
      ...{ id: 'a', version: 1, state: 'SUCCESS', name: 'mail.send', worker: 'celery@one', isOpen: false },
      ...{ timestamp: 1_000_003, received: 1_000_001, started: 1_000_002, finished: 1_000_003 },
    });
    expect((await stored(store, 'a'))?.timeline).toHaveLength(4);
    const settled = { waiting: 0, waitingSince: null, lost: 0, error: null };
    await vi.waitFor(() => expect(history.status()).toMatchObject(settled), WAIT);
  });

  it('writes a task again when it changes, over the version before', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    sendTask(history, 'a');
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a']), WAIT);
    runTask(history, 'a');
    await vi.waitFor(
      () =>
        expect([...store.rows('celery').tasks.values()]).toMatchObject([{ version: 2, state: 'SUCCESS' }]),
      WAIT,
    );
  });

  it('merges what another instance wrote, even while the write is under way', async () => {
    const store = createArrayStore();
    const [one, other] = [instanceOf({ store, hearing: 'part' }), instanceOf({ store, hearing: 'part' })];
    const time = Date.now();
    await vi.waitFor(
      () => expect([one, other].map((each) => each.status().phase)).toEqual(['ready', 'ready']),
      WAIT,
    );
    one.writer.recordTask({ id: 'a', type: 'sent', time, origin: 'event', name: 'mail.send' });
    other.writer.recordTask({ id: 'a', type: 'started', time: time + 5, origin: 'event', worker: 'w' });
    await vi.waitFor(async () => {
      const states = (await stored(store, 'a'))?.timeline?.map(({ state }) => state);
      expect(states).toEqual(['PENDING', 'STARTED']);
    }, WAIT);
    expect(store.rows('celery').tasks.size).toBe(1);
  });

  it('keeps what has changed while the database is away, and writes it at once when it is back', async () => {
    const store = failingStore();
    const history = instanceOf({ store });
    runTask(history, 'a');
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a']), WAIT);
    store.isAway = true;
    runTask(history, 'b');
    await vi.waitFor(() => {
      expect(history.status()).toMatchObject({
        error: 'connect ECONNREFUSED',
        code: 'ECONNREFUSED',
        waiting: 1,
      });
    }, WAIT);
    expect(history.status().waitingSince).not.toBeNull();
    store.isAway = false;
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a', 'b']), WAIT);
    await vi.waitFor(
      () => expect(history.status()).toMatchObject({ error: null, waiting: 0, lost: 0 }),
      WAIT,
    );
  });

  it('loses nothing of a task that is loaded while it is written and goes on', async () => {
    const store = createArrayStore();
    const first = instanceOf({ store });
    sendTask(first, 'a', 1_000);
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a']), WAIT);
    await first.close();
    const now = { isWriting: false, mayLoad: false, mayWrite: false };
    store.before = (call) => {
      if (call === 'tasks.records') return until(() => now.mayLoad);
      if (call !== 'tasks.write') return null;
      now.isWriting = true;
      return until(() => now.mayWrite);
    };
    const history = instanceOf({ store }, {}, AT_ONCE);
    const tell = (type: 'received' | 'started', time: number): void =>
      history.writer.recordTask({ id: 'a', type, time, origin: 'event', worker: 'w' });
    tell('received', 1_001);
    await vi.waitFor(() => expect(now.isWriting).toBe(true), WAIT);
    tell('started', 1_002);
    now.mayLoad = true;
    await untilReady(history);
    now.mayWrite = true;
    await untilWritten(history);
    const states = (await stored(store, 'a'))?.timeline?.map(({ state }) => state);
    expect(states).toEqual(['PENDING', 'RECEIVED', 'STARTED']);
  });

  it('keeps how tasks went on while the store is away for longer than it remembers what each was told', async () => {
    const store = failingStore();
    const first = instanceOf({ store });
    sendTask(first, 'early');
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['early']), WAIT);
    await first.close();
    const keep = { maxEvents: 30_000 };
    const history = instanceOf({ store, hearing: 'part' }, keep, AT_ONCE);
    await untilReady(history);
    store.isAway = true;
    const time = Date.now() + 5;
    const end = (id: string) =>
      history.writer.recordTask({ id, type: 'succeeded', time, origin: 'result', result: '1' });
    const many = Array.from({ length: 20_000 }, (_, n) => `late-${n}`);
    for (const id of ['early', ...many]) end(id);
    store.isAway = false;
    // The beginning of 'early' is lost, its end is not; the others have no earlier part.
    await vi.waitFor(() => expect(history.status()).toMatchObject({ waiting: 0, lost: 1 }), WAIT);
    expect(await stored(store, 'early')).toMatchObject({ state: 'SUCCESS', result: '1' });
    expect(idsIn(store)).toHaveLength(20_001);
  });

  it('writes a batch again whose commit succeeded and whose answer was lost', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    let failures = 0;
    store.after = (call) => {
      if (call === 'tasks.write' && failures++ === 0) throw new Error('Connection terminated');
    };
    runTask(history, 'a');
    await vi.waitFor(() => expect(failures).toBeGreaterThan(1), WAIT);
    await vi.waitFor(() => expect(history.status()).toMatchObject({ waiting: 0, lost: 0 }), WAIT);
    expect((await stored(store, 'a'))?.timeline).toHaveLength(4);
  });

  it('loses no task that memory drops while its batch is written in vain', async () => {
    const store = failingStore();
    const history = instanceOf({ store }, { maxTasks: 2 });
    const time = Date.now();
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    let failed = 0;
    store.before = (call) => {
      if (call !== 'tasks.write' || failed++ > 0) return;
      // Memory holds two tasks only, so that these drop the ones of the batch.
      for (let at = 0; at < 4; at++) runTask(history, `b${at}`, time + 10 + at);
      history.index.listOpen(1);
      throw new Error('Connection terminated');
    };
    runTask(history, 'a0', time);
    runTask(history, 'a1', time + 1);
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a0', 'a1', 'b0', 'b1', 'b2', 'b3']), WAIT);
    expect(history.status().lost).toBe(0);
  });

  it('writes no secret', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store }, { redactor: createRedactor() });
    history.writer.recordTask({
      ...{ id: 'a', type: 'failed', time: Date.now(), origin: 'event' },
      ...{ kwargs: "{'password': 'hunter2'}", exception: 'KeyError', detail: "password='hunter2'" },
    });
    await vi.waitFor(() => expect(store.rows('celery').chunks).toHaveLength(1), WAIT);
    const { tasks, chunks, texts } = store.rows('celery');
    expect(JSON.stringify([[...tasks.values()], chunks, [...texts.values()]])).not.toContain('hunter2');
    expect(tasks.size).toBe(1);
  });

  it('never writes to a store that is read only', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store, isReadOnly: true });
    runTask(history, 'a');
    await vi.waitFor(() => expect(history.status().phase).toBe('ready'), WAIT);
    // A writer that was told later has written.
    const writer = instanceOf({ store });
    runTask(writer, 'b');
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['b']), WAIT);
    await writer.close();
    store.calls.length = 0;
    await history.close();
    expect(store.calls.filter((call) => /write|append|acquire/.test(call))).toEqual([]);
    expect(history.isHolder()).toBe(false);
  });

  it('writes what is left when it is closed, and gives the lease back', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    runTask(history, 'a');
    await history.close();
    expect(idsIn(store)).toEqual(['a']);
    expect(store.rows('celery').lease).toBeNull();
    expect(store.openSessions).toBe(0);
  });

  it.each(['all', 'part'] as const)(
    'writes what it heard before it was open, if it hears %s',
    async (hearing) => {
      const store = createArrayStore();
      const history = instanceOf({ store, hearing });
      sendTask(history, 'a');
      await history.close();
      expect(idsIn(store)).toEqual(['a']);
      expect(store.openSessions).toBe(0);
      expect(store.rows('celery').lease).toBeNull();
    },
  );

  it('closes all the same if the store cannot be opened', async () => {
    const store = failingStore();
    store.isAway = true;
    const history = instanceOf({ store, hearing: 'part' });
    sendTask(history, 'a');
    await history.close();
    expect(history.reader.isClosed()).toBe(true);
    expect(store.calls).toEqual(['open']);
  });

  it('closes within 2 seconds when the database does not answer', async () => {
    const store = createArrayStore();
    const history = instanceOf({ store });
    await vi.waitFor(() => expect(history.isHolder()).toBe(true), WAIT);
    store.before = () => new Promise(() => {});
    runTask(history, 'a');
    const begin = performance.now();
    await history.close();
    expect(performance.now() - begin).toBeLessThan(20_000);
  });
});

describe('a start', () => {
  it('loads tasks, relations, workers and the feed, and goes on with late messages', async () => {
    const store = createArrayStore();
    const before = instanceOf({ store });
    runTask(before, 'a');
    sendTask(before, 'b');
    before.writer.recordWorker({ type: 'heartbeat', hostname: 'celery@one', time: Date.now(), pid: 7 });
    before.writer.recordRelation({ parent: 'a', child: 'b', relation: 'chain' });
    await vi.waitFor(() => expect(before.isHolder()).toBe(true), WAIT);
    await before.close();

    const after = instanceOf({ store });
    await vi.waitFor(() => expect(after.status().phase).toBe('ready'), WAIT);
    expect(await taskIn(after, 'a')).toMatchObject({ state: 'SUCCESS', name: 'mail.send', args: "('x',)" });
    const workers = await after.reader.listWorkers({ signal: new AbortController().signal });
    expect(workers).toMatchObject([{ hostname: 'celery@one', pid: 7 }]);
    after.writer.recordTask({ id: 'b', type: 'started', time: Date.now(), origin: 'event', worker: 'w' });
    expect(await taskIn(after, 'b')).toMatchObject({ state: 'STARTED', name: 'mail.send' });
    const tree = await after.reader.getTaskTree('a', { signal: new AbortController().signal });
    expect(tree?.tasks.map(({ id }) => id).sort()).toEqual(['a', 'b']);
    await vi.waitFor(
      () =>
        expect(store.rows('celery').tasks.get([...store.rows('celery').tasks.keys()][1] ?? '')).toBeDefined(),
      WAIT,
    );
  });

  it('reads texts that a list has cut in full', async () => {
    const store = createArrayStore();
    const before = instanceOf({ store });
    const result = 'x'.repeat(10_000);
    before.writer.recordTask({ id: 'a', type: 'succeeded', time: Date.now(), origin: 'event', result });
    await vi.waitFor(() => expect(before.isHolder()).toBe(true), WAIT);
    await before.close();
    const after = instanceOf({ store });
    await vi.waitFor(() => expect(after.status().phase).toBe('ready'), WAIT);
    expect((await taskIn(after, 'a'))?.result).toBe(result);
  });

  it('leaves out a task that the database refuses, and writes the others', async () => {
    const store = createArrayStore();
    const { open } = store;
    const refusing: ArrayStore = {
      ...store,
      async open(opening) {
        const session = await open(opening);
        const { tasks } = session;
        const write: typeof tasks.write = async (given) => {
          if (!given.some(({ id }) => id === 'bad')) return tasks.write(given);
          throw Object.assign(new Error('It cannot be stored.'), { code: 'refused' });
        };
        return { ...session, tasks: { ...tasks, write } };
      },
    };
    const history = instanceOf({ store: refusing });
    for (const id of ['a', 'bad', 'c']) runTask(history, id);
    await vi.waitFor(() => expect(idsIn(store)).toEqual(['a', 'c']), WAIT);
    await vi.waitFor(
      () => expect(history.status()).toMatchObject({ waiting: 0, lost: 1, error: null }),
      WAIT,
    );
  });
});

const CONTEXT = { signal: new AbortController().signal };

describe('the clean-up', () => {
  /** Names of the calls of an instance, whose process is at the present time, until it has looked after the store. */
  async function callsWith(databaseAhead: number) {
    const store = createArrayStore();
    store.now = () => Date.now() + databaseAhead;
    const history = instanceOf({ store }, {}, { intervalMs: 5, leaseMs: 10_000, renewalMs: 1_000 });
    runTask(history, 'a');
    await vi.waitFor(() => expect(store.calls).toContain('rollups.add'), WAIT);
    await vi.waitFor(() => expect(history.status()).toMatchObject({ phase: 'ready', waiting: 0 }), WAIT);
    await vi.waitFor(() => expect(history.status().bytes).not.toBeNull(), WAIT);
    // The counts are folded after they were written.
    await history.close();
    const dropped = store.calls.filter((name) => name.endsWith('.dropBefore'));
    return { dropped: new Set(dropped), status: history.status() };
  }

  it('deletes what is old by one clock, and nothing while clocks differ by more than a day', async () => {
    const [minute, month] = [60_000, 30 * 86_400_000];
    const usual = await callsWith(minute);
    expect(usual.dropped).toEqual(new Set(['tasks.dropBefore', 'causes.dropBefore', 'rollups.dropBefore']));
    expect(usual.status.areClocksApart).toBe(false);
    for (const ahead of [month, -month]) {
      const { dropped, status } = await callsWith(ahead);
      expect([ahead, dropped]).toEqual([ahead, new Set()]);
      expect(status.areClocksApart).toBe(true);
    }
  });
});

describe('the component history.store', () => {
  it('shows how the store is doing, and what to do when it is away', async () => {
    const store = createArrayStore();
    let isAway = true;
    store.before = () => {
      const remedy = 'Check that the database runs.';
      if (isAway) throw Object.assign(new Error('refused'), { code: 'unreachable', remedy });
    };
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const sources = memorySources({ store });
    const read = async () => (await sources.components?.listComponents(CONTEXT))?.[0];
    await vi.waitFor(async () => {
      expect(await read()).toMatchObject({
        ...{ key: 'history.store', status: 'down' },
        config: {
          phase: 'opening',
          error: 'refused',
          code: 'unreachable',
          hints: ['Check that the database runs.'],
        },
      });
    }, WAIT);
    expect(warning).toHaveBeenCalledTimes(1);
    expect(warning.mock.calls[0]?.[0]).toContain("The store of source 'memory' cannot be opened: refused");
    warning.mockRestore();
    sources.record({ id: 'a', state: 'SUCCESS', timestamp: new Date() });
    isAway = false;
    await vi.waitFor(async () => {
      expect(await read()).toMatchObject({
        status: 'up',
        config: {
          engine: 'postgres',
          phase: 'ready',
          is_holder: true,
          waiting: 0,
          lost: 0,
          error: null,
          hints: [],
        },
      });
    }, WAIT);
    expect((await read())?.config).toMatchObject({ delay_seconds: 0, last_write: expect.any(String) });
    await sources.close();
    expect(memorySources().components).toBeUndefined();
  });

  it('refuses records of another version, and says so', async () => {
    const store = createArrayStore();
    const first = memorySources({ store });
    for (const id of ['a', 'b']) first.record({ id, state: 'SUCCESS', timestamp: new Date() });
    await first.close();
    const { tasks } = store.rows('memory');
    for (const [key, task] of tasks) {
      if (task.id === 'a') tasks.set(key, { ...task, record: task.record.replace('"v":2', '"v":1') });
    }
    const second = memorySources({ store });
    await vi.waitFor(async () => {
      const [component] = (await second.components?.listComponents(CONTEXT)) ?? [];
      expect(component?.config).toMatchObject({
        phase: 'ready',
        unreadable: 1,
        hints: [expect.stringContaining('Another version or another program has written')],
      });
    }, WAIT);
    await second.close();
  });
});
