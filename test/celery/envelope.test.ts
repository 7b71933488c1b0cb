import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { context, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

/** As kombu writes it. */
function envelope(body: string, changes: Record<string, unknown> = {}): string {
  const whole = {
    body: Buffer.from(body).toString('base64'),
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

const now = (): number => Date.now() / 1000;

function event(uuid: string, more: object = {}): string {
  const received = { type: 'task-received', uuid, name: 'shop.pay', hostname: 'w1@alpha', timestamp: now() };
  return JSON.stringify({ ...received, ...more });
}

const PLAIN = { properties: { body_encoding: 'utf-8' } };

function reordered(message: string): string {
  const { body, ...rest } = JSON.parse(message) as Record<string, unknown>;
  return JSON.stringify({ ...rest, body });
}

/** Messages with the event of one task, by its id. */
const READABLE: Readonly<Record<string, (id: string) => string>> = {
  'written by kombu, of which an id may hold "quotes", commas': (id) => envelope(`[${event(id)}]`),
  'without spaces': (id) =>
    envelope(`[${event(id)}]`)
      .replaceAll('": ', '":')
      .replaceAll(', "', ',"'),
  'with a plain body': (id) => envelope('', { body: `[${event(id)}]`, ...PLAIN }),
  'without properties': (id) => envelope('', { body: `[${event(id)}]`, properties: null }),
  'with its members in another order': (id) => reordered(envelope(`[${event(id)}]`)),
  'with one event that is in no array': (id) => envelope(event(id)),
  'with a number that JSON does not know': (id) => envelope(event(id, { x: 0 }).replace('"x":0', '"x":NaN')),
  'behind no events': (id) => envelope(`[${event(id)}, ${event(id)}]`),
};

/** Messages that cannot be read. */
const UNREADABLE: Readonly<Record<string, string>> = {
  pickle: envelope(`[${event('no')}]`, { 'content-type': 'application/x-python-serialize' }),
  'a compression': envelope(`[${event('no')}]`, { headers: { compression: 'application/x-gzip' } }),
  'a body that is no JSON': envelope('nope'),
  'half a value': envelope('{"a":}'),
  'half a number': envelope('[NaN'),
  'half a text': envelope('"open'),
  'two numbers in one': envelope('[NaNNaN]'),
  'no body': envelope('', { body: null }),
  'a body that is a number': '{"body": 3}',
  'no envelope': 'PING',
  'an empty envelope': '{}',
  'an array': '[]',
  nothing: '',
  'a number': '3',
  null: 'null',
  'an open end': '{"body": "',
};

/** A text of arguments, and whether its sender cut it. */
const TEXTS: readonly (readonly [string, boolean])[] = [
  [`'${'A'.repeat(1024)}...'`, true],
  [`([${'1, '.repeat(340)}22..., ...],)`, true],
  ["({'a': {'b': {...}}},)", true],
  ['[[...], (...), (...,)]', true],
  ["('wait...', 1)", false],
  ["('it\\'s ...', 1)", false],
  ['(1, 2)', false],
];

/** Enough that reading them all at once would keep the host waiting. */
const MANY = 5_000;

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'messages of events'), () => {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;

  beforeAll(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
  });

  afterAll(async () => {
    client?.destroy();
    await redis?.close();
  });

  async function open(): Promise<CelerySources> {
    const sources = celerySources({ broker: redis.url(), control: false });
    onTestFinished(() => sources.close());
    await until(() => sources.tasks.status?.().ok === true);
    return sources;
  }

  const publish = (message: string) => client.publish('/0.celeryev/task.multi', message);
  const dropped = async (sources: CelerySources) => (await sources.history.getHistoryStats(context)).dropped;
  const isKnown = (sources: CelerySources, id: string) => async (): Promise<boolean> =>
    (await stateOf(sources, id)) !== null;

  it('are read however they are written', async () => {
    const sources = await open();
    const titles = Object.keys(READABLE);
    for (const title of titles) await publish(READABLE[title]?.(title) ?? '');
    await publish(envelope('[]'));
    await publish(envelope(`[${event('last')}]`));
    await until(isKnown(sources, 'last'));
    const { tasks } = await sources.tasks.listTasks(queryOf(), context);
    expect(tasks.map(({ id }) => id).sort()).toEqual([...titles, 'last'].sort());
    expect(await dropped(sources)).toBe(0);
  });

  it('that cannot be read are counted, each by itself', async () => {
    const sources = await open();
    for (const message of Object.values(UNREADABLE)) await publish(message);
    await publish(envelope(`[${event('last')}]`));
    await until(isKnown(sources, 'last'));
    expect((await sources.tasks.listTasks(queryOf(), context)).total).toBe(1);
    expect(await dropped(sources)).toBe(Object.keys(UNREADABLE).length);
  });

  it('say which texts their senders cut', async () => {
    const sources = await open();
    const events = TEXTS.map(([args], at) => event(`task-${at}`, { args, kwargs: '{}' }));
    await publish(envelope(`[${events.join()}]`));
    await until(isKnown(sources, `task-${TEXTS.length - 1}`));
    const found: (readonly [string, boolean])[] = [];
    for (const [at, [args]] of TEXTS.entries()) {
      const task = await sources.tasks.getTask(`task-${at}`, context);
      found.push([args, task?.truncated?.includes('args') === true]);
    }
    expect(found).toEqual(TEXTS);
  });

  it('that are long are read while the host has its turns, in their order with those that follow', async () => {
    const sources = await open();
    const events = Array.from({ length: MANY }, (_, at) => event(`long-${at}`, { args: '["a", {}]\\"]' }));
    await publish(envelope(`[${events.join()}]`));
    await publish(envelope(`[${event('behind')}]`));
    const revisions = new Set<unknown>();
    // One turn of the host after the other.
    for (let turn = 1; turn % 50 > 0 || !(await isKnown(sources, 'behind')()); turn += 1) {
      revisions.add(sources.tasks.status?.().revision);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(revisions.size).toBeGreaterThan(10);
    expect((await sources.tasks.listTasks(queryOf({ limit: 1 }), context)).total).toBe(MANY + 1);
    const newest = { limit: 1, since: null, states: [], workers: [], tasks: [] };
    expect((await sources.events.listEvents(newest, context)).events[0]?.taskId).toBe('behind');
  });

  it('that are long and broken are read as far as they go', async () => {
    const sources = await open();
    const more = 'x'.repeat(200_000);
    const first = (id: string): string => event(id, { args: more });
    for (const [id, body] of [
      ['open', `[${first('open')}, {"uuid"`],
      ['behind', `[${first('behind')}] 2`],
      ['fault', `[${first('fault')} ${first('fault')}]`],
    ] as const) {
      await publish(envelope(body));
      await publish(envelope(`[${event(`after-${id}`)}]`));
    }
    await until(isKnown(sources, 'after-fault'));
    for (const id of ['after-open', 'after-behind']) expect(await isKnown(sources, id)()).toBe(true);
  });
});
