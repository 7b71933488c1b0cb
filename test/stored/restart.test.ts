/** What a process knows that starts over a store, beside what it hears itself. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HistoryWriter, TaskChange, WorkerChange } from '../../src/history/history.ts';
import type { MemoryHistoryOptions } from '../../src/history/memory-history.ts';
import type { StoredHistory, StoredHistoryOptions } from '../../src/history/stored-history.ts';
import { createRedactor, type Redactor } from '../../src/redact.ts';
import { anyText } from '../helpers/any-text.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, historyOf, idsOf, query, T0, told } from '../history/telling.ts';
import { AT_ONCE, instanceOf, taskIn, untilReady, untilWritten } from './instances.ts';

const sent = told({ type: 'sent', name: 'lab.add', args: '(1,)', retries: 0, queue: 'celery' });
const started = told({ type: 'started', time: T0 + 10, worker: 'w1@a' });
const done = told({ type: 'succeeded', time: T0 + 20, worker: 'w1@a', result: '3', runtime: 0.01 });

/** An instance that only answers. */
const FOLLOWER = { hearing: 'nothing', isReadOnly: true } as const;

/** A store, a clock, and processes that use them one after the other. */
function lab(store: ArrayStore = createArrayStore()) {
  const clock = { now: T0 + 60_000 };
  store.now = () => clock.now;
  const start = async (
    memory: MemoryHistoryOptions = {},
    given: Partial<StoredHistoryOptions> = {},
  ): Promise<StoredHistory> => {
    const history = instanceOf({ store, ...given }, { now: () => clock.now, ...memory }, AT_ONCE);
    await untilReady(history);
    return history;
  };
  return {
    store,
    clock,
    start,
    /** Runs a process that is told something and ends. */
    async run(tell: (writer: HistoryWriter) => void, memory: MemoryHistoryOptions = {}) {
      const history = await start(memory);
      tell(history.writer);
      await untilWritten(history);
      await history.close();
    },
  };
}

const telling =
  (...changes: readonly TaskChange[]) =>
  (writer: HistoryWriter) => {
    for (const change of changes) writer.recordTask(change);
  };

/** Counts the texts that a redactor is given. */
function counting(): { readonly redactor: Redactor; readonly texts: string[] } {
  const own = createRedactor({});
  const texts: string[] = [];
  const text: Redactor['text'] = (...args) => {
    texts.push(args[0]);
    return own.text(...args);
  };
  return { redactor: { ...own, text }, texts };
}

