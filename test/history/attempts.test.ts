/**
 * The attempts of a task overlap in what workers report (PROTOCOL: "Retries overlap"). Each sequence here is
 * what Celery published, with what its AsyncResult said at that time.
 */
import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { inAnyOrder, randomOf } from '../helpers/celery-recordings.ts';
import { CONTEXT, historyOf, orders, query, T0, taskOf, tasksOf, told } from './telling.ts';

const W1 = 'w1@alpha';
const W2 = 'w2@beta';
const ORDERS = 80;

type Message = readonly [what: string, state: string, fields?: Partial<TaskChange>];

/** Messages at moments of their own, 3 ms apart; `received(1)` has the number 1. */
function sequence(messages: readonly Message[]): TaskChange[] {
  return messages.map(([what, , fields], at) => {
    const [, type, number] = /^(\w+)(?:\((\d)\))?$/.exec(what) as unknown as [
      string,
      TaskChange['type'],
      string?,
    ];
    const worker = type === 'sent' ? {} : { worker: W1 };
    const retries = number === undefined ? {} : { retries: Number(number) };
    return told({ type, time: T0 + at * 3, ...worker, ...retries, ...fields });
  });
}

const OVERLAPPING: readonly Message[] = [
  ['received(0)', 'RECEIVED'],
  ['started', 'STARTED'],
  ['received(1)', 'RETRY'],
  ['started', 'STARTED'],
  ['retried', 'STARTED'],
  ['received(2)', 'RETRY'],
  ['started', 'STARTED'],
  ['retried', 'STARTED'],
  ['succeeded', 'SUCCESS', { runtime: 0.1, result: '1' }],
];

const CASES: Readonly<Record<string, readonly Message[]>> = {
  'a prefork pool reports': OVERLAPPING,
  'a thread pool reports': [
    ...OVERLAPPING.slice(0, 7),
    ['succeeded', 'SUCCESS', { runtime: 0.1 }],
    ['retried', 'SUCCESS'],
    ['retried', 'SUCCESS'],
  ],
  'is sent with events': [
    ['sent(0)', 'PENDING'],
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['sent(1)', 'RETRY'],
    ['received(1)', 'RETRY'],
    ['started', 'STARTED'],
    ['retried', 'STARTED'],
    ['sent(2)', 'RETRY'],
    ['retried', 'RETRY'],
    ['received(2)', 'RETRY'],
    ['started', 'STARTED'],
    ['failed', 'FAILURE', { exception: 'ValueError()' }],
  ],
  'waits for its eta': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['retried', 'RETRY'],
    ['received(1)', 'RETRY', { eta: T0 + 30_000 }],
    ['started', 'STARTED', { time: T0 + 30_000 }],
    ['succeeded', 'SUCCESS', { time: T0 + 31_000 }],
  ],
  'goes on at another worker': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['received(1)', 'RETRY', { worker: W2 }],
    ['started', 'STARTED', { worker: W2 }],
    ['retried', 'STARTED'],
    ['retried', 'RETRY', { worker: W2 }],
    ['received(2)', 'RETRY'],
    ['started', 'STARTED'],
    ['succeeded', 'SUCCESS'],
  ],
  'is revoked while it waits for its retry': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['retried', 'RETRY'],
    ['received(1)', 'RETRY'],
    ['revoked', 'REVOKED'],
  ],
  'is delivered again after its worker was killed': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['received(0)', 'RECEIVED', { worker: W2 }],
    ['started', 'STARTED', { worker: W2 }],
    ['retried', 'RETRY', { worker: W2 }],
    ['received(1)', 'RETRY', { worker: W2 }],
    ['started', 'STARTED', { worker: W2 }],
    ['succeeded', 'SUCCESS', { worker: W2 }],
  ],
  'is delivered again to the same worker': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['received(0)', 'RECEIVED', { time: T0 + 5_000 }],
    ['started', 'STARTED', { time: T0 + 5_003 }],
    ['succeeded', 'SUCCESS', { time: T0 + 5_006 }],
  ],
  'is known from its second attempt on': [
    ['received(1)', 'RETRY'],
    ['started', 'STARTED'],
    ['received(2)', 'RETRY'],
    ['started', 'STARTED'],
    ['retried', 'STARTED'],
    ['succeeded', 'SUCCESS'],
  ],
  'lost the first report of a retry': [
    ['received(0)', 'RECEIVED'],
    ['started', 'STARTED'],
    ['received(1)', 'RETRY', { time: T0 + 60_000 }],
    ['started', 'STARTED', { time: T0 + 60_003 }],
    ['retried', 'RETRY', { time: T0 + 90_000 }],
    ['received(2)', 'RETRY', { time: T0 + 90_003 }],
    ['started', 'STARTED', { time: T0 + 90_006 }],
  ],
  'lost the report of a start': [
    ['received(0)', 'RECEIVED'],
    ['received(1)', 'RETRY'],
    ['retried', 'RETRY'],
    ['started', 'STARTED', { time: T0 + 20 }],
    ['succeeded', 'SUCCESS', { time: T0 + 30 }],
  ],
  'reports its progress in each attempt': [
    ['received(0)', 'RECEIVED'],
    ['custom', 'HALFWAY', { state: 'HALFWAY' }],
    ['started', 'HALFWAY'],
    ['received(1)', 'RETRY'],
    ['started', 'STARTED'],
    ['custom', 'HALFWAY', { state: 'HALFWAY' }],
    ['retried', 'HALFWAY'],
    ['succeeded', 'SUCCESS'],
  ],
  'has its numbers from nobody': [
    ['started', 'STARTED'],
    ['retried', 'RETRY'],
    ['started', 'STARTED'],
    ['retried', 'RETRY'],
    ['started', 'STARTED'],
    ['succeeded', 'SUCCESS'],
  ],
};

