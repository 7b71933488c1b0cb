import { describe, expect, it } from 'vitest';
import type { CelerySettings } from '../../src/celery.ts';
import { context } from '../helpers/celery-events.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import {
  controlError,
  type HeardRequest,
  LISTENERS,
  ping,
  pong,
  replyTo,
  SEPARATOR,
  untilResponding,
  useControlLab,
} from './control-lab.ts';

/** What may be sent, written out once more: whatever is added to it reaches every worker. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  ping: '{}',
  stats: '{}',
  active: '{"safe":true}',
  reserved: '{}',
  registered: '{}',
  active_queues: '{}',
  conf: '{"with_defaults":false}',
  enable_events: '{}',
};

/** Questions that everybody may be asked, since every worker can answer. */
const OPEN = new Set(['ping', 'enable_events']);

/** The bytes that workers are known to take. */
function expectedBytes(request: HeardRequest, names: readonly string[]): string {
  const { properties, headers } = JSON.parse(request.message);
  const { method, ticket, reply_to } = request;
  const body =
    `{"method":"${method}","arguments":${ARGUMENTS[method]},` +
    `"destination":${OPEN.has(method) ? 'null' : JSON.stringify(names)},"pattern":null,"matcher":null,` +
    `"ticket":"${ticket}","reply_to":{"exchange":"reply.celery.pidbox","routing_key":"${reply_to.routing_key}"}}`;
  return (
    `{"body":"${Buffer.from(body).toString('base64')}","content-encoding":"utf-8",` +
    `"content-type":"application/json","headers":{"clock":1,"expires":${headers.expires}},` +
    '"properties":{"delivery_mode":2,"delivery_info":{"exchange":"celery.pidbox","routing_key":""},' +
    `"priority":0,"body_encoding":"base64","delivery_tag":"${properties.delivery_tag}"}}`
  );
}