describe('a task that was loaded', () => {
  it('is listed as it was, and is no event', async () => {
    const { run, start } = lab();
    await run(telling(sent, started, done));
    const { reader } = await start();
    const { tasks } = await reader.listTasks(query({ states: ['SUCCESS'], names: ['lab.add'] }), CONTEXT);
    expect(idsOf(tasks)).toEqual(['a']);
    expect(await reader.getStats(CONTEXT)).toMatchObject({ eventsReceived: 0, tasks: 1 });
  });

  it('is merged with what was heard before it was loaded, which is written', async () => {
    const { run, start, store } = lab();
    await run(telling(sent, started));
    const history = instanceOf({ store }, { now: () => T0 + 60_000 }, AT_ONCE);
    history.writer.recordTask(done);
    await untilWritten(history);
    await history.close();
    const after = await start();
    expect(await taskIn(after, 'a')).toEqual(
      await historyOf([sent, started, done]).reader.getTask('a', CONTEXT),
    );
  });

  it('keeps a root that followed from a task that is not known any more', async () => {
    const { run, start, store } = lab();
    const child = told({
      id: 'child',
      type: 'succeeded',
      origin: 'result',
      stored: true,
      parentId: 'p',
      time: T0 + 9,
    });
    await run(telling(told({ id: 'p', type: 'sent', rootId: 'top', parentId: 'q' }), child));
    const { tasks } = store.rows('celery');
    for (const [key, { id }] of tasks) if (id === 'p') tasks.delete(key);
    const { reader } = await start();
    const found = await reader.listTasks(query({ rootId: 'top' }), CONTEXT);
    expect(found.tasks).toMatchObject([{ id: 'child', rootId: 'top' }]);
  });

  it('is open like any other, after those that were heard of before', async () => {
    const { run, start, clock } = lab();
    clock.now = T0 + 10_000;
    await run(
      telling(
        { ...sent, id: 'old', time: T0 + 10_000 },
        { ...started, id: 'old', retries: 2, time: T0 + 10_000 },
      ),
    );
    clock.now = T0 + 20_000;
    await run(telling({ ...sent, id: 'new', time: T0 + 20_000 }, { ...done, id: 'done', time: T0 + 20_000 }));
    clock.now = T0 + 30_000;
    const { index, writer } = await start();
    writer.recordTask({ ...started, id: 'live', time: T0 + 30_000 });
    expect(index.listOpen(9).map(({ id }) => id)).toEqual(['old', 'new', 'live']);
    expect(index.retriesOf('old')).toBe(2);
    expect(index.sentAt('new')).toBe(T0 + 20_000);
    expect(index.openTask('old')).toMatchObject({ worker: 'w1@a', state: 'STARTED' });
    // Once it is looked at, it goes to the end; once it has ended, it is gone.
    writer.recordMissing('new', true);
    writer.recordTask({ ...done, id: 'old', time: T0 + 31_000 });
    expect(index.listOpen(9).map(({ id }) => id)).toEqual(['live', 'new']);
  });

  it('is not lost before its worker had time to be heard', async () => {
    const { run, start, clock, store } = lab();
    await run(telling(sent, started));
    store.rows('celery').texts.delete('history.workers');
    const after = await start();
    expect((await taskIn(after, 'a'))?.flags).toEqual([]);
    clock.now += 61_000;
    expect((await taskIn(after, 'a'))?.flags).toEqual(['worker_lost']);
  });

  it('is redacted once, by the process that has heard it', async () => {
    const { run, start } = lab();
    const { redactor, texts } = counting();
    const failed = told({
      type: 'failed',
      time: T0 + 20,
      exception: 'password=abc',
      traceback: 'key=hunter2',
    });
    await run(telling({ ...sent, args: "password='x'" }, failed), { redactor });
    expect(texts).not.toEqual([]);
    texts.length = 0;
    const after = await start({ redactor });
    const task = await taskIn(after, 'a');
    expect(task).toMatchObject({ redacted: true, exception: 'password=***' });
    expect(texts).toEqual([]);
  });

  it("has stamps to which the host's redaction was applied once", async () => {
    const redactor = createRedactor((text) => `<${text}>`);
    const shown = { stamps: '<{"tenant":"acme"}>', redacted: true };
    const { start } = lab();
    const before = await start({ redactor });
    for (const change of [{ ...sent, stamps: { tenant: 'acme' } }, started, done]) {
      before.writer.recordTask(change);
      expect(await taskIn(before, 'a')).toMatchObject(shown);
      expect(await taskIn(before, 'a')).toMatchObject(shown);
    }
    await untilWritten(before);
    await before.close();
    for (const given of [{}, FOLLOWER]) {
      expect(await taskIn(await start({ redactor }, given), 'a')).toMatchObject(shown);
    }
  });

  it('has stamps that are masked once, also while another instance writes and what was told since waits', async () => {
    const redactor = createRedactor((text) => `<${text}>`);
    const { run, start, store } = lab();
    await run(telling({ ...sent, stamps: { tenant: 'acme' } }), { redactor });
    await start({ redactor }, { hearing: 'part' });
    const other = await start({ redactor }, { hearing: 'part' });
    store.before = (call) => {
      if (call === 'tasks.write') throw new Error('away');
    };
    other.writer.recordTask(started);
    expect(await taskIn(other, 'a')).toMatchObject({ state: 'STARTED', stamps: '<{"tenant":"acme"}>' });
  });

  it('is still known to be in no queue and on no worker', async () => {
    const { run, start } = lab();
    await run((writer) => {
      writer.recordTask(sent);
      writer.recordMissing('a', true);
    });
    for (const given of [{}, FOLLOWER]) {
      expect((await taskIn(await start({}, given), 'a'))?.flags).toEqual(['never_received']);
    }
  });

  it('has long texts whole, also when an instance that holds the beginning only has changed it', async () => {
    const { run, start } = lab();
    const long = 'x'.repeat(3_000);
    const small = { maxValueLength: 2_000 };
    await run(telling({ ...sent, args: long, kwargs: long }, done));
    // Whoever has heard the beginning only does not take the rest away.
    await run(telling(told({ type: 'retried', time: T0 + 30, worker: 'w1@a' })), small);
    expect(await taskIn(await start(), 'a')).toMatchObject({ truncated: [], args: long, kwargs: long });
  });
});