/**
 * What remains of four attempts where a thread pool loses some reports (celery/celery#10434), with the moments in
 * milliseconds. A start has the number of its attempt as its detail, which is not used to find that attempt.
 */
const LOSSY: Readonly<Record<string, readonly Lossy[]>> = {
  'lost the first starts': [
    ['received(0)', 0],
    ['retried', 37],
    ['received(1)', 5_472],
    ['received(2)', 13_647],
    ['started', 13_648, { detail: '2' }],
    ['received(3)', 21_157],
    ['started', 21_158, { detail: '3' }],
    ['succeeded', 21_190],
  ],
  'lost the last retry, of which the backend says nothing new,': [
    ['received(0)', 0],
    ['retried', 48],
    ['retried', null, { origin: 'result', heardAt: T0 + 89 }],
    ['received(1)', 2_090],
    ['started', 2_095, { detail: '1' }],
    ['retried', 2_193],
    ['received(2)', 11_179],
    ['started', 11_184, { detail: '2' }],
    ['received(3)', 19_007],
    ['started', 19_008, { detail: '3' }],
    ['succeeded', 19_029],
  ],
  'lost a start, a retry and the end, which the backend has,': [
    ['received(0)', 0],
    ['started', 1, { detail: '0' }],
    ['retried', 43],
    ['received(1)', 8_409],
    ['retried', 8_476],
    ['received(2)', 18_262],
    ['started', 18_268, { detail: '2' }],
    ['received(3)', 34_838],
    ['started', 34_839, { detail: '3' }],
    ['succeeded', 34_859, { origin: 'result' }],
  ],
  'lost the last start': [
    ['received(0)', 0],
    ['started', 3, { detail: '0' }],
    ['received(1)', 24],
    ['started', 25, { detail: '1' }],
    ['retried', 26],
    ['retried', 48],
    ['received(2)', 49],
    ['started', 50, { detail: '2' }],
    ['received(3)', 72],
    ['retried', 73],
    ['succeeded', 95],
  ],
  'lost one of the retries': [
    ['received(0)', 0],
    ['started', 8, { detail: '0' }],
    ['received(1)', 38],
    ['retried', 40],
    ['started', 41, { detail: '1' }],
    ['received(2)', 84],
    ['started', 95, { detail: '2' }],
    ['retried', 103],
    ['received(3)', 334],
    ['started', 335, { detail: '3' }],
    ['succeeded', 370],
  ],
};

