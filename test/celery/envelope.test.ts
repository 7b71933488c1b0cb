import { describe, expect, it } from 'vitest';
import { decodeEnvelope, decodeInSteps } from '../../src/sources/celery/brokers/redis/envelope.ts';
import { wasCut } from '../../src/sources/celery/protocol/truncation.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** As kombu writes it. */
function envelope(body: string, changes: Record<string, unknown> = {}): string {
  const whole = {
    body: base64(body),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { hostname: 'w1@alpha' },
    properties: {
      delivery_mode: 1,
      delivery_info: { exchange: 'celeryev', routing_key: 'task.multi' },
      priority: 0,
      body_encoding: 'base64',
      delivery_tag: '7e310f4b',
    },
    ...changes,
  };
  return JSON.stringify(whole).replaceAll('":', '": ').replaceAll(',"', ', "');
}

describe('the envelope of events', () => {
  const events = '[{"type": "task-started", "uuid": "a,\\"b"}]';

  it.each([
    ['written by kombu', envelope(events)],
    ['without spaces', envelope(events).replaceAll('": ', '":').replaceAll(', "', ',"')],
    ['with a plain body', envelope('', { body: events, properties: { body_encoding: 'utf-8' } })],
    ['without properties', envelope('', { body: events, properties: null })],
  ])('is read %s', (_, message) => {
    expect(decodeEnvelope(message)).toEqual([{ type: 'task-started', uuid: 'a,"b' }]);
  });

  it('may have members in any order', () => {
    const { body, ...rest } = JSON.parse(envelope(events)) as Record<string, unknown>;
    expect(decodeEnvelope(JSON.stringify({ ...rest, body }))).toEqual([
      { type: 'task-started', uuid: 'a,"b' },
    ]);
  });

  it('may hold one event, none, and numbers that JSON does not know', () => {
    expect(decodeEnvelope(envelope('{"type": "x", "runtime": NaN}'))).toEqual({ type: 'x', runtime: null });
    expect(decodeEnvelope(envelope('[]'))).toEqual([]);
  });

  it.each([
    ['pickle', envelope(events, { 'content-type': 'application/x-python-serialize' })],
    ['a compression', envelope(events, { headers: { compression: 'application/x-gzip' } })],
    ['a body that is no JSON', envelope('nope')],
    ['no body', envelope(events, { body: null })],
    ['no envelope', 'PING'],
    ['a number', '3'],
    ['null', 'null'],
    ['an open end', '{"body": "'],
  ])('that has %s is not read', (_, message) => {
    expect(decodeEnvelope(message)).toBeUndefined();
  });
});

describe('a repr', () => {
  it.each([
    [`'${'A'.repeat(1024)}...'`, true],
    [`([${'1, '.repeat(340)}22..., ...],)`, true],
    ["({'a': {'b': {...}}},)", true],
    ['[[...], (...), (...,)]', true],
    ["('wait...', 1)", false],
    ["('it\\'s ...', 1)", false],
    ['(1, 2)', false],
    ['', false],
  ])('%.40s was cut: %s', (repr, cut) => {
    expect(wasCut(repr)).toBe(cut);
  });
});

describe('a long message of events', () => {
  /** The bodies that are taken, and how many pauses there were. */
  function decoded(message: string): { bodies: unknown[]; pauses: number } {
    const bodies: unknown[] = [];
    const pauses = [...decodeInSteps(message, (body) => bodies.push(body))].length;
    return { bodies, pauses };
  }

  it('is read a few events at a time, all of them and in their order', () => {
    const events = Array.from({ length: 20_000 }, (_, n) => ({ uuid: `${n}`, args: '["a", {}]\\"]' }));
    const { bodies, pauses } = decoded(envelope(JSON.stringify(events)));
    expect(bodies.flat()).toEqual(events);
    expect(Math.max(...bodies.map((body) => (body as unknown[]).length))).toBeLessThanOrEqual(32);
    expect(pauses).toBeGreaterThanOrEqual(bodies.length);
  });

  it.each([
    [
      'numbers that JSON does not know',
      '[{"runtime": NaN}, {"runtime": 1}]',
      [[{ runtime: null }, { runtime: 1 }]],
    ],
    ['no events', '[]', [[]]],
    ['one event', '{"uuid": "1"}', [{ uuid: '1' }]],
    ['a body that is no JSON', 'nope', [undefined]],
    ['an open end', '[{"uuid": "1"}, {"uuid"', [undefined]],
    ['more than an array', '[{"uuid": "1"}] 2', [[{ uuid: '1' }]]],
    ['a fault between events', '[{"uuid": "1"} {"uuid": "2"}]', [[{ uuid: '1' }], undefined]],
  ])('may have %s', (_, body, bodies) => {
    expect(decoded(envelope(body)).bodies).toEqual(bodies);
  });

  it('may have any other envelope', () => {
    const plain = envelope('', { body: '[{"uuid": "1"}]', properties: null });
    expect(decoded(plain).bodies).toEqual([[{ uuid: '1' }]]);
    expect(decoded('PING').bodies).toEqual([undefined]);
  });
});
