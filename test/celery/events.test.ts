/** What Celery's events tell of tasks and workers, as the answers of the source show it. */
import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { context } from '../helpers/celery-events.ts';
import { holdTime, LONG, metaOf, openArrayDeployment, pass } from './array-deployment.ts';

const START = 1_795_229_750.5;
const common = { hostname: 'w1@alpha', utcoffset: -1, pid: 7, clock: 3, timestamp: START, uuid: 'a' };
const AT = new Date(START * 1000);

/** The tasks that these events are about, by id. */
async function tasksAfter(events: readonly object[]): Promise<Record<string, TaskDetail>> {
  const { hear, task } = openArrayDeployment({ retention: LONG });
  hear(...events);
  const ids = new Set(events.map((event) => String(Reflect.get(event, 'uuid'))));
  const found = await Promise.all([...ids].map(async (id) => [id, await task(id)] as const));
  return Object.fromEntries(found.flatMap(([id, one]) => (one === null ? [] : [[id, one]])));
}

/** The fields of the task of each event that say something. Every event is told of a task of its own. */
async function toldOf(...events: readonly object[]): Promise<Record<string, unknown>[]> {
  const tasks = await tasksAfter(events.map((event, at) => ({ ...common, ...event, uuid: `a${at}` })));
  return events.map((_, at) => {
    const { id: _id, state: _state, flags: _flags, ...task } = tasks[`a${at}`] ?? ({} as TaskDetail);
    const isSaid = (value: unknown): boolean =>
      value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
    return Object.fromEntries(Object.entries(task).filter(([, value]) => isSaid(value)));
  });
}

/** One field of the task of each event. */
async function fieldOf(field: keyof TaskDetail, events: readonly object[]): Promise<unknown[]> {
  return (await toldOf(...events)).map((task) => task[field] ?? null);
}

/** The last entry in the timeline of the task of each event. */
async function lastOf(...events: readonly object[]) {
  const tasks = await toldOf(...events);
  return tasks.map(({ timeline }) => (timeline as TaskDetail['timeline'])?.at(-1));
}

