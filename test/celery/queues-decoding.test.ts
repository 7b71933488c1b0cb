import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTaken, decodeWaiting } from '../../src/sources/celery/protocol/queue-message.ts';
import { waitingMessage } from '../../src/sources/celery/queues/waiting-message.ts';
import { messageOf } from './queues-lab.ts';

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');

/** A message with other members than usual. */
function message(more: Record<string, unknown>, headers: Record<string, unknown> = {}): string {
  const plain = JSON.parse(messageOf('a')) as Record<string, Record<string, unknown>>;
  return JSON.stringify({ ...plain, headers: { ...plain.headers, ...headers }, ...more });
}

const signature = (id: string, more: object = {}): object => ({
  task: 'yard.add',
  args: [],
  kwargs: {},
  options: { task_id: id },
  subtask_type: null,
  immutable: false,
  ...more,
});

describe('a message in a queue', () => {
  it('tells its task by its headers, whatever its members stand in', () => {
    const usual = decodeWaiting(messageOf('a', { args: '(1,)' }), 'q');
    expect(usual).toMatchObject({
      facts: {
        id: 'a',
        name: 'yard.add',
        queue: 'q',
        args: '(1,)',
        chordId: null,
        parentId: null,
        retries: 0,
      },
      deliveryTag: 'tag-a',
      takenAt: null,
      redelivered: false,
    });
    expect(decodeWaiting(message({}, { argsrepr: '(1,)' }), 'q')).toEqual(usual);
    expect(decodeWaiting(` ${messageOf('a', { args: '(1,)' })}`, 'q')).toEqual(usual);
  });

  it('tells which entry of a schedule sent it, by its property or header', () => {
    const { properties } = JSON.parse(messageOf('a')) as { properties: object };
    const named = message({ properties: { ...properties, periodic_task_name: 'nightly report' } });
    expect(decodeWaiting(named, 'q')?.periodicTask).toBe('nightly report');
    expect(decodeWaiting(message({}, { periodic_task_name: 'hourly' }), 'q')?.periodicTask).toBe('hourly');
    expect(decodeWaiting(message({}, { periodic_task_name: 7 }), 'q')?.periodicTask).toBeNull();
  });

  it('takes times without an offset for UTC, as Celery does', () => {
    const facts = decodeWaiting(
      message({}, { eta: '2026-11-21T10:00:00.123456', expires: '2026-11-21T10:00:00+05:30' }),
      'q',
    )?.facts;
    expect(facts).toMatchObject({
      eta: Date.UTC(2026, 10, 21, 10, 0, 0, 123),
      expires: Date.UTC(2026, 10, 21, 4, 30),
    });
  });

  it('makes reprs of arguments where the sender gave none', () => {
    const body = base64('[[1, 1.0, NaN, "x", 12345678901234567890], {"a": null}, {"chord": null}]');
    const facts = decodeWaiting(message({ body }, { argsrepr: null, kwargsrepr: undefined }), 'q')?.facts;
    expect(facts).toMatchObject({
      args: "(1, 1.0, nan, 'x', 12345678901234567890)",
      kwargs: "{'a': None}",
      chordId: null,
    });
    expect(facts?.truncated).toBeUndefined();
  });

  it('tells of all that follows: a chain from its end, callbacks, errbacks, a chord', () => {
    const group = signature('g', {
      subtask_type: 'group',
      kwargs: { tasks: [signature('m1'), signature('m2')] },
    });
    const embed = {
      chain: [signature('third'), group, signature('second')],
      callbacks: [signature('callback', { options: { task_id: 'callback', link: [signature('deep')] } })],
      errbacks: [signature('errback')],
      chord: signature('body'),
    };
    const task = decodeWaiting(message({ body: base64([[], {}, embed]) }), 'q');
    expect(task?.chain.map(({ taskId, type }) => [taskId, type])).toEqual([
      ['second', null],
      ['g', 'group'],
      ['third', null],
    ]);
    expect(task?.chain[1]?.tasks.map(({ taskId }) => taskId)).toEqual(['m1', 'm2']);
    expect(task?.callbacks[0]?.callbacks[0]?.taskId).toBe('deep');
    expect(task?.errbacks[0]?.taskId).toBe('errback');
    expect(task?.facts.chordId).toBe('body');
    expect(waitingMessage(task, { tag: 'a', part: '', takenAt: null }).relations).toEqual(
      expect.arrayContaining([
        { parent: 'a', child: 'second', relation: 'chain' },
        { parent: 'second', child: 'm1', relation: 'chain' },
        { parent: 'a', child: 'callback', relation: 'link' },
        { parent: 'a', child: 'body', relation: 'chord' },
      ]),
    );
  });

  it('is unpacked where it is a zlib stream of bounded size', () => {
    const embed = { callbacks: null, errbacks: null, chain: null, chord: signature('body') };
    const pack = (value: unknown): string => deflateSync(JSON.stringify(value)).toString('base64');
    const gzip = { compression: 'application/x-gzip' };
    expect(decodeWaiting(message({ body: pack([[], {}, embed]) }, gzip), 'q')?.facts.chordId).toBe('body');
    const bomb = pack(['x'.repeat(50_000_000), {}, embed]);
    const facts = decodeWaiting(message({ body: bomb }, gzip), 'q')?.facts;
    expect(facts).toMatchObject({ id: 'a', args: '()' });
    expect(facts?.chordId).toBeUndefined();
  });

  it('is never decoded when it is a pickle; its headers tell enough', () => {
    const pickle = { 'content-type': 'application/x-python-serialize', body: base64('cos\nsystem\n') };
    expect(decodeWaiting(message(pickle, { argsrepr: '(1,)' }), 'q')?.facts).toMatchObject({
      id: 'a',
      args: '(1,)',
      chordId: undefined,
    });
    const first = { ...pickle, headers: {}, properties: { correlation_id: 'b', delivery_tag: 't' } };
    expect(decodeWaiting(JSON.stringify(first), 'q')?.facts).toMatchObject({ id: 'b', name: undefined });
  });

  it('says which of its arguments are cut', () => {
    const long = `('${'x'.repeat(70_000)}',)`;
    const facts = decodeWaiting(message({}, { argsrepr: long, kwargsrepr: "{'a': [...]}" }), 'q')?.facts;
    expect(facts?.args).toHaveLength(65_536);
    expect(facts?.truncated).toEqual(['args', 'kwargs']);
  });

  it('tells its queue by where a worker took it from', () => {
    const raw = `[${messageOf('a')}, "report", "report.daily"]`;
    const find = (exchange: string, key: string): string | null =>
      exchange === 'report' ? `q:${key}` : null;
    const task = decodeTaken(raw, 5000, find);
    expect(task).toMatchObject({
      facts: { queue: 'q:report.daily' },
      queue: 'q:report.daily',
      takenAt: 5000,
    });
    expect(decodeTaken(raw, 5000, () => null)?.facts.queue).toBeUndefined();
  });

  it('is none when it is broken, and nothing is thrown', () => {
    const broken = [
      '',
      '{',
      'null',
      '[]',
      '"text"',
      '{"body": "',
      '{"body": "x", ',
      '{"headers": {"id": "", "task": "x"}}',
      message({}, { id: 7 }),
      message({}, { id: 'x'.repeat(513) }),
      message({ headers: {}, body: base64({ id: 'a' }) }),
      message({ headers: {}, body: '????' }),
      JSON.stringify({ body: base64({ task: 'x' }), 'content-type': 'application/json', headers: {} }),
    ];
    for (const raw of broken) {
      expect([raw, decodeWaiting(raw, 'q')]).toEqual([raw, null]);
      expect(decodeTaken(raw, null, () => 'q')).toBeNull();
    }
  });

  it('does not fail over deep, wide or polluting ones', () => {
    const deep = `${'{"options":{"link":['.repeat(3000)}${']}}'.repeat(3000)}`;
    const body = base64(`[[], {}, {"callbacks": [${deep}], "chord": ${deep}, "__proto__": {"x": 1}}]`);
    const task = decodeWaiting(message({ body }, { __proto__: { task: 'evil' } }), 'q');
    expect(task?.facts).toMatchObject({ id: 'a', name: 'yard.add' });
    const wide = Array.from({ length: 20_000 }, (_, index) => signature(String(index)));
    const wideTask = decodeWaiting(message({ body: base64([[], {}, { chain: wide }]) }), 'q');
    expect(wideTask?.chain).toHaveLength(10_000);
  });

  it('is never the reason of an exception', () => {
    const json = fc.json({ maxDepth: 4 });
    const property = fc.property(json, json, json, fc.string(), (headers, properties, body, type) => {
      const value = JSON.parse(body) as unknown;
      const raw = JSON.stringify({
        body: typeof value === 'string' ? value : base64(body),
        'content-type': type.length % 2 === 0 ? 'application/json' : type,
        headers: {
          ...(JSON.parse(messageOf('a')) as { headers: object }).headers,
          ...Object(JSON.parse(headers)),
        },
        properties: JSON.parse(properties) as unknown,
      });
      decodeWaiting(raw, 'q');
      decodeTaken(`[${raw}]`, null, () => null);
    });
    fc.assert(property, { numRuns: 500 });
  });
});
