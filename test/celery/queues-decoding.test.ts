import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskDetail } from '../../src/model.ts';
import { context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';
import { openArrayDeployment } from './array-deployment.ts';
import { messageOf } from './queues-lab.ts';

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');

/** A message of the task `a` with other members than usual. */
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

/** A deployment in which these messages wait, and behind them the task `last`. */
async function openQueue(...raws: readonly string[]) {
  const deployment = openArrayDeployment();
  deployment.waiting.push(...[...raws, messageOf('last')].map((raw) => ({ queue: 'q', raw })));
  await until(async () => (await deployment.task('last')) !== null);
  const { config } = await deployment.component('broker');
  return { ...deployment, unreadable: config.unreadable_messages };
}

/** What is shown of a message of the task `a`. */
async function shown(raw: string): Promise<TaskDetail | null> {
  return (await openQueue(raw)).task('a');
}

const PICKLE = { 'content-type': 'application/x-python-serialize', body: base64('cos\nsystem\n') };
const GZIP = { compression: 'application/x-gzip' };
const LONG = `('${'x'.repeat(70_000)}',)`;

/** Messages, and what is shown of their task. */
const MESSAGES: readonly (readonly [string, string, object])[] = [
  [
    'its headers',
    messageOf('a', { args: '(1,)' }),
    { id: 'a', name: 'yard.add', queue: 'q', args: '(1,)', chordId: null, parentId: null, retries: 0 },
  ],
  ['headers behind a long space', ` ${messageOf('a', { args: '(1,)' })}`, { args: '(1,)' }],
  ['headers in another order', message({}, { argsrepr: '(1,)' }), { args: '(1,)' }],
  [
    'times without an offset, which are UTC to Celery',
    message({}, { eta: '2026-11-21T10:00:00.123456', expires: '2026-11-21T10:00:00+05:30' }),
    {
      eta: new Date(Date.UTC(2026, 10, 21, 10, 0, 0, 123)),
      expires: new Date(Date.UTC(2026, 10, 21, 4, 30)),
    },
  ],
  [
    'keyword arguments of which the sender gave no text',
    message(
      { body: base64('[[1], {"a": null}, {"chord": null}]') },
      { argsrepr: null, kwargsrepr: undefined },
    ),
    { args: '(1,)', kwargs: "{'a': None}", truncated: [] },
  ],
  [
    'arguments that are cut',
    message({}, { argsrepr: LONG, kwargsrepr: "{'a': [...]}" }),
    { args: LONG.slice(0, 65_536), truncated: ['args', 'kwargs'] },
  ],
  ['a pickle by its headers alone', message(PICKLE, { argsrepr: '(1,)' }), { args: '(1,)', chordId: null }],
  [
    'a pickle of the first protocol by its properties',
    JSON.stringify({ ...PICKLE, headers: {}, properties: { correlation_id: 'a', delivery_tag: 't' } }),
    { id: 'a', name: null },
  ],
  [
    'a zlib stream of bounded size',
    message(
      { body: deflateSync(JSON.stringify([[], {}, { chord: signature('body') }])).toString('base64') },
      GZIP,
    ),
    { chordId: 'body' },
  ],
  [
    'a bomb by its headers alone',
    message({ body: deflateSync(JSON.stringify(['x'.repeat(50_000_000), {}, {}])).toString('base64') }, GZIP),
    { id: 'a', args: '()', chordId: null },
  ],
];

describe('a message in a queue', () => {
  it.each(MESSAGES)('is shown by %s', async (_, raw, expected) => {
    expect(await shown(raw)).toMatchObject(expected);
  });

  it('tells of all that follows: a chain from its end, callbacks, errbacks, a chord', async () => {
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
    const { tree } = await openQueue(message({ body: base64([[], {}, embed]) }));
    expect((await tree('a'))?.relations).toEqual(
      expect.arrayContaining([
        { parent: 'a', child: 'second', relation: 'chain' },
        { parent: 'second', child: 'm1', relation: 'chain' },
        { parent: 'second', child: 'm2', relation: 'chain' },
        { parent: 'a', child: 'callback', relation: 'link' },
        { parent: 'callback', child: 'deep', relation: 'link' },
        { parent: 'a', child: 'body', relation: 'chord' },
      ]),
    );
  });

  it('is counted as unreadable when it is broken', async () => {
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
    const { unreadable, task } = await openQueue(...broken);
    expect(unreadable).toBe(broken.length);
    expect(await task('a')).toBeNull();
  });

  it('does not fail when it is deep, wide or polluting', async () => {
    const deep = `${'{"options":{"link":['.repeat(3000)}${']}}'.repeat(3000)}`;
    const body = base64(`[[], {}, {"callbacks": [${deep}], "chord": ${deep}, "__proto__": {"x": 1}}]`);
    const polluting = message({ body }, { __proto__: { task: 'evil' } });
    expect(await shown(polluting)).toMatchObject({ id: 'a', name: 'yard.add' });
    const wide = Array.from({ length: 20_000 }, (_, index) => signature(String(index)));
    expect(await shown(message({ body: base64([[], {}, { chain: wide }]) }))).toMatchObject({ id: 'a' });
  });

  it('is never the reason of an exception', async () => {
    const json = fc.json({ maxDepth: 4 });
    const cases = fc.sample(fc.tuple(json, json, json, fc.string()), { numRuns: 500, seed: 11 });
    const raws = cases.map(([headers, properties, body, type], at) => {
      const value = JSON.parse(body) as unknown;
      return JSON.stringify({
        body: typeof value === 'string' ? value : base64(body),
        'content-type': type.length % 2 === 0 ? 'application/json' : type,
        headers: { ...JSON.parse(messageOf(`odd-${at}`)).headers, ...Object(JSON.parse(headers)) },
        properties: JSON.parse(properties) as unknown,
      });
    });
    const { sources, unreadable } = await openQueue(...raws);
    const [queue] = (await sources.queues.listQueues(context)) ?? [];
    expect(queue?.waiting).toBe(raws.length + 1);
    expect(unreadable).toBeLessThan(50);
  });
});
