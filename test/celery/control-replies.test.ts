import { describe, expect, it } from 'vitest';
import { unwrapReply } from '../../src/sources/celery/brokers/redis/control-envelope.ts';
import { nodeNameOf } from '../../src/sources/celery/control/node-name.ts';
import { type ControlReply, decodeReply } from '../../src/sources/celery/control/reply.ts';

const nobody = (): string[] => [];

/** Reads an element of a reply list. */
function read(element: string, known: () => string[]): (ControlReply & { ticket: string }) | null {
  const message = unwrapReply(element);
  const reply = message === null ? null : decodeReply(message, known);
  return message === null || reply === null ? null : { ticket: message.ticket, ...reply };
}

/** A reply as kombu's Redis transport stores it. */
function replyOf(body: string | Buffer, more: object = {}): string {
  return JSON.stringify({
    body: Buffer.from(body).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { ticket: 't1', clock: 4 },
    properties: { body_encoding: 'base64', delivery_tag: 'x' },
    ...more,
  });
}

describe('a reply', () => {
  it('in JSON tells who answers what', () => {
    expect(read(replyOf('{"w1@alpha": {"ok": "pong"}}'), nobody)).toEqual({
      ticket: 't1',
      worker: 'w1@alpha',
      value: { ok: 'pong' },
      isError: false,
      isUnreadable: false,
    });
  });

  it('in JSON may hold numbers that only Python writes, and stand in the envelope as text', () => {
    const reply = replyOf('', {
      body: '{"w@a": {"limit": Infinity}}',
      properties: { body_encoding: 'utf-8' },
    });
    expect(read(reply, nobody)).toMatchObject({ worker: 'w@a', value: { limit: null } });
  });

  it('that is an error has no value, and does not pass on what the worker says', () => {
    expect(read(replyOf(`{"w1@a": {"error": "KeyError('SECRET')"}}`), nobody)).toEqual({
      ticket: 't1',
      worker: 'w1@a',
      value: null,
      isError: true,
      isUnreadable: false,
    });
    // Settings that happen to have one of that name are no error.
    expect(read(replyOf('{"w1@a": {"error": "x", "more": 1}}'), nobody)?.isError).toBe(false);
  });

  it.each([
    '',
    'no JSON',
    '[]',
    'null',
    '{}',
    '{"headers": null, "body": ""}',
    '{"headers": {"ticket": 1}, "body": ""}',
    '{"headers": {"ticket": "t"}, "body": 1}',
    replyOf('{}'),
    replyOf('{broken'),
    replyOf('[]'),
    replyOf(''),
    replyOf('{"": 1}'),
    replyOf('{"__proto__": 1}'),
    replyOf('{"w1@a\\n": 1}'),
    replyOf(`{"${'x'.repeat(600)}": 1}`),
  ])('is not made of %j', (message) => {
    expect(read(message, nobody)).toBeNull();
  });

  it('that cannot be read still comes from somebody', () => {
    const unreadable = { value: null, isError: false, isUnreadable: true };
    const known = (): string[] => ['w1@a', 'w1@alpha', 'w2@b'];
    const secret = replyOf('xx w1@alpha xx', { 'content-type': 'application/data' });
    expect(read(secret, known)).toEqual({ ticket: 't1', worker: 'w1@alpha', ...unreadable });
    expect(read(secret, nobody)).toEqual({ ticket: 't1', worker: null, ...unreadable });
    const compressed = replyOf('x', { headers: { ticket: 't1', compression: 'application/x-gzip' } });
    expect(read(compressed, known)).toEqual({ ticket: 't1', worker: null, ...unreadable });
  });
});

/** `pickle.dumps`, `msgpack.packb` and `yaml.safe_dump` of `{'w1@alpha': {'ok': 'pong'}}`, and what looks like it. */
const ENCODED: [string, string, string | null][] = [
  [
    'application/x-python-serialize',
    '80027d71005808000000773140616c70686171017d710258020000006f6b71035804000000706f6e67710473732e',
    'w1@alpha',
  ],
  [
    'application/x-python-serialize',
    '8004951e000000000000007d948c08773140616c706861947d948c026f6b948c04706f6e679473732e',
    'w1@alpha',
  ],
  [
    'application/x-python-serialize',
    '8005951e000000000000007d948c08773140616c706861947d948c026f6b948c04706f6e679473732e',
    'w1@alpha',
  ],
  ['application/x-python-serialize', '80056373797374656d0a', null],
  ['application/x-python-serialize', '80057d948cff7731', null],
  ['application/x-python-serialize', '80057d9458ffffffff7731', null],
  ['application/x-python-serialize', '80', null],
  ['application/x-msgpack', '81a8773140616c70686181a26f6ba4706f6e67', 'w1@alpha'],
  ['application/x-msgpack', '81d908773140616c70686181', 'w1@alpha'],
  ['application/x-msgpack', '81a8', null],
  ['application/x-yaml', Buffer.from('w1@alpha: {ok: pong}\n').toString('hex'), 'w1@alpha'],
  ['application/x-yaml', Buffer.from('w1@alpha:\n  ok: pong\n').toString('hex'), 'w1@alpha'],
  ['application/x-yaml', Buffer.from("'1@a:b': 1\n").toString('hex'), '1@a:b'],
  ['application/x-yaml', Buffer.from('"w\u00e4@b": 1\n').toString('hex'), 'w\u00e4@b'],
  ['application/x-yaml', Buffer.from('? w1@alpha\n: []\n').toString('hex'), 'w1@alpha'],
  ['application/x-yaml', Buffer.from('no name at all\n').toString('hex'), null],
  ['application/x-yaml', Buffer.from('noname: 1\n').toString('hex'), null],
];

it.each(ENCODED)('in %s, %s names the worker %s', (type, hex, name) => {
  expect(nodeNameOf(type, Buffer.from(hex, 'hex'), nobody)).toBe(name);
});