describe('an event about a task', () => {
  it('of the client tells all of the message and no worker', async () => {
    const sent = {
      ...{ type: 'task-sent', hostname: 'gen9@vm', pid: 9, name: 'lab.add', args: '(0, 0)', kwargs: '{}' },
      ...{ retries: 0, eta: '2026-11-21T02:54:12.222620+00:00', expires: null, queue: 'celery' },
      ...{ exchange: '', routing_key: 'celery', root_id: 'r', parent_id: 'p' },
    };
    expect(await toldOf(sent)).toEqual([
      {
        ...{ name: 'lab.add', args: '(0, 0)', kwargs: '{}', retries: 0, queue: 'celery' },
        ...{ sent: AT, timestamp: AT, eta: new Date('2026-11-21T02:54:12.222Z') },
        ...{ rootId: 'r', parentId: 'p' },
        timeline: [{ state: 'PENDING', timestamp: AT, worker: null, detail: null, retries: 0 }],
      },
    ]);
  });

  it('names the queue of a task that waits for its eta in the queues of native delayed delivery', async () => {
    const bits = '0.'.repeat(27);
    const rows: [exchange: unknown, key: unknown, queue: string | null][] = [
      ['celery_delayed_27', `${bits}1.qq`, 'qq'],
      ['eu_celery_delayed_27', `${bits}1.shop.mail`, 'shop.mail'],
      ['celery_delayed_27', `${bits}qq`, null],
      ['celery_delayed_27', `${bits}1.`, null],
      ['celery_delayed_27', null, null],
      ['topics', `${bits}1.qq`, null],
      [null, `${bits}1.qq`, null],
    ];
    const sent = rows.map(([exchange, routing_key]) => ({
      type: 'task-sent',
      queue: null,
      exchange,
      routing_key,
    }));
    const received = { ...sent[0], type: 'task-received' };
    const queues = rows.map(([, , queue]) => queue);
    expect(await fieldOf('queue', [...sent, received])).toEqual([...queues, null]);
  });

  it('of the worker tells what Celery sends with it, and nothing else', async () => {
    const entry = (state: string) => ({
      ...{ state, timestamp: AT, worker: 'w1@alpha', detail: null, retries: null },
    });
    const attempt = (more: object) => [{ number: 1, started: null, finished: null, error: null, ...more }];
    const same = { worker: 'w1@alpha', timestamp: AT };
    const told = await toldOf(
      { type: 'task-started' },
      { type: 'task-succeeded', result: "'ok'", runtime: 0.25 },
      { type: 'task-retried', exception: "OSError('x')", traceback: 'tb' },
    );
    expect(told).toMatchObject([
      { ...same, started: AT, timeline: [entry('STARTED')], attempts: attempt({ started: AT }) },
      { ...same, finished: AT, result: "'ok'", runtime: 0.25, timeline: [entry('SUCCESS')] },
      {
        ...same,
        exception: "OSError('x')",
        traceback: 'tb',
        timeline: [{ state: 'RETRY', detail: "OSError('x')" }],
      },
    ]);
    const [started = {}] = told;
    expect(Object.keys(started).sort()).toEqual(['attempts', 'started', 'timeline', 'timestamp', 'worker']);
  });

  it('reads an eta without an offset as UTC, and none that is no time', async () => {
    const etas = ['2026-11-21T02:54:12', 'soon'].map((eta) => ({ type: 'task-received', eta }));
    expect(await fieldOf('eta', etas)).toEqual([new Date('2026-11-21T02:54:12Z'), null]);
  });

  it('says why a task ended', async () => {
    const revoked: [fields: object, detail: string][] = [
      [{ expired: true, terminated: false, signum: null }, 'expired'],
      [{ expired: false, terminated: true, signum: 15 }, 'terminated by signal 15'],
      [{ expired: false, terminated: true, signum: 'SIGKILL' }, 'terminated by signal SIGKILL'],
      [{ expired: false, terminated: true }, 'terminated'],
      [{ expired: false, terminated: false }, 'revoked'],
    ];
    const last = await lastOf(...revoked.map(([fields]) => ({ type: 'task-revoked', ...fields })));
    expect(last).toMatchObject(revoked.map(([, detail]) => ({ state: 'REVOKED', detail })));
    const rejected = [{ requeue: false }, {}, { requeue: true }];
    const ends = await lastOf(...rejected.map((fields) => ({ type: 'task-rejected', ...fields })));
    expect(ends.map((entry) => entry?.state)).toEqual(['REJECTED', 'REJECTED', 'PENDING']);
  });

  it('of its own kind has the state that its type names, and its own fields as detail', async () => {
    const note = { type: 'task-my-progress', current: 1, note: "it's" };
    const [own, done] = await toldOf(note, { type: 'task-done' });
    expect(own).toMatchObject({
      worker: 'w1@alpha',
      progress: { current: 1, total: null, percent: null, text: null },
      timeline: [{ state: 'MY-PROGRESS', detail: `{'current': 1, 'note': "it's"}` }],
    });
    expect(done).toMatchObject({ timeline: [{ state: 'DONE', detail: null }] });
  });

  it('is from a worker, and not from a process that only sends tasks', async () => {
    const rows: [hostname: unknown, pid: number | undefined, worker: string | null][] = [
      ['gen7@alpha', 7, null],
      ['gen7@alpha', 8, 'gen7@alpha'],
      ['gen7@alpha', undefined, null],
      ['general@alpha', 7, 'general@alpha'],
      ['gen@alpha', undefined, 'gen@alpha'],
      ['', 7, null],
      [null, 7, null],
    ];
    const events = rows.map(([hostname, pid]) => ({ type: 'task-progress', hostname, pid }));
    expect(await fieldOf('worker', events)).toEqual(rows.map(([, , worker]) => worker));
  });

  it('names the real exception where Celery sends its wrapper', async () => {
    const wrapper = 'ExceptionWithTraceback()';
    const rows: [last: string, exception: string][] = [
      ['billiard.exceptions.TimeLimitExceeded: TimeLimitExceeded(1,)', 'TimeLimitExceeded(1,)'],
      [
        'billiard.exceptions.WorkerLostError: Worker exited: exitcode 3.',
        "WorkerLostError('Worker exited: exitcode 3.')",
      ],
      ['KeyboardInterrupt', 'KeyboardInterrupt()'],
      ['and a line of the message', wrapper],
    ];
    const failed = rows.map(([last]) => ({
      ...{ type: 'task-failed', exception: wrapper, traceback: `Traceback:\n  File "x"\n${last}\n` },
    }));
    expect(await fieldOf('exception', [...failed, { type: 'task-failed', exception: wrapper }])).toEqual([
      ...rows.map(([, exception]) => exception),
      wrapper,
    ]);
  });

  it('names the tasks of Celery that run another over many arguments', async () => {
    const names = ['celery.map', 'celery.starmap', 'celery.chunks', 'celery.chord', 'map'];
    const kinds = await fieldOf(
      'kind',
      names.map((name) => ({ type: 'task-received', name })),
    );
    expect(kinds).toEqual(['map', 'starmap', 'chunks', null, null]);
  });

  it('without an id is counted as unreadable, and fields of wrong types are kept out', async () => {
    const { hear, task, component } = openArrayDeployment({ retention: LONG });
    const wrong = { timestamp: 'now', name: 3, args: [], retries: '1', parent_id: 7, hostname: null };
    hear(
      { ...common, type: 'task-sent', uuid: null },
      { ...common, type: 'task-sent', uuid: '' },
      { type: 'task-received', uuid: 'a', ...wrong },
    );
    expect(await task('a')).toMatchObject({
      ...{ state: 'RECEIVED', name: null, args: null, retries: null, parentId: null, worker: null },
    });
    expect((await component('collector')).config).toMatchObject({ messages: 3, dropped: 2 });
  });

  it('marks the texts that Celery has cut', async () => {
    const long = `('${'A'.repeat(1024)}...', ...)`;
    const events = [{ args: long, kwargs: "{'k': [[[...]]]}" }, { args: "('...',)" }];
    expect(
      await fieldOf(
        'truncated',
        events.map((event) => ({ type: 'task-received', ...event })),
      ),
    ).toEqual([['args', 'kwargs'], null]);
  });
});