/** What is known while a task waits for its retry, in milliseconds after the first message. */
const WAITS: readonly (readonly [string, readonly Message[], object])[] = [
  [
    'its worker has ended the attempt',
    [
      ['received(0)', ''],
      ['started', ''],
      ['retried', ''],
    ],
    { timestamp: 6 },
  ],
  [
    'the message of the next one is sent',
    [
      ['received(0)', ''],
      ['started', ''],
      ['retried', ''],
      ['sent(1)', '', { eta: T0 + 50 }],
    ],
    { timestamp: 9, sent: 9, eta: 50 },
  ],
  [
    'it was sent before the attempt ended',
    [
      ['received(0)', ''],
      ['started', ''],
      ['sent(1)', ''],
      ['retried', ''],
    ],
    { timestamp: 9, sent: 6 },
  ],
  [
    'another worker has received it before the attempt ended',
    [
      ['received(0)', ''],
      ['started', ''],
      ['received(1)', '', { worker: W2, eta: T0 + 60 }],
      ['retried', ''],
    ],
    { worker: W2, timestamp: 9, received: 6, started: null, eta: 60 },
  ],
  [
    'the backend alone reports the retry',
    [
      ['started', '', { time: T0 + 3 }],
      ['retried(0)', '', { origin: 'result', worker: null, time: T0 + 4 }],
    ],
    { timestamp: 4, received: null },
  ],
  [
    'the clock of the worker of the first attempt is ahead',
    [
      ['received(0)', ''],
      ['started', ''],
      ['retried(0)', '', { time: T0 + 100 }],
      ['received(1)', '', { worker: W2, time: T0 + 50 }],
      ['started', '', { worker: W2, time: T0 + 51 }],
      ['retried(1)', '', { worker: W2, time: T0 + 60 }],
    ],
    { worker: W2, timestamp: 60, received: 50, started: 51 },
  ],
  [
    'the attempt before still reports its progress',
    [
      ['received(0)', ''],
      ['started', ''],
      ['received(1)', '', { worker: W2 }],
      ['custom', '', { state: 'HALFWAY' }],
    ],
    { worker: W2, timestamp: 6, received: 6, started: null },
  ],
  [
    'the clock of the client that sent the first attempt is ahead',
    [
      ['received(0)', ''],
      ['started', ''],
      ['retried', ''],
      ['sent(0)', '', { time: T0 + 50 }],
    ],
    { timestamp: 6, sent: 50 },
  ],
  [
    'the worker that retries it is not the one that is known to have received it',
    [
      ['received(0)', ''],
      ['started', ''],
      ['started', '', { worker: W2 }],
      ['retried(0)', '', { worker: W2 }],
    ],
    { worker: W2, timestamp: 9, started: 6 },
  ],
  [
    'nobody names the worker of the retry, but others were named before',
    [
      ['started', ''],
      ['custom', '', { worker: W2 }],
      ['retried', '', { worker: null }],
    ],
    { worker: W2, timestamp: 6, received: null, started: 0 },
  ],
  [
    'nobody names the worker of the retry, but two were named at one moment',
    [
      ['started', ''],
      ['custom', '', { worker: W2, time: T0 }],
      ['retried', '', { worker: null }],
    ],
    { worker: W2, timestamp: 6, received: null, started: 0 },
  ],
];

/** A second retry without a number, in milliseconds: the second worker has received and started the next attempt at 20. */
const UNNUMBERED: readonly (readonly [string, string, number, string | null])[] = [
  ['waits for its retry', 'a retry by the worker that runs it', 40, W2],
  ['waits for its retry', 'a retry by that worker in the millisecond of its start', 20, W2],
  ['waits for its retry', 'a retry by a worker without a name', 40, null],
  ['runs', 'a retry by the worker of the attempt before', 40, W1],
  ['runs', 'a retry by the worker that runs it, before it had received it', 15, W2],
  ['runs', 'a retry by a worker without a name, before any had received it', 15, null],
];

type Lossy = readonly [what: string, at: number | null, fields?: Partial<TaskChange>];

/** Where the timeline has the start of an attempt at another one. */
const MISPLACED: readonly string[] = [
  'lost the first starts',
  'lost the last retry, of which the backend says nothing new,',
  'lost one of the retries',
];

