import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/model.ts';
import { queryOf } from '../helpers/task-query.ts';

const { causeOf: causeOfTask } = queryOf();
const causeOf = (exception: string | null, traceback: string | null = null, more: Partial<Task> = {}) =>
  causeOfTask({ id: '1', state: 'FAILURE', exception, traceback, ...more });

const python = (file: string, name: string, error = 'KeyError: 1') =>
  `Traceback (most recent call last):
  File "/venv/celery/app/trace.py", line 451, in trace_task
    R = retval = fun(*args, **kwargs)
  File "/app/shop/${file}", line 12, in ${name}
    return prices[key]
${error}`;

describe('the cause of a failure', () => {
  it.each([
    ["ValueError('Order 11448 has no items')", 'ValueError', 'Order <number> has no items'],
    ['shop.errors.Declined: card 4242 of bob@example.com', 'Declined', 'card <number> of <address>'],
    ["KeyError('a')", 'KeyError', '<value>'],
    ["KeyError: 'a'", 'KeyError', '<value>'],
    ["OSError(2, 'No such file or directory')", 'OSError', '<number>, No such file or directory'],
    ['TypeError [ERR_INVALID_ARG]: The "path" argument', 'TypeError', 'The <value> argument'],
    ['connect ECONNREFUSED 10.0.0.7:6379', null, 'connect ECONNREFUSED <address>'],
    ['TimeoutError()', 'TimeoutError', null],
    ['TimeoutError', 'TimeoutError', null],
    [
      `RuntimeError("can't reach redis-7.internal:6379 in 2.5 s")`,
      'RuntimeError',
      "can't reach <address> in <number> s",
    ],
    ['<Task object at 0x7f3a2b10> is gone', null, '<Task object at <address>> is gone'],
    ['request 7b7a1d6e-0d3e-4a59-8f6a-0c1d2e3f4a5b failed', null, 'request <id> failed'],
    ['charge ch_3Mx9Qa2eZvKYlo failed at 2026-11-23T10:04:05.120Z', null, 'charge <id> failed at <number>'],
    ['GET https://shop.example/api?user=5 answered 502', null, 'GET <address> answered <number>'],
    ['no file /tmp/upload-123/x.csv', null, 'no file /tmp/upload-<number>/x.csv'],
    ['shop.declined: no funds', 'declined', 'no funds'],
    ['failed: no funds', null, 'failed: no funds'],
    ["ValueError('boom',)", 'ValueError', 'boom'],
    [`E((1, [2, 'a']), "a, b", 'c')`, 'E', '(<number>, [<number>, <value>]), a, b, <value>'],
    [String.raw`E('it\'s gone,\nfor good')`, 'E', "it's gone, for good"],
    ["'no funds'", null, 'no funds'],
    [String.raw`'a\'b' and 'c'`, null, '<value> and <value>'],
    [String.raw`'a\' b' and 'c'`, null, '<value> and <value>'],
    ["said 'it's here' now", null, 'said <value> now'],
    ["workers' and masters' logs", null, "workers' and masters' logs"],
    ['at ::1, 1::5 and fe80:0:0:0:1:2:3:4', null, 'at <address>, <address> and <address>'],
    ['at 10:04:05, -1.5%', null, 'at <number>, <number>'],
    ['no @app of a@', null, 'no @app of a@'],
    ['at 10.0.0.0/8: db:80, db:8', null, 'at <address>: <address>, db:<number>'],
    [
      'abc1234, abcd1234, g123hh, g1h2i, g12h34',
      null,
      'abc<number>, <id>, g<number>hh, g<number>h<number>i, <id>',
    ],
    ['GET https://shöp.example/5', null, 'GET <address>'],
  ])('has the class and the message of %s', (text, exception, message) => {
    expect(causeOf(text)).toMatchObject({ exception, message });
  });

  it('has names, addresses, words and ids that are not too long, or long enough', () => {
    const messageOf = (text: string) => causeOf(text)?.message;
    const z = (length: number) => 'z'.repeat(length);
    expect(causeOf(`${z(128)}(1)`)).toMatchObject({ exception: z(128), message: '<number>' });
    expect(causeOf(`${z(129)}(1)`)).toMatchObject({ exception: null, message: `${z(129)}(<number>)` });
    expect(messageOf(`at ${'ab:'.repeat(21)}f`)).toBe('at <address>');
    expect(messageOf(`at ${'ab:'.repeat(21)}ff`)).toBe(`at ${'ab:'.repeat(21)}ff`);
    expect(messageOf(`at ${'a'.repeat(15)}, ${'a'.repeat(16)}`)).toBe(`at ${'a'.repeat(15)}, <id>`);
    expect(messageOf(`at Z${z(13)}12, Z${z(12)}12, Z${z(14)}12`)).toBe(
      `at <id>, Z${z(12)}<number>, Z${z(14)}<number>`,
    );
    expect(messageOf(`${'z='.repeat(256)}`)).toBe(`${'z='.repeat(120).slice(0, -1)}…`);
    expect(messageOf(`${'z='.repeat(256)}z`)).toBe('<id>');
    expect(messageOf(`${z(238)}😀`)).toBe(`${z(238)}😀`);
    expect(messageOf(`${z(238)}😀z`)).toBe(`${z(238)}…`);
  });

  it.each([
    ['a Python traceback, without its line', python('charge.py', 'capture'), 'charge.py in capture'],
    ['an error that names a frame', python('a.py', 'pay', 'E: File "/b.py", line 1, in c'), 'a.py in pay'],
    ['an exception group', '  + Group\n  |   File "/app/pay.py", line 3, in pay\n  | E: no', 'pay.py in pay'],
    ['a path of Windows', 'Traceback:\n  File "C:\\app\\pay.py", line 3, in pay\nE: no', 'pay.py in pay'],
    ['a long name', python('a.py', 'f'.repeat(81)), `a.py in ${'f'.repeat(80)}`],
    ['a line of a script outside of functions', 'E: no\n    at /app/pay.js:3:1', 'pay.js'],
    ['a line without its column', 'E: no\n    at pay (/app/pay.js:3)', 'pay.js in pay'],
    ['a stack of Node alone', 'E: no\n    at open (node:fs:3:1)\n    at node:os:4:1', 'node:fs in open'],
    ['a stack without a place', 'E: no\n    at <anonymous>', null],
    ['a text that is no traceback', 'E: no File "a.py", line 1', null],
  ])('has the innermost frame of %s', (_, traceback, frame) => {
    expect(causeOf('no', traceback)?.frame).toBe(frame);
  });

  it('has the innermost frame of a JavaScript stack that is not of Node itself', () => {
    const stack = `TypeError: boom
    at node:internal/process/task_queues:95:5
    at async Charge.capture (file:///app/src/charge.js:10:5)
    at /app/src/worker.js:3:1`;
    expect(causeOf('boom', stack)).toMatchObject({
      exception: 'TypeError',
      frame: 'charge.js in Charge.capture',
    });
  });

  it('is one for equal errors with other values, and another one in another place', () => {
    const place = python('charge.py', 'capture');
    expect(causeOf("KeyError('a')", place)?.id).toBe(causeOf("KeyError('b')", place)?.id);
    expect(causeOf("KeyError('a')", place)?.id).not.toBe(
      causeOf("KeyError('b')", python('charge.py', 'refund'))?.id,
    );
  });

  it('is the same in every process', () => {
    expect(causeOf("ValueError('boom')")?.id).toBe('bb87d4c6caec');
  });

  it('is unknown where nothing tells it, where the task has not failed, and where another one has', () => {
    expect(causeOf(null)).toBeNull();
    expect(causeOf('boom')).not.toBeNull();
    expect(causeOf('boom', null, { state: 'RETRY' })).toBeNull();
    expect(causeOf('boom', null, { flags: ['consequence'] })).toBeNull();
  });

  it('is in the last line of a Python traceback if nothing else tells it', () => {
    const traceback = python('charge.py', 'capture');
    const cause = { exception: 'KeyError', message: '<number>', frame: 'charge.py in capture' };
    expect(causeOf(null, traceback)).toMatchObject(cause);
    expect(causeOf(null, `${traceback}\n`)).toEqual(causeOf(null, traceback));
    expect(causeOf(null, '\n')).toBeNull();
  });

  it('takes no line of Python code for a JavaScript frame', () => {
    const traceback = python('charge.py', 'capture').replace('return prices[key]', 'at += prices[key]');
    expect(causeOf('boom', traceback)).toEqual(causeOf('boom', python('charge.py', 'capture')));
  });

  it('does not take the end of what was cut for its innermost frame', () => {
    const traceback = python('charge.py', 'capture');
    expect(causeOf('boom', traceback, { truncated: ['traceback'] })?.frame).toBeNull();
  });

  it('is that of the beginning of a text whose rest is not known: the same beyond 240 characters', () => {
    const whole = `shop.Declined('card of customer 17 ${'has no funds '.repeat(80)}')`;
    const cutAt = (length: number) => causeOf(whole.slice(0, length), null, { truncated: ['exception'] });
    expect(causeOf(whole)?.message).toHaveLength(240);
    for (const length of [300, 500, 1_000]) expect(cutAt(length)).toEqual(causeOf(whole));
    expect(cutAt(100)?.id).not.toBe(causeOf(whole)?.id);
    expect(cutAt(100)?.exception).toBe('Declined');
  });

  it.each([
    ['quotes', "'"],
    ['escaped quotes', "\\'"],
    ['quotes that close nothing', "('a"],
    ['colons', ':'],
    ['digits', '1'],
    ['hexadecimal digits', 'a1'],
    ['brackets', 'E(('],
    ['frames', '  File "x", line 1, in y\n'],
    ['names of frames', 'File "'],
    ['lines of a stack', '    at '],
    ['words', 'boom 12 '],
  ])('is that of the beginning of 1 MiB of %s, however it goes on', (_, part) => {
    const text = `E: ${part.repeat(Math.ceil(2 ** 20 / part.length))}`;
    const isCut: Partial<Task> = { truncated: ['exception'] };
    expect(causeOf(text)).toEqual(causeOf(text.slice(0, 2_048), null, isCut));
    expect(causeOf(text, text)).toEqual(causeOf(text.slice(0, 2_048), text.slice(-4_096), isCut));
  });
});
