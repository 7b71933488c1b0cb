/**
 * What Celery's own reducer (celery.events.state) makes of events is wrong in places; these are the
 * places, told with messages as Celery publishes them.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { deliverMessage } from '../../src/sources/celery/brokers/redis/events.ts';
import { createIntake } from '../../src/sources/celery/intake.ts';
import { context, eventMessage } from '../helpers/celery-events.ts';

/** Nobody else looks at what comes in. */
const NOBODY = {
  changed() {},
  stored() {},
  saved() {},
  sized() {},
  worker() {},
  unreadableEvent() {},
  unreadableResult() {},
};

const START = 1_795_229_750;
const histories: History[] = [];

afterEach(() => {
  for (const history of histories.splice(0)) history.close();
});

type Step = readonly [type: string, seconds: number, fields?: Record<string, unknown>];

const WORKER = { hostname: 'w1@alpha', pid: 1 };
const CLIENT = { hostname: 'gen9@vm', pid: 9 };

/** What is known of the task `a` after these events, or results where the step is called `meta`. */
async function taskAfter(steps: readonly Step[]): Promise<TaskDetail> {
  const history = createMemoryHistory({ now: () => (START + 60) * 1000 });
  histories.push(history);
  const intake = createIntake(history.writer, NOBODY, 1000);
  for (const [type, seconds, fields] of steps) {
    if (type === 'meta') {
      intake.takeResult(JSON.stringify({ task_id: 'a', traceback: null, ...fields }), 'a');
    } else {
      const sender = type === 'task-sent' ? CLIENT : WORKER;
      deliverMessage(
        eventMessage([{ type, uuid: 'a', timestamp: START + seconds, ...sender, ...fields }]),
        intake.events,
      );
    }
  }
  const task = await history.reader.getTask('a', context);
  if (task === null) throw new Error('The task is not known.');
  return task;
}

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

const opening: Step[] = [
  ['task-received', 1, { name: 'shop.pay', retries: 0 }],
  ['task-started', 2],
];

describe('a task', () => {
  it('that its worker rejected is REJECTED, where Celery goes on saying STARTED', async () => {
    const task = await taskAfter([...opening, ['task-rejected', 3, { requeue: false }]]);
    expect([task.state, task.finished?.getTime()]).toEqual(['REJECTED', (START + 3) * 1000]);
  });

  it('that its worker put back waits again, and goes on where it is taken next', async () => {
    const rejected: Step[] = [...opening, ['task-rejected', 3, { requeue: true }]];
    expect((await taskAfter(rejected)).state).toBe('PENDING');
    const again: Step[] = [
      ['task-received', 4, { name: 'shop.pay', retries: 0 }],
      ['task-started', 5],
    ];
    const task = await taskAfter([...rejected, ...again]);
    expect([task.state, task.started?.getTime()]).toEqual(['STARTED', (START + 5) * 1000]);
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
    const done: Step[] = [...opening, ['task-succeeded', 3, { result: '1', runtime: 1 }]];
    const again: Step[] = [
      ['task-received', 10, { name: 'shop.pay', retries: 0 }],
      ['task-started', 11],
    ];
    const task = await taskAfter([...done, ...again]);
    expect([task.state, task.finished ?? null]).toEqual(['STARTED', null]);
    const failed = await taskAfter([
      ...done,
      ...again,
      ['task-failed', 12, { exception: "ValueError('x')" }],
    ]);
    expect(failed.state).toBe('FAILURE');
  });

  it('is in the state of its last attempt, however the client and the worker overtake each other', async () => {
    const client: Step[] = [
      ['task-sent', 0, { name: 'shop.pay', queue: 'q', retries: 0, root_id: 'a', parent_id: null }],
      ['task-sent', 2.5, { name: 'shop.pay', queue: 'q', retries: 1, root_id: 'a', parent_id: 'a' }],
    ];
    const worker: Step[] = [
      ...opening,
      ['task-retried', 3, { exception: "OSError('never')" }],
      ['task-received', 4, { name: 'shop.pay', retries: 1 }],
      ['task-started', 5],
      ['task-succeeded', 6, { result: '1', runtime: 1 }],
    ];
    const orders = interleaved(client, worker);
    expect(orders).toHaveLength(28);
    for (const order of orders) {
      const task = await taskAfter(order);
      expect([task.state, task.retries, task.queue, task.parentId ?? null, task.sent?.getTime()]).toEqual([
        'SUCCESS',
        1,
        'q',
        null,
        (START + 2.5) * 1000,
      ]);
    }
  });

  it('that runs goes on though a revoke command has marked it, until its worker says so', async () => {
    const revoked = (reason: string): Step => [
      'meta',
      3,
      {
        status: 'REVOKED',
        result: { exc_type: 'TaskRevokedError', exc_message: [reason] },
        date_done: new Date((START + 3) * 1000).toISOString().replace('Z', ''),
      },
    ];
    expect((await taskAfter([...opening, revoked('revoked')])).state).toBe('STARTED');
    expect(
      (await taskAfter([...opening, revoked('revoked'), ['task-succeeded', 4, { result: '1' }]])).state,
    ).toBe('SUCCESS');
    expect((await taskAfter([...opening, revoked('terminated')])).state).toBe('REVOKED');
    expect((await taskAfter([revoked('revoked')])).state).toBe('REVOKED');
  });

  it('is called by its name and not by its shadow, whoever speaks first', async () => {
    const steps: Step[] = [
      ['task-sent', 0, { name: 'shop.pay', retries: 0 }],
      ['task-received', 1, { name: 'a shadow', retries: 0 }],
    ];
    expect((await taskAfter(steps)).name).toBe('shop.pay');
    expect((await taskAfter(steps.toReversed())).name).toBe('shop.pay');
    expect((await taskAfter(steps.slice(1))).name).toBe('a shadow');
  });
});