describe('an event about a worker', () => {
  const heartbeat = {
    ...{ hostname: 'w1@alpha', utcoffset: -1, pid: 7, clock: 3, type: 'worker-heartbeat', freq: 2.5 },
    ...{ active: 1, processed: 9, loadavg: [2.27, 1.89, 1.51] },
    ...{ sw_ident: 'py-celery', sw_ver: '5.6.3', sw_sys: 'Linux' },
  };
  async function workersAfter(...events: readonly object[]) {
    const { hear, sources } = openArrayDeployment({ control: false });
    const timestamp = Date.now() / 1000;
    hear(...events.map((event) => ({ timestamp, ...event })));
    return await sources.workers.listWorkers(context);
  }

  it('tells its figures, and whether it is there', async () => {
    const figures = {
      ...{ hostname: 'w1@alpha', pid: 7, active: 1, processed: 9 },
      ...{ loadAverage: [2.27, 1.89, 1.51], software: 'py-celery 5.6.3' },
    };
    expect(await workersAfter(heartbeat)).toMatchObject([{ ...figures, status: 'online' }]);
    const online = { ...heartbeat, type: 'worker-online' };
    expect(await workersAfter(online)).toMatchObject([{ ...figures, status: 'online' }]);
    expect(await workersAfter({ ...heartbeat, type: 'worker-offline' })).toMatchObject([
      { status: 'offline' },
    ]);
  });

  it('that was asked for tells no figures, and keeps those that were told', async () => {
    const { active: _, processed: __, loadavg: ___, ...forced } = { ...heartbeat, freq: 5 };
    expect(await workersAfter(forced)).toMatchObject([
      { software: 'py-celery 5.6.3', pid: 7, active: null, processed: null, loadAverage: null },
    ]);
    expect(await workersAfter(heartbeat, forced)).toMatchObject([{ active: 1, processed: 9 }]);
  });

  it('tells how often it comes, unless it was asked for', async () => {
    const { active: _, processed: __, loadavg: ___, ...forced } = { ...heartbeat, freq: 3_600 };
    holdTime(Date.now());
    const { hear, sources } = openArrayDeployment({ control: false });
    const timestamp = Date.now() / 1000;
    hear({ ...heartbeat, freq: 3_600, hostname: 'slow@a', timestamp });
    for (const event of [heartbeat, forced]) hear({ ...event, hostname: 'quick@a', timestamp });
    await pass(120_000);
    const workers = await sources.workers.listWorkers(context);
    expect(workers.map(({ hostname, status }) => [hostname, status])).toEqual([
      ['quick@a', 'offline'],
      ['slow@a', 'online'],
    ]);
  });

  it('says nothing when it is of the election of a leader, or lacks a name or a time', async () => {
    const nothing = [{ type: 'worker-elect' }, { hostname: undefined }, { timestamp: null }];
    expect(await workersAfter(...nothing.map((more) => ({ ...heartbeat, ...more })))).toEqual([]);
    const odd = { ...heartbeat, loadavg: ['x'], freq: 0 };
    expect(await workersAfter(odd)).toMatchObject([{ active: 1, loadAverage: null }]);
  });
});

