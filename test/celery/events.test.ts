import { describe, expect, it } from 'vitest';
import { type CeleryEvent, taskChangeOf } from '../../src/sources/celery/protocol/events.ts';

/** The fields of a change that say something. */
function told(event: CeleryEvent): Record<string, unknown> {
  const change = taskChangeOf(event) ?? {};
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

const common = { hostname: 'w1@alpha', utcoffset: -1, pid: 7, clock: 3, timestamp: 1795229750.5, uuid: 'a' };

describe('an event about a task', () => {
  it('of the client tells all of the message and no worker', () => {
    expect(
      told({
        ...common,
        type: 'task-sent',
        hostname: 'gen9@vm',
        pid: 9,
        name: 'lab.add',
        args: '(0, 0)',
        kwargs: '{}',
        retries: 0,
        eta: '2026-11-21T02:54:12.222620+00:00',
        expires: null,
        queue: 'celery',
        exchange: '',
        routing_key: 'celery',
        root_id: 'a',
        parent_id: null,
      }),
    ).toEqual({
      id: 'a',
      type: 'sent',
      eventType: 'task-sent',
      time: 1795229750500,
      origin: 'event',
      sender: 'gen9@vm',
      name: 'lab.add',
      args: '(0, 0)',
      kwargs: '{}',
      retries: 0,
      eta: Date.parse('2026-11-21T02:54:12.222Z'),
      expires: null,
      queue: 'celery',
      rootId: 'a',
      parentId: null,
    });
  });

  it('names the queue of a task that waits for its eta in the queues of native delayed delivery', () => {
    const bits = '0.'.repeat(27);
    const queueOf = (exchange: unknown, key: unknown): unknown =>
      taskChangeOf({ ...common, type: 'task-sent', queue: null, exchange, routing_key: key })?.queue;
    expect(queueOf('celery_delayed_27', `${bits}1.qq`)).toBe('qq');
    expect(queueOf('eu_celery_delayed_27', `${bits}1.shop.mail`)).toBe('shop.mail');
    for (const [exchange, key] of [
      ['celery_delayed_27', `${bits}qq`],
      ['celery_delayed_27', `${bits}1.`],
      ['celery_delayed_27', null],
      ['topics', `${bits}1.qq`],
      [null, `${bits}1.qq`],
    ]) {
      expect(queueOf(exchange, key)).toBeUndefined();
    }
    const received = {
      ...common,
      type: 'task-received',
      exchange: 'celery_delayed_27',
      routing_key: `${bits}1.qq`,
    };
    expect(taskChangeOf(received)?.queue).toBeUndefined();
  });

  it('of the worker tells what Celery sends with it, and nothing else', () => {
    const worker = { time: 1795229750500, id: 'a', origin: 'event', worker: 'w1@alpha' };
    expect(told({ ...common, type: 'task-started' })).toEqual({
      ...worker,
      type: 'started',
      eventType: 'task-started',
    });
    expect(told({ ...common, type: 'task-succeeded', result: "'ok'", runtime: 0.25 })).toEqual({
      ...worker,
      type: 'succeeded',
      eventType: 'task-succeeded',
      result: "'ok'",
      runtime: 0.25,
    });
    expect(told({ ...common, type: 'task-retried', exception: "OSError('x')", traceback: 'tb' })).toEqual({
      ...worker,
      type: 'retried',
      eventType: 'task-retried',
      exception: "OSError('x')",
      traceback: 'tb',
    });
  });

  it('reads an eta without an offset as UTC', () => {
    expect(told({ ...common, type: 'task-received', eta: '2026-11-21T02:54:12' }).eta).toBe(
      Date.UTC(2026, 10, 21, 2, 54, 12),
    );
    expect(told({ ...common, type: 'task-received', eta: 'soon' })).not.toHaveProperty('eta');
  });

  it.each([
    [{ requeue: false }, 'rejected'],
    [{ requeue: true }, 'requeued'],
    [{}, 'rejected'],
  ])('rejected with %j is %s', (fields, type) => {
    expect(told({ ...common, type: 'task-rejected', ...fields })).toMatchObject({
      type,
      eventType: 'task-rejected',
    });
  });

  it.each([
    [{ expired: true, terminated: false, signum: null }, 'expired'],
    [{ expired: false, terminated: true, signum: 15 }, 'terminated by signal 15'],
    [{ expired: false, terminated: true, signum: 'SIGKILL' }, 'terminated by signal SIGKILL'],
    [{ expired: false, terminated: true }, 'terminated'],
    [{ expired: false, terminated: false }, 'revoked'],
  ])('revoked with %j says why', (fields, detail) => {
    expect(told({ ...common, type: 'task-revoked', ...fields })).toMatchObject({ type: 'revoked', detail });
  });

  it('of its own kind has the state that its type names, and its own fields as detail', () => {
    expect(told({ ...common, type: 'task-my-progress', current: 1, note: "it's" })).toMatchObject({
      type: 'custom',
      state: 'MY-PROGRESS',
      eventType: 'task-my-progress',
      worker: 'w1@alpha',
      detail: `{'current': 1, 'note': "it's"}`,
      progress: { current: 1, total: null, percent: null, text: null },
    });
    expect(told({ ...common, type: 'task-done' })).not.toHaveProperty('detail');
  });

  it.each([
    ['gen7@alpha', 7, undefined],
    ['gen7@alpha', 8, 'gen7@alpha'],
    ['gen7@alpha', undefined, undefined],
    ['general@alpha', 7, 'general@alpha'],
    ['gen@alpha', undefined, 'gen@alpha'],
    ['', 7, undefined],
    [null, 7, undefined],
  ])('from %j, process %j, is from the worker %j', (hostname, pid, worker) => {
    expect(taskChangeOf({ ...common, type: 'task-progress', hostname, pid })?.worker).toBe(worker);
  });

  it('names the real exception where Celery sends its wrapper', () => {
    const exception = 'ExceptionWithTraceback()';
    const of = (last: string): unknown =>
      told({ ...common, type: 'task-failed', exception, traceback: `Traceback:\n  File "x"\n${last}\n` })
        .exception;
    expect(of('billiard.exceptions.TimeLimitExceeded: TimeLimitExceeded(1,)')).toBe('TimeLimitExceeded(1,)');
    expect(of('billiard.exceptions.WorkerLostError: Worker exited: exitcode 3.')).toBe(
      "WorkerLostError('Worker exited: exitcode 3.')",
    );
    expect(of('KeyboardInterrupt')).toBe('KeyboardInterrupt()');
    expect(of('and a line of the message')).toBe(exception);
    expect(told({ ...common, type: 'task-failed', exception }).exception).toBe(exception);
  });

  it('names the tasks of Celery that run another over many arguments', () => {
    const kind = (name: string): unknown => told({ ...common, type: 'task-received', name }).kind;
    expect([kind('celery.map'), kind('celery.starmap'), kind('celery.chunks')]).toEqual([
      'map',
      'starmap',
      'chunks',
    ]);
    expect([kind('celery.chord'), kind('map')]).toEqual([undefined, undefined]);
  });

  it('says nothing without an id, and keeps fields of wrong types out', () => {
    expect(taskChangeOf({ type: 'task-sent', uuid: null })).toBeNull();
    expect(taskChangeOf({ type: 'task-sent', uuid: '' })).toBeNull();
    expect(
      told({
        type: 'task-received',
        uuid: 'a',
        timestamp: 'now',
        name: 3,
        args: [],
        retries: '1',
        parent_id: 7,
      }),
    ).toEqual({ id: 'a', type: 'received', eventType: 'task-received', time: null, origin: 'event' });
  });

  it('marks the texts that Celery has cut', () => {
    const long = `('${'A'.repeat(1024)}...', ...)`;
    expect(
      told({ ...common, type: 'task-received', args: long, kwargs: "{'k': [[[...]]]}" }).truncated,
    ).toEqual(['args', 'kwargs']);
    expect(told({ ...common, type: 'task-received', args: "('...',)" })).not.toHaveProperty('truncated');
  });

  it('has one shape whatever its type, which keeps taking it in fast', () => {
    const shapes = ['task-sent', 'task-started', 'task-progress', 'task-revoked'].map((type) =>
      Object.keys(taskChangeOf({ ...common, type }) ?? {}).join(),
    );
    expect(new Set(shapes).size).toBe(1);
  });
});