describe('a task that memory drops before it is written', () => {
  const LONG = `password='secret-1' ${'x'.repeat(3_000)}`;
  const failed = told({
    type: 'failed',
    time: T0 + 20,
    exception: 'password=secret-2',
    traceback: 'token=secret-3',
  });
  const LIVES: readonly (readonly TaskChange[])[] = [
    [sent, started, done],
    [
      { ...sent, args: LONG, kwargs: '{"token": "secret-4"}', rootId: 'r', parentId: 'p', groupId: 'g' },
      failed,
    ],
    [
      { ...sent, stamps: { password: 'secret-5' }, truncated: ['args'] },
      { ...failed, detail: 'pwd=secret-6' },
    ],
    [{ ...sent, kwargs: "password='x'" }, told({ type: 'custom', state: 'P', detail: 'token=secret-7' })],
  ];
  const changes = LIVES.flatMap((life, n) => life.map((change) => ({ ...change, id: `t${n}` })));

  it.each([{}, { maxValueLength: 2_000 }, { maxValueBytes: 0 }])(
    'is what it was before, without secrets: %o',
    async (bounds) => {
      const redactor = createRedactor({});
      const whole = historyOf(changes, { redactor, ...bounds });
      const { store, start } = lab();
      const history = await start({ redactor, maxTasks: 1, ...bounds });
      await until(() => history.isHolder());
      let isAway = true;
      store.before = (call) => {
        if (isAway && call === 'tasks.write') throw new Error('away');
      };
      for (const [n, life] of LIVES.entries()) {
        telling(...life.map((change) => ({ ...change, id: `t${n}` })))(history.writer);
        // It looks for what is beyond the bound.
        history.index.listOpen(1);
      }
      const shown = async (from: StoredHistory) =>
        await Promise.all(LIVES.map((_, n) => taskIn(from, `t${n}`)));
      const expected = await Promise.all(LIVES.map((_, n) => whole.reader.getTask(`t${n}`, CONTEXT)));
      expect(await shown(history)).toEqual(expected);
      isAway = false;
      // The store answers again.
      await history.reader.getTask('nobody', CONTEXT);
      await untilWritten(history);
      expect(history.status().lost).toBe(0);
      await history.close();
      const { tasks, chunks } = store.rows('celery');
      expect(JSON.stringify([[...tasks.values()], chunks])).not.toContain('secret-');
      expect(await shown(await start({ redactor }))).toEqual(expected);
    },
  );
});