type Step = readonly [type: string, seconds: number, fields?: object];

/** What is known of the task `a` after these events, or results where the step is called `meta`. */
async function taskAfter(steps: readonly Step[]): Promise<TaskDetail> {
  const { hear, publish, task } = openArrayDeployment({ retention: LONG });
  for (const [type, seconds, fields] of steps) {
    const sender = type === 'task-sent' ? { hostname: 'gen9@vm', pid: 9 } : { hostname: 'w1@alpha', pid: 1 };
    if (type === 'meta') publish('a', metaOf('a', fields));
    else hear({ type, uuid: 'a', timestamp: START + seconds, ...sender, ...fields });
  }
  const found = await task('a');
  if (found === null) throw new Error('The task is not known.');
  return found;
}

const at = (seconds: number): Date => new Date((START + seconds) * 1000);

/** The steps in every order in which the client's and the worker's own events keep theirs. */
function interleaved(client: readonly Step[], worker: readonly Step[]): Step[][] {
  const [first, second] = [client[0], worker[0]];
  if (first === undefined) return [[...worker]];
  if (second === undefined) return [[...client]];
  return [
    ...interleaved(client.slice(1), worker).map((rest) => [first, ...rest]),
    ...interleaved(client, worker.slice(1)).map((rest) => [second, ...rest]),
  ];
}

const received = (seconds: number, retries = 0): Step => [
  'task-received',
  seconds,
  { name: 'shop.pay', retries },
];
const opening: Step[] = [received(1), ['task-started', 2]];