describe('a task that is retried', () => {
  it.each(Object.entries(CASES))(
    'and that %s is in the state that its AsyncResult has',
    async (_, messages) => {
      const changes = sequence(messages);
      const states: string[] = [];
      for (let count = 1; count <= changes.length; count++) {
        states.push((await taskOf(changes.slice(0, count))).state);
      }
      expect(states).toEqual(messages.map(([, state]) => state));
    },
  );

  it.each(Object.entries(CASES))('and that %s is the same in every order of arrival', async (_, messages) => {
    const changes = sequence(messages);
    const random = randomOf(messages.length);
    for (let count = 1; count <= changes.length; count++) {
      const some = changes.slice(0, count);
      const length = count === changes.length ? ORDERS : ORDERS / 10;
      const lists = Array.from({ length }, () => inAnyOrder(some, random));
      const expected = await taskOf(some);
      for (const task of await tasksOf(lists)) expect(task).toEqual(expected);
    }
  });

  it.each(Object.entries(CASES))(
    'and that %s has a timeline of each change, oldest first',
    async (_, messages) => {
      const changes = sequence(messages);
      const { timeline = [] } = await taskOf(changes);
      const count = (states: readonly string[]) => states.toSorted();
      const of: Record<string, string> = {
        sent: 'PENDING',
        received: 'RECEIVED',
        started: 'STARTED',
        retried: 'RETRY',
      };
      const last = messages.at(-1)?.[1] ?? '';
      expect(count(timeline.map(({ state }) => state))).toEqual(
        count(changes.map(({ type, state }) => state ?? of[type] ?? (type === 'failed' ? 'FAILURE' : last))),
      );
      const times = timeline.map(({ timestamp }) => timestamp?.getTime() ?? Number.NaN);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      const first = new Map<string, number>();
      for (const [at, { state, retries }] of timeline.entries()) {
        // Of one attempt that was delivered once, each change follows from the one before.
        first.set(`${retries} ${state}`, at);
        if (state === 'STARTED' && retries != null && retries > 0) {
          const before = first.get(`${retries - 1} RETRY`);
          if (before !== undefined) expect(before).toBeLessThan(at);
        }
      }
      expect(timeline.findLastIndex(({ state }) => state === 'PENDING')).toBeLessThan(timeline.length - 1);
    },
  );

  it('keeps a hundred attempts, each with everything that client, worker and backend report', async () => {
    const attempts = Array.from({ length: 100 }, (_, retries) => {
      const at = T0 + retries * 300;
      const own = { worker: W1, retries };
      return [
        told({ type: 'sent', time: at, retries, queue: 'celery' }),
        told({ type: 'received', time: at + 10, ...own }),
        told({ type: 'started', time: at + 20, worker: W1 }),
        told({ type: 'started', time: null, origin: 'result', ...own }),
        told({ type: 'retried', time: at + 100, worker: W1, detail: `no ${retries}` }),
        told({ type: 'retried', time: null, origin: 'result', ...own }),
      ];
    });
    const { timeline = [] } = await taskOf(attempts.flat());
    const states = ['PENDING', 'RECEIVED', 'STARTED', 'RETRY'];
    expect(timeline.map(({ state, retries }) => `${state}(${retries})`)).toEqual(
      attempts.flatMap((_, retries) => states.map((state) => `${state}(${retries})`)),
    );
    const details = timeline.flatMap(({ state, detail }) => (state === 'RETRY' ? detail : []));
    expect(details).toEqual(attempts.map((_, at) => `no ${at}`));
    const history = historyOf(attempts.flat(), { backdated: true });
    const { series } = await history.reader.getTaskStats(
      { minutes: 10, now: new Date(T0 + 60_000), filter: query() },
      CONTEXT,
    );
    expect(series.reduce((sum, { retried }) => sum + (retried ?? 0), 0)).toBe(100);
  });

  it.each([0, 30, 300])('and was received twice ends, if its start arrives after %d ms', async (delay) => {
    const started = (time: number) => told({ type: 'started', time: T0 + time, worker: W1 });
    const received = (time: number) => told({ type: 'received', time: T0 + time, worker: W1, retries: 0 });
    const ended = (time: number) => told({ type: 'succeeded', time: T0 + time, worker: W1 });
    let now = T0;
    const history = createMemoryHistory({ now: () => now });
    const tell = (...changes: readonly TaskChange[]) => {
      for (const change of changes) history.writer.recordTask(change);
    };
    tell(received(0), received(5), started(10), started(12));
    const state = told({ type: 'started', time: null, origin: 'result', worker: W1 });
    now = T0 + 10 + delay;
    if (delay < 60) tell(state);
    tell(ended(60), ended(62));
    if (delay > 60) tell(state);
    const task = await history.reader.getTask('a', CONTEXT);
    expect(task).toMatchObject({ state: 'SUCCESS', started: new Date(T0 + 12), finished: new Date(T0 + 62) });
    expect(task?.timeline?.map(({ state }) => state)).toEqual([
      ...['RECEIVED', 'RECEIVED', 'STARTED', 'STARTED', 'SUCCESS', 'SUCCESS'],
    ]);
  });

  for (const [loss, messages] of Object.entries(LOSSY)) {
    const fails = MISPLACED.includes(loss);
    const title = `and of which a thread pool ${loss} has each start at its own attempt, or none`;
    it(fails ? `${title} (part 3)` : title, { fails }, async () => {
      const changes = messages.map(([what, at, fields]) => {
        const [change] = sequence([[what, '', { time: at === null ? null : T0 + at, ...fields }]]);
        return change as TaskChange;
      });
      const starts = changes.flatMap(({ type, time, detail }) =>
        type === 'started' ? [[Number(detail), Number(time) - T0]] : [],
      );
      const random = randomOf(messages.length);
      const lists = Array.from({ length: ORDERS }, () => inAnyOrder(changes, random));
      for (const task of await tasksOf([changes, ...lists])) {
        expect(
          task.timeline?.flatMap(({ state, retries, timestamp }) =>
            state === 'STARTED' ? [[retries, Number(timestamp) - T0]] : [],
          ),
        ).toEqual(starts);
        const last = starts.find(([retries]) => retries === 3)?.[1];
        const started = last === undefined ? null : new Date(T0 + last);
        expect(task).toMatchObject({ state: 'SUCCESS', retries: 3, started });
      }
    });
  }

  it('lists the steps of attempts that overlap one attempt after the other', async () => {
    const { timeline = [] } = await taskOf(sequence(OVERLAPPING));
    expect(timeline.map(({ state, retries }) => `${state}(${retries})`)).toEqual([
      ...['RECEIVED(0)', 'STARTED(0)', 'RETRY(0)', 'RECEIVED(1)', 'STARTED(1)', 'RETRY(1)'],
      ...['RECEIVED(2)', 'STARTED(2)', 'SUCCESS(2)'],
    ]);
  });

  it('has the eta, the worker and the times of its next attempt while it waits for it', async () => {
    const [received, started, retried, again, restarted] = sequence(CASES['waits for its eta'] as Message[]);
    const waiting = [received, started, retried, again] as TaskChange[];
    expect(await taskOf(waiting)).toMatchObject({
      state: 'RETRY',
      retries: 1,
      eta: new Date(T0 + 30_000),
      worker: W1,
      received: new Date(T0 + 9),
      started: null,
      timestamp: new Date(T0 + 9),
    });
    // It waited for its eta, and from then on not at all.
    expect(await taskOf([...waiting, restarted as TaskChange])).toMatchObject({ waitSeconds: 0 });
  });

  it.each(WAITS)(
    'has worker and times of what is known while it waits: %s',
    async (_, messages, expected) => {
      const { timestamp, worker, sent, received, started, eta } = await taskOf(sequence(messages));
      const msOf = (date: Date | null | undefined) => (date == null ? null : date.getTime() - T0);
      expect({
        worker,
        timestamp: msOf(timestamp),
        sent: msOf(sent),
        received: msOf(received),
        started: msOf(started),
        eta: msOf(eta),
      }).toEqual({ worker: W1, sent: null, received: 0, started: 3, eta: null, ...expected });
    },
  );

  it.each(UNNUMBERED)('%s after %s', async (wait, _, time, worker) => {
    const [first, second] = [{ worker: W1 }, { worker: W2, time: T0 + 20 }];
    const changes = sequence([
      ['received(0)', '', first],
      ['started', '', first],
      ['retried', '', first],
      ['received(1)', '', second],
      ['started', '', second],
      ['retried', '', { worker, time: T0 + time }],
    ]);
    const random = randomOf(time);
    for (const task of await tasksOf(Array.from({ length: ORDERS }, () => inAnyOrder(changes, random)))) {
      expect(task).toMatchObject({ state: wait === 'runs' ? 'STARTED' : 'RETRY', retries: 1, worker: W2 });
    }
  });

  it('and was reported by two workers at one moment has the same one in every order of arrival', async () => {
    const started = told({ type: 'started', time: T0, worker: W1 });
    const custom = told({ type: 'custom', state: 'PROGRESS', time: T0, worker: W2 });
    const end = told({ type: 'succeeded', time: T0 + 5, origin: 'result', result: '1' });
    for (const order of orders([started, custom, end])) {
      expect(await taskOf(order)).toMatchObject({ state: 'SUCCESS', worker: W2 });
    }
  });

  it('has start and end of an attempt whose receipt was missed in that attempt', async () => {
    const changes = sequence([
      ['received(0)', ''],
      ['started', ''],
      ['sent(1)', ''],
      ['started', ''],
      ['succeeded', ''],
    ]);
    for (const task of await tasksOf(orders(changes))) {
      expect(task).toMatchObject({ state: 'SUCCESS', received: null, started: new Date(T0 + 9) });
      expect(task.timeline?.map(({ state, retries }) => `${state}(${retries})`)).toEqual([
        ...['RECEIVED(0)', 'STARTED(0)', 'PENDING(1)', 'STARTED(1)', 'SUCCESS(1)'],
      ]);
    }
  });

  it('has no eta while only that of its first attempt is known', async () => {
    const changes = [
      told({ type: 'received', retries: 0, worker: W1, eta: T0 + 5 }),
      told({ type: 'started', time: T0 + 6, worker: W1 }),
    ];
    expect(await taskOf(changes)).toMatchObject({ eta: new Date(T0 + 5) });
    const retried = told({ type: 'retried', time: T0 + 7, worker: W1 });
    expect(await taskOf([...changes, retried])).toMatchObject({ state: 'RETRY', eta: null });
  });
});
