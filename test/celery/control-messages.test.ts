import { describe, expect, it } from 'vitest';
import {
  type ControlAddress,
  controlAddress,
} from '../../src/sources/celery/brokers/redis/control-address.ts';
import { wrapRequest } from '../../src/sources/celery/brokers/redis/control-envelope.ts';
import {
  CONTROL_COMMANDS,
  type ControlCommand,
  createRequest,
} from '../../src/sources/celery/control/encoder.ts';
import { proofOf } from '../../src/sources/celery/control/proof.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';

const IDS = { ticket: 'ticket-1', oid: 'oid-1', deliveryTag: 'tag-1', expires: 1795229768.7 };

/** The message that Redis would publish. */
function encodeMessage(
  command: ControlCommand,
  workers: readonly string[] | null,
  address: ControlAddress,
  ids: typeof IDS,
): string {
  return wrapRequest(createRequest(command, workers, ids), address, ids);
}

/** What may be sent, written out once more: whatever is added to it reaches every worker. */
const ARGUMENTS: Record<ControlCommand, string> = {
  ping: '{}',
  stats: '{}',
  active: '{"safe":true}',
  reserved: '{}',
  scheduled: '{}',
  registered: '{}',
  active_queues: '{}',
  conf: '{"with_defaults":false}',
  enable_events: '{}',
};

describe('a remote control message', () => {
  const address = controlAddress({}, 0);

  it.each(CONTROL_COMMANDS)('for %s has exactly the bytes that workers are known to take', (command) => {
    const isOpen = command === 'ping' || command === 'enable_events';
    const body =
      `{"method":"${command}","arguments":${ARGUMENTS[command]},` +
      `"destination":${isOpen ? 'null' : '["w1@alpha","w\\"2@ž"]'},"pattern":null,` +
      '"matcher":null,"ticket":"ticket-1","reply_to":{"exchange":"reply.celery.pidbox","routing_key":"oid-1"}}';
    expect(encodeMessage(command, isOpen ? null : ['w1@alpha', 'w"2@ž'], address, IDS)).toBe(
      `{"body":"${Buffer.from(body).toString('base64')}","content-encoding":"utf-8",` +
        '"content-type":"application/json","headers":{"clock":1,"expires":1795229768.7},' +
        '"properties":{"delivery_mode":2,"delivery_info":{"exchange":"celery.pidbox","routing_key":""},' +
        '"priority":0,"body_encoding":"base64","delivery_tag":"tag-1"}}',
    );
  });

  it('exists for these commands alone, which nothing can change', () => {
    expect([...CONTROL_COMMANDS].sort()).toEqual(Object.keys(ARGUMENTS).sort());
    expect(Object.isFrozen(CONTROL_COMMANDS)).toBe(true);
    for (const command of ['revoke', 'shutdown', 'pool_grow', 'toString', '__proto__', '']) {
      expect(() => encodeMessage(command as ControlCommand, ['w@a'], address, IDS)).toThrow(TypeError);
    }
  });

  it('goes to workers by name, but for what each of them can answer', () => {
    for (const command of CONTROL_COMMANDS) {
      const isOpen = command === 'ping' || command === 'enable_events';
      if (!isOpen) expect(() => encodeMessage(command, null, address, IDS)).toThrow(TypeError);
      // To Celery, nobody is everybody.
      expect(() => encodeMessage(command, [], address, IDS)).toThrow(TypeError);
      for (const name of ['', 'w1', 'w1@a\n', '\ud800@a', `w@${'x'.repeat(300)}`]) {
        expect(() => encodeMessage(command, ['w@a', name], address, IDS)).toThrow(TypeError);
      }
    }
  });

  it.each([
    { ...IDS, ticket: '' },
    { ...IDS, oid: 'a"b' },
    { ...IDS, oid: 'a\x06\x16b' },
    { ...IDS, deliveryTag: 'ä' },
    { ...IDS, deliveryTag: 'x'.repeat(129) },
    { ...IDS, expires: Number.NaN },
  ])('is not made with %j', (ids) => {
    expect(() => encodeMessage('ping', null, address, ids)).toThrow(TypeError);
  });

  it('takes the name of the exchange as text, whatever is in it', () => {
    const odd = controlAddress({ control_exchange: 'a"b\\ž' }, 0);
    const envelope = JSON.parse(encodeMessage('ping', null, odd, IDS));
    expect(envelope.properties.delivery_info.exchange).toBe('a"b\\ž.pidbox');
    const body = JSON.parse(Buffer.from(envelope.body, 'base64').toString());
    expect(body.reply_to.exchange).toBe('reply.a"b\\ž.pidbox');
  });
});