describe('a record in a store', () => {
  /** Any text that a message may have brought, half characters and NUL included. */
  const text = fc.oneof(
    anyText(),
    fc.constantFrom(
      '\0',
      '\ud800',
      '\udc00x',
      '__proto__',
      "'; DROP TABLE task; --",
      '"}',
      '😀'.repeat(1_500),
    ),
    anyText({ minLength: 2_040, maxLength: 2_060 }),
  );
  const stamps = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(fc.bigInt(), fc.double(), text, fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.constantFrom('~', '__proto__', 'a'), text), tie('value'), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
    ),
  })).value;
  const texts = fc.record({
    ...{ args: text, kwargs: text, exception: text, traceback: text, detail: text },
    ...{ name: text, queue: text, parentId: text, rootId: text, groupId: text, chordId: text },
    stamps: fc.dictionary(fc.string(), stamps, { maxKeys: 2 }),
  });

  it('survives whatever texts it has, and is stored without half characters and NUL', async () => {
    const given = fc.sample(texts, { seed: 4, numRuns: 150 });
    const changes = given.flatMap(({ exception, traceback, detail, ...message }, n) => [
      told({ id: `t${n}`, type: 'received', retries: 0, worker: 'w1@a', ...message }),
      told({ id: `t${n}`, type: 'failed', time: T0 + 1, worker: 'w1@a', exception, traceback, detail }),
    ]);
    const { run, start, store } = lab();
    await run(telling(...changes));
    const [whole, after] = [historyOf(changes), await start()];
    for (const n of given.keys()) {
      expect(await taskIn(after, `t${n}`)).toEqual(await whole.reader.getTask(`t${n}`, CONTEXT));
    }
    for (const { record } of store.rows('celery').tasks.values()) {
      expect(record).not.toMatch(/\0/);
      expect(Buffer.from(record).toString()).toBe(record);
    }
  });

  it('keeps the cause that only the end of a long traceback tells', async () => {
    const { run, start } = lab();
    const traceback = `${'  File "/app/deep.py", line 1, in again\n'.repeat(80)}  File "/app/shop.py", line 7, in pay\nKeyError: 1`;
    await run(telling(told({ type: 'failed', exception: "KeyError('a')", traceback })));
    const after = await start({}, FOLLOWER);
    const [row] = (await after.reader.listTasks(query(), CONTEXT)).tasks;
    expect(row).toMatchObject({ truncated: ['traceback'], cause: { frame: 'shop.py in pay' } });
    expect(await taskIn(after, 'a')).toMatchObject({ traceback, cause: row?.cause });
  });

  it('that is broken or of another version changes nothing else', async () => {
    const { run, start, store } = lab();
    const broken = [
      '',
      'null',
      '[]',
      '{}',
      '{"v":99}',
      'no json',
      '{"v":2,"entries":[[99,1,0],7,null],"name":1}',
    ];
    await run(
      telling(
        ...['good', ...broken.keys()].map((id) => told({ id: `${id}`, type: 'sent', name: 'lab.add' })),
      ),
    );
    const { tasks } = store.rows('celery');
    for (const [key, task] of tasks) {
      const record = broken[Number(task.id)];
      if (record !== undefined) tasks.set(key, { ...task, record });
    }
    for (const given of [{}, FOLLOWER]) {
      const history = await start({}, given);
      const { tasks: listed } = await history.reader.listTasks(query(), CONTEXT);
      expect(idsOf(listed)).toContain('good');
      expect(await taskIn(history, 'good')).toMatchObject({ name: 'lab.add', state: 'PENDING' });
      await history.close();
    }
  });
});

describe('workers', () => {
  const beat = (more: Partial<WorkerChange> & Pick<WorkerChange, 'time'>): WorkerChange => ({
    hostname: 'w1@a',
    type: 'heartbeat',
    interval: 2,
    ...more,
  });
  const facts = { pid: 7, pool: 'prefork', queues: ['celery'], uptimeSeconds: 60, loadAverage: [1, 2, 3] };

  it('are shown by a process that hears nothing, with the status that time gives them', async () => {
    const { start, clock } = lab();
    const one = await start();
    one.writer.recordWorker(beat({ time: clock.now, ...facts }));
    const follower = await start({}, FOLLOWER);
    const worker = async (of: StoredHistory) => (await of.reader.listWorkers(CONTEXT))[0];
    await until(async () => (await worker(follower)) !== undefined);
    expect(await worker(follower)).toEqual(await worker(one));
    expect(await worker(follower)).toMatchObject({ status: 'online', pid: 7, queues: ['celery'] });
    clock.now += 7_000;
    expect((await worker(follower))?.status).toBe('stale');
    clock.now += 55_000;
    expect((await worker(follower))?.status).toBe('offline');
    expect((await follower.reader.checkWorkers(CONTEXT)).missing).toEqual(['w1@a']);
    // As workers do, it tells so again: each process notices by itself that the clock was set forward.
    await until(async () => {
      one.writer.recordWorker(beat({ time: clock.now, pid: 7, active: 3 }));
      return (await worker(follower))?.active === 3;
    });
    expect(await worker(follower)).toMatchObject({ status: 'online', pool: 'prefork' });
    await until(async () => {
      one.writer.recordWorker(beat({ time: clock.now, type: 'offline' }));
      return (await worker(follower))?.status === 'offline';
    });
    expect((await follower.reader.checkWorkers(CONTEXT)).missing).toEqual([]);
  });

  it('that were heard since they were stored have what is newer, and none of the facts of an earlier process', async () => {
    const { run, store, clock } = lab();
    await run((writer) => {
      writer.recordWorker(beat({ time: clock.now, active: 1, ...facts }));
      writer.recordWorker(
        beat({ hostname: 'w2@b', time: clock.now, pid: 5, pool: 'prefork', processed: 90 }),
      );
    });
    clock.now += 5_000;
    const after = instanceOf({ store }, { now: () => clock.now }, AT_ONCE);
    after.writer.recordWorker(beat({ time: clock.now, active: 2, pid: 7 }));
    after.writer.recordWorker(
      beat({ hostname: 'w2@b', type: 'online', time: clock.now, pid: 6, processed: 0 }),
    );
    await untilReady(after);
    expect(await after.reader.listWorkers(CONTEXT)).toMatchObject([
      { hostname: 'w1@a', active: 2, pool: 'prefork', lastHeartbeat: new Date(clock.now) },
      { hostname: 'w2@b', pid: 6, pool: null, processed: 0 },
    ]);
  });
});

