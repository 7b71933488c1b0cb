import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { decodeResult } from '../../src/sources/celery/protocol/results.ts';

/** A meta as Celery's backend writes it. */
function meta(changes: Record<string, unknown> = {}): string {
  const whole = {
    status: 'SUCCESS',
    result: 4,
    traceback: null,
    children: [],
    date_done: '2026-11-21T02:55:13.177793',
    task_id: 'a',
    ...changes,
  };
  return JSON.stringify(whole).replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** What a message tells, without what it does not. */
function told(message: string, limit = 65_536): Record<string, unknown> | null {
  const change = decodeResult(message, 'from-the-channel', limit)?.change;
  return change === undefined
    ? null
    : Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

const done = Date.UTC(2026, 10, 21, 2, 55, 13, 177);

describe('a stored result', () => {
  it('tells state, time and value', () => {
    const expected = {
      id: 'a',
      type: 'succeeded',
      time: done,
      origin: 'result',
      result: '4',
      parentId: null,
    };
    expect(told(meta())).toEqual(expected);
  });

  it('reads a time without an offset as UTC, and one with an offset as it says', () => {
    expect(told(meta({ date_done: '2026-11-21T02:55:13.177793+00:00' }))?.time).toBe(done);
    expect(told(meta({ date_done: '2026-11-21T04:55:13.177793+02:00' }))?.time).toBe(done);
    expect(told(meta({ date_done: null }))?.time).toBeNull();
  });

  it('tells more with result_extended, and what is null tells nothing', () => {
    const extended = {
      name: 'lab.add',
      args: [2, 'x'],
      kwargs: { password: 'p', big: 1 },
      worker: 'w1@alpha',
      retries: 2,
      queue: 'celery',
      parent_id: 'p',
      group_id: 'g',
    };
    const numbers = meta(extended).replace('"big": 1', '"big": 36893488147419103232');
    expect(told(numbers)).toMatchObject({
      name: 'lab.add',
      args: "(2, 'x')",
      kwargs: "{'password': 'p', 'big': 36893488147419103232}",
      worker: 'w1@alpha',
      retries: 2,
      queue: 'celery',
      parentId: 'p',
      groupId: 'g',
    });
    const unknown = Object.fromEntries(Object.keys(extended).map((key) => [key, null]));
    expect(told(meta(unknown))).toEqual(told(meta()));
  });

  it('says that a task which has run has no parent, and nothing of one that has not', () => {
    const failure = { status: 'FAILURE', result: { exc_type: 'ValueError', exc_message: ['boom'] } };
    expect(told(meta({ ...failure, worker: 'w1@alpha' }))?.parentId).toBeNull();
    expect(told(meta({ ...failure, worker: null }))).not.toHaveProperty('parentId');
    expect(told(meta({ ...failure, parent_id: 'b' }))?.parentId).toBe('b');
  });

  it('of a started task names its worker and no time', () => {
    expect(
      told(meta({ status: 'STARTED', result: { pid: 30304, hostname: 'w1@alpha' }, date_done: null })),
    ).toEqual({ id: 'a', type: 'started', time: null, origin: 'result', worker: 'w1@alpha', parentId: null });
  });

  it('shows numbers that JSON does not know', () => {
    const message = meta({ result: '@' }).replace('"@"', '[NaN, -Infinity, 1.0, 1e+300]');
    expect(told(message)?.result).toBe('[nan, -inf, 1.0, 1e+300]');
  });

  it.each([
    [{ exc_type: 'ValueError', exc_message: ['boom'], exc_module: 'builtins' }, "ValueError('boom')"],
    [{ exc_type: 'LabError', exc_message: [42, { why: 'x' }] }, "LabError(42, {'why': 'x'})"],
    [{ exc_type: 'KeyError', exc_message: [] }, 'KeyError()'],
    [{ exc_type: 'OSError', exc_message: 'text' }, "OSError('text')"],
    [{ exc_type: 'OSError' }, 'OSError()'],
    [{ custom: 1 }, "{'custom': 1}"],
    ['said so', 'said so'],
    [[1], '[1]'],
    [null, undefined],
  ])('of a failure with %j has the exception %s', (result, exception) => {
    const change = told(meta({ status: 'FAILURE', result, traceback: 'Traceback …' }));
    expect(change).toMatchObject({ type: 'failed', time: done, traceback: 'Traceback …' });
    expect(change?.exception).toBe(exception);
    expect(change).not.toHaveProperty('result');
  });

  it.each([
    ['revoked', true],
    ['expired', false],
    ['terminated', false],
  ])('of a revoked task with the reason %s is tentative: %s', (reason, tentative) => {
    const result = { exc_type: 'TaskRevokedError', exc_message: [reason], exc_module: 'celery.exceptions' };
    expect(told(meta({ status: 'REVOKED', result }))).toMatchObject({ type: 'revoked', tentative });
  });

  it('of a retry has the exception and no time', () => {
    const result = { exc_type: 'OSError', exc_message: ['never'] };
    expect(told(meta({ status: 'RETRY', result, date_done: null, retries: 0 }))).toMatchObject({
      type: 'retried',
      time: null,
      retries: 0,
      exception: "OSError('never')",
    });
  });

  it('of a state that a task invents has its report as detail', () => {
    expect(told(meta({ status: 'PROGRESS', result: { current: 1, total: 3 }, date_done: null }))).toEqual({
      id: 'a',
      type: 'custom',
      state: 'PROGRESS',
      time: null,
      origin: 'result',
      detail: "{'current': 1, 'total': 3}",
      progress: { current: 1, total: 3, percent: 33.33, text: null },
    });
    expect(
      told(meta({ status: 'PROGRESS', result: { current: '@' } }).replace('"@"', 'NaN')),
    ).not.toHaveProperty('progress');
    const long = { current: 1, total: 3, log: 'x'.repeat(100_000) };
    expect(told(meta({ status: 'PROGRESS', result: long }))).not.toHaveProperty('progress');
    expect(told(meta({ status: '__proto__', date_done: null }))?.state).toBe('__proto__');
  });

  it('does not take a stamp for what Celery wrote', () => {
    const stamps = { name: 'acme', worker: 'x', retries: 3, tenant: ['acme', null] };
    expect(told(meta({ stamped_headers: Object.keys(stamps), ...stamps }))).toEqual({
      ...told(meta()),
      stamps,
    });
    expect(told(meta({ stamped_headers: ['status'], status: 'acme' }))).toBeNull();
  });

  it('keeps small stamps alone, whatever they are called', () => {
    const stamps = JSON.parse('{"__proto__": 1, "constructor": "x", "long": ""}') as Record<string, unknown>;
    const names = ['__proto__', 'constructor', 'long', 'absent', 7, null];
    const seen = told(meta({ stamped_headers: names, ...stamps, long: 'x'.repeat(10_000) }));
    expect(JSON.stringify(seen?.stamps)).toBe('{"__proto__":1,"constructor":"x"}');
    const number = meta({ stamped_headers: ['ratio'], ratio: '@' }).replace('"@"', 'NaN');
    expect(told(number)?.stamps).toEqual({ ratio: null });
    expect(told(meta({ stamped_headers: null }))).toEqual(told(meta()));
    expect(told(meta({ stamped_headers: 'tenant', tenant: 1 }))).toEqual(told(meta()));
  });

  it('without an id is of the task that the channel names', () => {
    expect(told(meta({ task_id: undefined }))?.id).toBe('from-the-channel');
  });

  it('keeps nothing of a long message but what it tells', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const padding = 'x'.repeat(1_000_000);
    const heap = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    const changes = Array.from({ length: 60 }, (_, at) => {
      const failed = { status: 'FAILURE', result: { exc_type: 'E', exc_message: [`no such item ${at}`] } };
      const more = {
        task_id: `8090b94c-6a1e-4d4e-${at}`,
        parent_id: `p090b94c-6a1e-4d4e-${at}`,
        name: `shop.tasks.number_${at}`,
        args: [`argument number ${at}`],
        kwargs: { argument: `number ${at}` },
        traceback: `Traceback of number ${at}`,
        stamped_headers: ['padding', 'tenant'],
        tenant: `the tenant ${at}`,
        padding,
      };
      return decodeResult(meta({ ...more, ...(at % 2 === 0 ? failed : {}) }), 'a', 100);
    });
    expect(heap() - before).toBeLessThan(10_000_000);
    expect(changes.every((change) => change !== null)).toBe(true);
  });

  it('makes no longer texts than it is told to', () => {
    const long = 'x'.repeat(100_000);
    const change = told(meta({ result: long, args: [long], kwargs: { long } }), 100);
    for (const field of ['result', 'args', 'kwargs']) {
      const { length } = String(change?.[field]);
      expect(length).toBeGreaterThan(100);
      expect(length).toBeLessThan(250);
    }
    const failed = told(meta({ status: 'FAILURE', result: { exc_type: 'E', exc_message: [long] } }), 100);
    expect(String(failed?.exception).length).toBeLessThan(250);
  });

  it.each([
    '',
    '3',
    'null',
    '[]',
    '{}',
    '{"status": 3}',
    '{"status": "SUCCESS"',
    '{"status": "SUCCESS", "result": [1, 2}',
    '{"status" "SUCCESS"}',
    '{"status": "SUCCESS" "a": 1}',
    '{status: 1}',
    '\u0080\u0004\u0095',
    'status: SUCCESS\n',
    'x\u009c\u00cb',
  ])('that is %j is not read', (message) => {
    expect(decodeResult(message, 'a', 100)).toBeNull();
  });
});