describe('the place of remote control', () => {
  it.each<[CelerySettings, string[], string, string]>([
    [{}, ['/7.celery.pidbox'], '_kombu.binding.reply.celery.pidbox', 'o.reply.celery.pidbox'],
    [{ control_exchange: 'ctl' }, ['/7.ctl.pidbox'], '_kombu.binding.reply.ctl.pidbox', 'o.reply.ctl.pidbox'],
    [
      { broker_transport_options: { global_keyprefix: 'shop:' } },
      ['shop:/7.celery.pidbox'],
      'shop:_kombu.binding.reply.celery.pidbox',
      'shop:o.reply.celery.pidbox',
    ],
    [
      { broker_transport_options: { fanout_prefix: false, fanout_patterns: false } },
      ['celery.pidbox'],
      '_kombu.binding.reply.celery.pidbox',
      'o.reply.celery.pidbox',
    ],
    [
      { broker_transport_options: { fanout_prefix: '/{db}-x.' } },
      ['/7-x.celery.pidbox'],
      '_kombu.binding.reply.celery.pidbox',
      'o.reply.celery.pidbox',
    ],
    [
      { broker_transport_options: { master_name: 'm' } },
      ['/7.celery.pidbox', '/{db}.celery.pidbox'],
      '_kombu.binding.reply.celery.pidbox',
      'o.reply.celery.pidbox',
    ],
    [
      { broker_transport_options: { priority_steps: [1, 5], sep: ':' } },
      ['/7.celery.pidbox'],
      '_kombu.binding.reply.celery.pidbox',
      'o.reply.celery.pidbox:5',
    ],
    [
      { event_exchange: 'labev', broker_transport_options: { priority_steps: [0, 5] } },
      ['/7.celery.pidbox'],
      '_kombu.binding.reply.celery.pidbox',
      'o.reply.celery.pidbox',
    ],
  ])('with the settings %j is %j, %s, %s', (settings, channels, bindingKey, replyKey) => {
    const address = controlAddress(settings, 7);
    expect(address.channels).toEqual(channels);
    expect(address.bindingKey).toBe(bindingKey);
    expect(address.replyKey('o')).toBe(replyKey);
    expect(address.fault).toBeNull();
  });

  it('has bindings as kombu writes them, and takes no others for such', () => {
    const address = controlAddress({}, 0);
    expect(address.member('o1')).toBe('o1\x06\x16\x06\x16o1.reply.celery.pidbox');
    expect(address.oidOf(address.member('o1'))).toBe('o1');
    for (const other of ['', 'o1', '\x06\x16\x06\x16x', 'o1\x06\x16\x06\x16o2.reply.celery.pidbox']) {
      expect(address.oidOf(other)).toBeNull();
    }
    expect(address.isListener('\x06\x16\x06\x16w1@alpha.celery.pidbox')).toBe(true);
    expect(address.isListener('::w1@alpha.celery.pidbox')).toBe(false);
    const colons = controlAddress({ broker_transport_options: { sep: ':' } }, 0);
    expect(colons.member('o1')).toBe('o1::o1.reply.celery.pidbox');
  });

  it.each<CelerySettings>([
    { broker_transport_options: { fanout_prefix: 'mon.' } },
    { broker_transport_options: { fanout_prefix: '/mon' } },
    { broker_transport_options: { fanout_prefix: '/a.b.' } },
    { control_exchange: 'a/b' },
    { control_exchange: 'a/b', broker_transport_options: { fanout_prefix: false } },
  ])('is at fault with the settings %j, with which any message would end every worker', (settings) => {
    expect(controlAddress(settings, 0).fault).toMatch(/fanout_prefix/);
  });
});

describe('the configuration of a worker', () => {
  const all = { stats: true, items: true };

  it.each([
    {},
    { accept_content: ['json'], result_accept_content: ['pickle'], task_serializer: 'json' },
    { accept_content: ['application/json'] },
    { broker_transport_options: { visibility_timeout: 3600, global_keyprefix: '********', sep: ':' } },
    { broker_transport_options: { fanout_prefix: '/{db}.', priority_steps: [0, 3], sentinel_kwargs: {} } },
    { broker_use_ssl: { ssl_cert_reqs: 2, ssl_keyfile: '********', ssl_ca_certs: '/etc/ssl/ca.pem' } },
    { task_routes: '<function route at 0x7f>', worker_pool: '<class Pool>' },
  ])('%j proves that every question can be answered', (conf) => {
    expect(proofOf(conf)).toEqual(all);
  });

  it.each([
    { accept_content: ['json', 'pickle'] },
    { accept_content: ['yaml'] },
    { CELERY_ACCEPT_CONTENT: ['pickle'] },
    { accept_content: 'json' },
  ])('%j does not prove that arguments of tasks can be shown in JSON', (conf) => {
    expect(proofOf(conf)).toEqual({ stats: true, items: false });
  });

  it.each([
    { broker_transport_options: { credential_provider: '<redis.credentials.Provider object at 0x7f>' } },
    { broker_transport_options: { retry: 'Retry(ExponentialBackoff(), 3)' } },
    { broker_transport_options: { a: { b: ["b'x'"] } } },
    { broker_transport_options: { credential_secret: '********' } },
    { BROKER_TRANSPORT_OPTIONS: { a: '{1, 2}' } },
    { broker_use_ssl: { context: '<ssl.SSLContext object at 0x7f>' } },
    { broker_failover_strategy: '<function pick at 0x7f>' },
  ])('%j does not prove that the options of its connection can be shown in JSON', (conf) => {
    expect(proofOf(conf)).toEqual({ stats: false, items: true });
  });

  it.each([null, undefined, 'x', [], 3])('that is %j proves nothing', (conf) => {
    expect(proofOf(conf)).toEqual({ stats: false, items: false });
  });
});
