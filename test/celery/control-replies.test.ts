import { expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { holdTime, openArrayDeployment, pass } from './array-deployment.ts';
import { type ArrayReply, createArrayMailbox } from './array-mailbox.ts';

const JSON_TYPE = 'application/json';
const DEAD = { ok: false, responding: [] };

const text = (body: string, more: Partial<ArrayReply> = {}): ArrayReply => ({
  body: Buffer.from(body),
  ...more,
});
const hex = (contentType: string, body: string): ArrayReply => ({
  contentType,
  body: Buffer.from(body, 'hex'),
});

/** Replies to a ping, and what they tell: who replied, or that somebody did. */
const REPLIES: readonly (readonly [string, ArrayReply, object])[] = [
  ['a pong', text('{"w1@alpha": {"ok": "pong"}}'), { ok: true, responding: ['w1@alpha'] }],
  [
    'a number that only Python writes',
    text('{"w@a": {"limit": Infinity}}'),
    { ok: true, responding: ['w@a'] },
  ],
  ['an error', text(`{"w1@a": {"error": "KeyError('SECRET')"}}`), { ok: true, responding: ['w1@a'] }],
  ['no worker', text('{}'), DEAD],
  ['broken JSON', text('{broken'), DEAD],
  ['an array', text('[]'), DEAD],
  ['nothing', text(''), DEAD],
  ['an empty name', text('{"": 1}'), DEAD],
  ['a name of the prototype', text('{"__proto__": 1}'), DEAD],
  ['a name with a line break', text('{"w1@a\\n": 1}'), DEAD],
  ['a name that is too long', text(`{"${'x'.repeat(600)}": 1}`), DEAD],
  ['a type that is not known', text('xx w1@alpha xx', { contentType: 'application/data' }), { ok: true }],
  ['a compressed body', text('x', { contentType: JSON_TYPE, isCompressed: true }), { ok: true }],
  // `pickle.dumps`, `msgpack.packb` and `yaml.safe_dump` of `{'w1@alpha': {'ok': 'pong'}}`, and what only looks like it.
  [
    'pickle',
    hex(
      'application/x-python-serialize',
      '8005951e000000000000007d948c08773140616c706861947d948c026f6b948c04706f6e679473732e',
    ),
    { ok: true },
  ],
  ['a pickle of a call', hex('application/x-python-serialize', '80056373797374656d0a'), { ok: true }],
  ['a cut pickle', hex('application/x-python-serialize', '80057d9458ffffffff7731'), { ok: true }],
  ['msgpack', hex('application/x-msgpack', '81a8773140616c70686181a26f6ba4706f6e67'), { ok: true }],
  ['cut msgpack', hex('application/x-msgpack', '81a8'), { ok: true }],
  ['YAML', text('w1@alpha: {ok: pong}\n', { contentType: 'application/x-yaml' }), { ok: true }],
];

it.each(REPLIES)('takes a reply for what it is: %s', async (_, reply, expected) => {
  holdTime(Date.now());
  const control = createArrayMailbox({ sender: () => reply });
  const { sources } = openArrayDeployment({ broker: (made) => ({ ...made, control }) });
  const checked = sources.health.checkWorkers?.({ ...context, ping: true });
  await pass(2_000);
  const check = await checked;
  expect(check).toMatchObject(expected);
  expect(JSON.stringify(check)).not.toContain('SECRET');
});

it('takes a setting of the name error for no error', async () => {
  holdTime(Date.now());
  const control = createArrayMailbox({
    'w1@a': ({ method }) => ({ value: method === 'stats' ? { error: 'x', pid: 3 } : {} }),
    'w2@b': ({ method }) => ({ value: method === 'stats' ? { error: 'SECRET' } : {} }),
  });
  const { sources } = openArrayDeployment({ broker: (made) => ({ ...made, control }) });
  void sources.workers.status?.();
  await pass(4_000);
  const workers = await sources.workers.listWorkers(context);
  expect(workers.map(({ hostname, pid }) => [hostname, pid ?? null])).toEqual([
    ['w1@a', 3],
    ['w2@b', null],
  ]);
  expect(JSON.stringify(workers)).not.toContain('SECRET');
});