/** Celery's own reducer (celery.events.state) is wrong in these places. */
describe('a task', () => {
  it('that its worker rejected is REJECTED, where Celery goes on saying STARTED', async () => {
    const task = await taskAfter([...opening, ['task-rejected', 3, { requeue: false }]]);
    expect(task).toMatchObject({ state: 'REJECTED', finished: at(3) });
  });

  it('that its worker put back waits again, and goes on where it is taken next', async () => {
    const rejected: Step[] = [...opening, ['task-rejected', 3, { requeue: true }]];
    expect((await taskAfter(rejected)).state).toBe('PENDING');
    const task = await taskAfter([...rejected, received(4), ['task-started', 5]]);
    expect(task).toMatchObject({ state: 'STARTED', started: at(5) });
  });

  it('that reports its progress is REVOKED once it was, where Celery keeps the progress', async () => {
    const halfway: Step[] = [...opening, ['task-halfway', 3, { percent: 50 }]];
    expect((await taskAfter(halfway)).state).toBe('HALFWAY');
    const task = await taskAfter([...halfway, ['task-revoked', 4, { terminated: true, signum: 15 }]]);
    expect(task.state).toBe('REVOKED');
    expect(task.timeline?.map(({ state, detail }) => [state, detail]).slice(2)).toEqual([
      ['HALFWAY', "{'percent': 50}"],
      ['REVOKED', 'terminated by signal 15'],
    ]);
  });

  it('that is delivered once more runs again, where Celery keeps SUCCESS', async () => {
    const again: Step[] = [
      ...opening,
      ['task-succeeded', 3, { result: '1', runtime: 1 }],
      received(10),
      ['task-started', 11],
    ];
    expect(await taskAfter(again)).toMatchObject({ state: 'STARTED', finished: null });
    const failed: Step = ['task-failed', 12, { exception: "ValueError('x')" }];
    expect((await taskAfter([...again, failed])).state).toBe('FAILURE');
  });

  it('is in the state of its last attempt, however the client and the worker overtake each other', async () => {
    const client: Step[] = [
      ['task-sent', 0, { name: 'shop.pay', queue: 'q', retries: 0, root_id: 'a', parent_id: null }],
      ['task-sent', 2.5, { name: 'shop.pay', queue: 'q', retries: 1, root_id: 'a', parent_id: 'a' }],
    ];
    const worker: Step[] = [
      ...opening,
      ['task-retried', 3, { exception: "OSError('never')" }],
      ...[received(4, 1), ['task-started', 5] as const],
      ['task-succeeded', 6, { result: '1', runtime: 1 }],
    ];
    const orders = interleaved(client, worker);
    expect(orders).toHaveLength(28);
    const tasks = await Promise.all(orders.map(taskAfter));
    const expected = { state: 'SUCCESS', retries: 1, queue: 'q', parentId: null, sent: at(2.5) };
    expect(tasks).toMatchObject(orders.map(() => expected));
  });

  it('that runs goes on though a revoke command has marked it, until its worker says so', async () => {
    const revoked = (reason: string): Step => [
      'meta',
      3,
      {
        status: 'REVOKED',
        result: { exc_type: 'TaskRevokedError', exc_message: [reason] },
        date_done: at(3).toISOString().replace('Z', ''),
      },
    ];
    const states = await Promise.all(
      [
        [...opening, revoked('revoked')],
        [...opening, revoked('revoked'), ['task-succeeded', 4, { result: '1' }] as const],
        [...opening, revoked('terminated')],
        [...opening, revoked('expired')],
        [revoked('revoked')],
      ].map(async (steps) => (await taskAfter(steps)).state),
    );
    expect(states).toEqual(['STARTED', 'SUCCESS', 'REVOKED', 'REVOKED', 'REVOKED']);
  });

  it('is called by its name and not by its shadow, whoever speaks first', async () => {
    const steps: Step[] = [
      ['task-sent', 0, { name: 'shop.pay', retries: 0 }],
      ['task-received', 1, { name: 'a shadow', retries: 0 }],
    ];
    const names = [steps, steps.toReversed(), steps.slice(1)].map(
      async (some) => (await taskAfter(some)).name,
    );
    expect(await Promise.all(names)).toEqual(['shop.pay', 'shop.pay', 'a shadow']);
  });
});