/** Settings, and where workers with them listen and await replies. */
const PLACES: readonly (readonly [string, CelerySettings, string, string, string])[] = [
  ['as Celery comes', {}, '/0.celery.pidbox', '_kombu.binding.reply.celery.pidbox', '.reply.celery.pidbox'],
  [
    'an exchange of its own',
    { control_exchange: 'ctl' },
    '/0.ctl.pidbox',
    '_kombu.binding.reply.ctl.pidbox',
    '.reply.ctl.pidbox',
  ],
  [
    'a key prefix',
    { broker_transport_options: { global_keyprefix: 'shop:' } },
    'shop:/0.celery.pidbox',
    'shop:_kombu.binding.reply.celery.pidbox',
    '.reply.celery.pidbox',
  ],
  [
    'no prefix of channels',
    { broker_transport_options: { fanout_prefix: false, fanout_patterns: false } },
    'celery.pidbox',
    '_kombu.binding.reply.celery.pidbox',
    '.reply.celery.pidbox',
  ],
  [
    'another prefix of channels',
    { broker_transport_options: { fanout_prefix: '/{db}-x.' } },
    '/0-x.celery.pidbox',
    '_kombu.binding.reply.celery.pidbox',
    '.reply.celery.pidbox',
  ],
  [
    'the name that kombu uses behind Sentinels',
    { broker_transport_options: { master_name: 'm' } },
    '/{db}.celery.pidbox',
    '_kombu.binding.reply.celery.pidbox',
    '.reply.celery.pidbox',
  ],
  [
    'other priorities and another separator',
    { broker_transport_options: { priority_steps: [1, 5], sep: ':' } },
    '/0.celery.pidbox',
    '_kombu.binding.reply.celery.pidbox',
    '.reply.celery.pidbox:5',
  ],
];

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'remote control'), () => {
  const lab = useControlLab();
  const { open, listener, expectNothingLeft } = lab;

  it('without anybody is answered at once, by nobody', async () => {
    const sources = await open();
    expect(await ping(sources)).toMatchObject({ ok: false, responding: [], missing: [] });
    expect(await controlError(sources)).toBeNull();
    await expectNothingLeft();
  });

  it('sends exactly the bytes that workers are known to take, and no other commands', async () => {
    const started = [{ id: 'a', type: 'shop.add', time_start: Date.now() / 1000 }];
    const { heard } = await listener(({ ticket, method }) => [
      replyTo(ticket, { 'w"2@ž': method === 'active' ? started : method === 'reserved' ? [] : {} }),
      replyTo(ticket, { 'w1@alpha': method === 'reserved' || method === 'active' ? [] : {} }),
    ]);
    const sources = await open({ enableEvents: true });
    await until(async () => {
      await sources.workers.listWorkers(context);
      await ping(sources);
      return new Set(heard.map(({ method }) => method)).size === Object.keys(ARGUMENTS).length;
    });
    for (const request of heard) {
      const names = request.destination ?? [];
      expect(names.length > 0).toBe(!OPEN.has(request.method));
      expect(request.message).toBe(expectedBytes(request, names));
      const { headers, properties } = JSON.parse(request.message);
      expect(headers.expires).toBeGreaterThan(Date.now() / 1000 - 100);
      for (const id of [request.ticket, request.reply_to.routing_key, properties.delivery_tag]) {
        expect(id).toMatch(/^[\w.-]{8,128}$/);
      }
    }
    expect(new Set(heard.map(({ ticket }) => ticket)).size).toBe(heard.length);
  });

  it.each(PLACES)('reaches workers where they are with %s', async (_, settings, channel, binding, key) => {
    const bindings: string[][] = [];
    const prefix = String(settings.broker_transport_options?.global_keyprefix ?? '');
    const place = { channel, replyKey: (oid: string) => `${prefix}${oid}${key}` };
    const { heard } = await listener(async (request) => {
      bindings.push(await lab.client.sMembers(binding));
      return pong('w1@a')(request);
    }, place);
    const sources = await open({ settings });
    await untilResponding(sources, 'w1@a');
    const oid = heard[0]?.reply_to.routing_key ?? '';
    const separator = settings.broker_transport_options?.sep ?? SEPARATOR;
    expect(bindings[0]).toEqual([`${oid}${separator}${separator}${oid}${key.replace(/:5$/, '')}`]);
    expect(await controlError(sources)).toBeNull();
    await expectNothingLeft();
  });

  it.each<CelerySettings>([
    { broker_transport_options: { fanout_prefix: 'mon.' } },
    { broker_transport_options: { fanout_prefix: '/mon' } },
    { broker_transport_options: { fanout_prefix: '/a.b.' } },
    { control_exchange: 'a/b' },
    { control_exchange: 'a/b', broker_transport_options: { fanout_prefix: false } },
  ])(
    'sends nothing with the settings %j, with which any message would end every worker',
    async (settings) => {
      const published: string[] = [];
      const own = lab.client.duplicate();
      await own.connect();
      lab.ends.push(async () => own.destroy());
      await own.pSubscribe('*', (message) => void published.push(message));
      const sources = await open({ settings });
      expect(await ping(sources)).toMatchObject({ responding: [] });
      await sources.workers.listWorkers(context);
      expect(await controlError(sources)).toMatch(/fanout_prefix/);
      await lab.client.publish('end', 'end');
      await until(() => published.includes('end'));
      expect(published).toEqual(['end']);
    },
  );

  it('sends nothing to workers that write bindings in another way', async () => {
    await lab.client.sAdd(LISTENERS, `${SEPARATOR}${SEPARATOR}w1@a.celery.pidbox`);
    const { heard } = await listener(pong('w1@a'));
    const odd = await open({ settings: { broker_transport_options: { sep: ':' } } });
    expect(await ping(odd)).toMatchObject({ responding: [] });
    expect(await controlError(odd)).toMatch(/broker_transport_options\.sep/);
    expect(heard).toEqual([]);
    expect(await lab.client.keys('*')).toEqual([LISTENERS]);
    await untilResponding(await open(), 'w1@a');
  });

  it('switches no events on unless the host allowed it', async () => {
    const { heard } = await listener(pong('w1@a'));
    await untilResponding(await open(), 'w1@a');
    const isAsked = (): boolean => heard.some(({ method }) => method === 'enable_events');
    expect(isAsked()).toBe(false);
    await open({ enableEvents: true });
    await until(isAsked);
  });

  it('passes over what is no answer of its own', async () => {
    await listener(({ ticket }) => [
      ...['', 'no JSON', '[]', 'null', '{}', '{"headers": null, "body": ""}'],
      ...['{"headers": {"ticket": 1}, "body": ""}', `{"headers": {"ticket": "${ticket}"}, "body": 1}`],
      replyTo('another ticket', { 'w9@z': 1 }),
      replyTo(ticket, []),
      replyTo(ticket, { '': 1 }),
      replyTo(ticket, {}, { body: '{"w1@a": {"limit": Infinity}}', properties: { body_encoding: 'utf-8' } }),
    ]);
    await untilResponding(await open(), 'w1@a');
    await expectNothingLeft();
  });

  it('asks once for a hundred health checks, and tells each question its own answers', async () => {
    const { heard } = await listener(({ ticket, method }) => [
      replyTo(ticket, {
        'w1@a': method === 'registered' ? ['shop.add'] : method === 'active_queues' ? [{ name: 'q' }] : {},
      }),
    ]);
    const sources = await open();
    const pings = (): number => heard.filter(({ method }) => method === 'ping').length;
    await untilResponding(sources, 'w1@a');
    const before = pings();
    const begun = performance.now();
    const checks = await Promise.all(Array.from({ length: 100 }, () => ping(sources)));
    // An answer serves for a second, and a question of the source itself may fall between.
    expect(pings() - before).toBeLessThanOrEqual(2 + Math.ceil((performance.now() - begun) / 1_000));
    expect(new Set(checks.map((check) => JSON.stringify(check))).size).toBe(1);
    await until(async () => {
      const [worker] = await sources.workers.listWorkers(context);
      return worker?.queues?.join() === 'q' && worker.registeredTasks?.join() === 'shop.add';
    });
    await expectNothingLeft();
  });

  it('names who responds and who is missing, whatever those say, and waits for nobody long', async () => {
    await listener(pong('w1@a'));
    await listener(({ ticket }) => [replyTo(ticket, { 'w2@b': { error: 'KeyError()' } })]);
    await listener(({ ticket }) => [replyTo(ticket, {}, { 'content-type': 'application/x-thing' })]);
    await listener(() => []);
    const sources = await open();
    await untilResponding(sources, 'w1@a', 'w2@b');
    expect(await ping(sources)).toMatchObject({ ok: true, missing: [] });
    await expectNothingLeft();
  });

  it('of a Redis that is away answers nothing, and works again when it is back', async () => {
    const own = await startRedis();
    lab.ends.push(() => own.close());
    const sources = await open({ broker: own.url() });
    await ping(sources);
    expect(await controlError(sources)).toBeNull();
    await own.kill();
    // Without the broker, heartbeats decide.
    await until(async () => /broker cannot be reached/.test((await ping(sources)).error ?? ''));
    await own.start();
    await until(async () => /answered a ping/.test((await ping(sources)).error ?? ''));
    expect(await controlError(sources)).toBeNull();
  });
});
