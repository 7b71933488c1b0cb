import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { CONTEXT, historyOf, idsOf, orders, page, query, T0, taskOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const received = told({ type: 'received', time: T0, worker: W1, retries: 0 });
const started = told({ type: 'started', time: T0 + 100, worker: W1 });
const failed = told({ type: 'failed', time: T0 + 350, worker: W1, exception: 'ValueError()' });

describe('the run time of a task', () => {
  it('is that of the engine where it sends one', async () => {
    const succeeded = told({ type: 'succeeded', time: T0 + 350, worker: W1, runtime: 0.2 });
    for (const order of orders([received, started, succeeded])) {
      expect(await taskOf(order)).toMatchObject({ runtime: 0.2, runtimeSource: 'engine' });
    }
  });

  it('is derived from start and end where the engine sends none', async () => {
    for (const order of orders([received, started, failed])) {
      expect(await taskOf(order)).toMatchObject({ runtime: 0.25, runtimeSource: 'derived' });
    }
    const stored = told({ type: 'failed', time: T0 + 200, origin: 'result', stored: true });
    expect(await taskOf([received, started, stored])).toMatchObject({
      runtime: 0.1,
      runtimeSource: 'derived',
    });
  });

  it('is not known where the start is not, or only by another clock', async () => {
    const published = told({ type: 'started', time: null, origin: 'result', worker: W1 });
    for (const known of [[failed], [received, failed], [published, failed], [received, started]]) {
      expect(await taskOf(known)).toMatchObject({ runtime: null, runtimeSource: null });
    }
  });

  it('is that of the last run, not of one that ended before', async () => {
    const succeeded = told({ type: 'succeeded', time: T0 + 350, worker: W1, runtime: 0.2 });
    const again = { ...received, time: T0 + 1_000 };
    const restarted = { ...started, time: T0 + 1_100 };
    for (const order of orders([received, started, succeeded, again, restarted])) {
      expect(await taskOf(order)).toMatchObject({ state: 'STARTED', runtime: null });
      const end = told({ type: 'failed', time: T0 + 1_600, worker: W1 });
      expect(await taskOf([...order, end])).toMatchObject({ runtime: 0.5, runtimeSource: 'derived' });
      expect(await taskOf([end, ...order])).toMatchObject({ runtime: 0.5, runtimeSource: 'derived' });
    }
  });

  it('is kept of a job that failed', async () => {
    const queue = memorySources();
    queue.record({ id: 'a', state: 'FAILURE', runtime: 1.5 });
    const task = await queue.tasks.getTask('a', CONTEXT);
    expect(task).toMatchObject({ state: 'FAILURE', runtime: 1.5, runtimeSource: 'engine' });
    queue.close();
  });

  it('sorts tasks that failed among the others', async () => {
    const history = historyOf([
      ...[received, started, failed],
      ...[received, started].map((change) => ({ ...change, id: 'b' })),
      told({ id: 'b', type: 'succeeded', time: T0 + 400, worker: W1, runtime: 0.1 }),
    ]);
    const { tasks } = await page(history, { sort: 'runtime', order: 'desc' });
    expect(tasks.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('a task that has started', () => {
  it.each([
    [349, T0 + 349],
    [350, T0 + 350],
    [351, null],
  ])(
    "has started when the backend's STARTED arrived, unless it had ended: after %d ms",
    async (ms, shown) => {
      const published = told({ type: 'started', time: null, heardAt: T0 + ms, origin: 'result', worker: W1 });
      for (const order of orders([received, published, failed])) {
        const { state, started: start } = await taskOf(order);
        expect([state, start]).toEqual(['FAILURE', shown === null ? null : new Date(shown)]);
      }
    },
  );

  it('has started when its worker says so, though the clock of the backend dates its end before', async () => {
    const stored = told({ type: 'failed', time: T0 + 50, origin: 'result' });
    for (const order of orders([received, started, stored])) {
      expect(await taskOf(order)).toMatchObject({
        started: new Date(T0 + 100),
        finished: new Date(T0 + 50),
        runtime: null,
      });
    }
  });

  it('waits since it was sent, in its last attempt', async () => {
    const sent = told({ type: 'sent', time: T0 - 400, retries: 0 });
    expect(await taskOf([sent, received, started])).toMatchObject({ waitSeconds: 0.5 });
    const retry = [
      told({ type: 'sent', time: T0 + 290, retries: 1 }),
      told({ type: 'retried', time: T0 + 300, worker: W1 }),
      told({ type: 'received', time: T0 + 310, worker: W1, retries: 1 }),
    ];
    const restarted = told({ type: 'started', time: T0 + 330, worker: W1 });
    expect(await taskOf([sent, received, started, ...retry])).toMatchObject({ waitSeconds: null });
    expect(await taskOf([sent, received, started, ...retry, restarted])).toMatchObject({ waitSeconds: 0.04 });
    // Where its own message is not known, since it was received.
    const [, retried, again] = retry;
    expect(await taskOf([sent, received, started, retried, again, restarted] as typeof retry)).toMatchObject({
      waitSeconds: 0.02,
    });
  });

  it('waits since it was sent, also if it was delivered again', async () => {
    const worker = 'w1@alpha';
    const delivery = (at: number) => [
      told({ type: 'received', time: T0 + at, worker, retries: 0 }),
      told({ type: 'started', time: T0 + at + 10, worker }),
    ];
    const sent = told({ type: 'sent', time: T0, retries: 0 });
    expect(await taskOf([sent, ...delivery(20), ...delivery(4_990)])).toMatchObject({ waitSeconds: 5 });
  });

  it('does not wait before its eta, and its name has the same wait in statistics', async () => {
    const sent = told({ type: 'sent', time: T0 - 600_000, retries: 0, name: 'lab.later', eta: T0 + 60 });
    const history = historyOf([sent, { ...received, name: 'lab.later', eta: T0 + 60 }, started]);
    expect(await history.reader.getTask('a', CONTEXT)).toMatchObject({ waitSeconds: 0.04 });
    const stats = await history.reader.getTaskStats(
      { minutes: 60, now: new Date(T0 + 60_000), filter: query({}) },
      CONTEXT,
    );
    expect(stats.names).toMatchObject([{ name: 'lab.later', waitP50: 0.04, waitP95: 0.04 }]);
  });
});

describe('a task of which only results are known', () => {
  it('has no number of retries, unless one of them carried it', async () => {
    const stored = told({ type: 'succeeded', time: T0, origin: 'result', stored: true });
    expect(await taskOf([stored])).toMatchObject({ state: 'SUCCESS', retries: null });
    expect((await taskOf([stored])).timeline).toMatchObject([{ state: 'SUCCESS', retries: null }]);
    expect(await taskOf([{ ...stored, retries: 0 }])).toMatchObject({ retries: 0 });
  });

  it('has the number that messages carried where a worker without events took part', async () => {
    const of = (type: 'started' | 'retried', worker: string) =>
      told({ type, time: null, origin: 'result', worker });
    const quiet = 'quiet@gamma';
    const changes = [
      ...[
        received,
        started,
        of('started', W1),
        of('retried', W1),
        { ...started, type: 'retried' as const, time: T0 + 200 },
      ],
      ...[of('started', quiet), of('retried', quiet), of('started', quiet), of('retried', quiet)],
      told({ type: 'received', time: T0 + 900, worker: W1, retries: 2 }),
      told({ type: 'started', time: T0 + 910, worker: W1 }),
      told({ type: 'succeeded', time: T0 + 920, worker: W1 }),
    ];
    expect(await taskOf(changes)).toMatchObject({ state: 'SUCCESS', retries: 2 });
  });
});

describe('a task that waits for its retry', () => {
  const waiting = [
    ...[received, started],
    told({ type: 'retried', time: T0 + 200, worker: W1 }),
    told({ type: 'received', time: T0 + 210, worker: W1, retries: 1, eta: T0 + 30_000 }),
  ];

  it('is found by its state, counted, and overdue once its eta has passed', async () => {
    let now = T0 + 1_000;
    // Without workers, whose silence changes answers, too.
    const history = historyOf(
      waiting.map((change) => ({ ...change, worker: null })),
      { now: () => now },
    );
    expect((await page(history, { states: ['RETRY'] })).tasks).toMatchObject([{ id: 'a', flags: [] }]);
    expect(history.reader.freshness('tasks').changesAt).toEqual(new Date(T0 + 30_000));
    now = T0 + 30_001;
    expect((await page(history, { states: ['RETRY'] })).tasks).toMatchObject([{ flags: ['overdue'] }]);
    expect((await page(history, { states: ['RECEIVED'] })).tasks).toEqual([]);
  });

  it('is lost with the worker that has it, and not with the one that had it before', async () => {
    let now = T0 + 1_000;
    const flagsOf = async (changes: typeof waiting) => {
      now = T0 + 1_000;
      const history = historyOf([], { now: () => now });
      history.writer.recordWorker({ type: 'online', hostname: W1, time: T0, interval: 2 });
      for (const change of changes) history.writer.recordTask(change);
      now += 20_000_000;
      const { tasks } = await page(history);
      return tasks[0]?.flags;
    };
    expect(await flagsOf(waiting)).toEqual(['worker_lost', 'overdue']);
    expect(await flagsOf(waiting.slice(0, 3))).toEqual([]);
    const runs = [...waiting, told({ type: 'started', time: T0 + 215, worker: W1 })];
    // Its next attempt started before the retry was reported.
    expect(
      await flagsOf([
        ...runs.slice(0, 2),
        runs[3],
        runs[4],
        { ...runs[2], time: T0 + 220 },
      ] as typeof waiting),
    ).toEqual(['worker_lost']);
  });
});

const FAR = Date.UTC(2999, 0, 1);
const DAY = 86_400_000;
/** The time of arrival. */
const NOW = T0 + 60_000;

describe('what cannot be true', () => {
  it('does not stay on top of a list: a time far ahead counts as not reported', async () => {
    const history = historyOf([
      told({ id: 'far', type: 'succeeded', time: FAR }),
      told({ id: 'later', type: 'succeeded', time: NOW + 1 }),
      told({ id: 'ahead', type: 'succeeded', time: NOW + DAY - 1 }),
    ]);
    const { tasks } = await page(history);
    expect(idsOf(tasks)).toEqual(['ahead', 'later', 'far']);
    expect(tasks[2]?.timestamp).toEqual(new Date(NOW));
    const { events } = await history.reader.listEvents(
      { limit: 10, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
    expect(Math.max(...events.map(({ timestamp }) => Number(timestamp)))).toBeLessThan(NOW + DAY);
  });

  it.each([-5, Number.NaN, Number.POSITIVE_INFINITY, 1e12])(
    'a run time of %d s is left out',
    async (runtime) => {
      const history = historyOf([
        told({ id: 'odd', type: 'succeeded', runtime }),
        told({ id: 'plain', type: 'succeeded', runtime: 3 }),
      ]);
      for (const order of ['asc', 'desc'] as const) {
        const { tasks } = await page(history, { sort: 'runtime', order });
        expect(tasks.map((task) => [task.id, task.runtime])).toEqual([
          ['plain', 3],
          ['odd', null],
        ]);
      }
    },
  );

  it('leaves a worker that once dated a heartbeat far ahead its later ones', async () => {
    const history = historyOf([]);
    const heartbeat = { hostname: 'w@h', type: 'heartbeat', interval: 2 } as const;
    history.writer.recordWorker({ ...heartbeat, time: FAR, active: 1 });
    history.writer.recordWorker({ ...heartbeat, time: NOW + 2_000, active: 2 });
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([{ hostname: 'w@h', active: 2 }]);
  });
});