describe('the feed', () => {
  const hear = ({ writer }: StoredHistory, clock: { now: number }, ...ids: string[]) => {
    for (const id of ids) {
      clock.now += 1_000;
      writer.recordTask(told({ id, type: 'sent', time: clock.now }));
    }
  };
  const read = async ({ reader }: StoredHistory, cursor?: string) =>
    await reader.listEvents(
      { limit: 50, since: cursor === undefined ? null : { cursor }, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
  const idsIn = ({ events }: Awaited<ReturnType<typeof read>>) =>
    events.map(({ taskId }) => taskId).reverse();

  it('goes on after a restart behind the item of a cursor, each once and under its id', async () => {
    const { start, clock } = lab();
    const before = await start();
    hear(before, clock, 'a', 'b');
    const { cursor } = await read(before);
    hear(before, clock, 'c');
    const shown = await read(before);
    await untilWritten(before);
    await before.close();
    const after = await start();
    hear(after, clock, 'd');
    expect(idsIn(await read(after, cursor))).toEqual(['c', 'd']);
    const named = ({ events }: typeof shown) => events.map(({ id, taskId }) => [id, taskId]);
    expect(named(await read(after)).slice(1)).toEqual(named(shown));
  });

  it('says that something was missed while nobody listened, and not while another one did', async () => {
    const { start, clock } = lab();
    const before = await start();
    hear(before, clock, 'a');
    const { cursor } = await read(before);
    await untilWritten(before);
    await before.close();
    clock.now += 3_600_000;
    const after = await start();
    expect((await read(after, cursor)).gap).toBe(true);
    const follower = await start({}, FOLLOWER);
    hear(after, clock, 'x');
    await until(async () => idsIn(await read(follower)).includes('x'));
    const later = await read(follower);
    hear(after, clock, 'y');
    await until(async () => idsIn(await read(follower)).includes('y'));
    const last = await read(follower, later.cursor);
    expect([idsIn(last), last.gap]).toEqual([['y'], false]);
  });

  it('answers a cursor that was made up with what it has, and a gap', async () => {
    const { start, clock } = lab();
    const history = await start();
    hear(history, clock, 'a', 'b');
    const { cursor } = await read(history);
    expect(cursor.length).toBeLessThanOrEqual(120);
    expect(await read(history, cursor)).toMatchObject({ events: [], gap: false });
    for (const made of ['', '.', '...', 'x', `${cursor}x`, `x${cursor}`, 'y'.repeat(200), '\0', '💥']) {
      const found = await read(history, made);
      expect([made, found.gap, found.events.length]).toEqual([made, true, 2]);
    }
  });
});
