import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import { componentOf } from '../helpers/celery-events.ts';

/** URLs as the components show them, and what broker or backend is only named. */
async function shownOf(broker: unknown, backend: unknown, settings: CelerySettings = {}): Promise<unknown[]> {
  const sources = celerySources({ broker: broker as string, backend: backend as string, settings });
  try {
    const found = await Promise.all(['broker', 'backend'].map((key) => componentOf(sources, key)));
    return found.map(({ url, config }) => url ?? config.transport ?? null);
  } finally {
    await sources.close();
  }
}

async function brokerOf(broker: string, settings: CelerySettings = {}): Promise<unknown> {
  return (await shownOf(broker, null, settings))[0];
}

/** Expects that these options are refused with what to write, and without their secrets. */
function expectRefused(broker: unknown, backend: unknown, settings: CelerySettings, message: RegExp): void {
  let thrown: unknown;
  try {
    celerySources({ broker: broker as string, backend: backend as string, settings });
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(TypeError);
  expect(String(thrown)).toMatch(message);
  expect(String((thrown as Error).stack)).not.toMatch(/SE[/%#]?CRET/);
}

const folder = mkdtempSync(join(tmpdir(), 'monitor-urls-'));
const certificate = join(folder, 'ca.pem');
writeFileSync(certificate, 'CERTIFICATE');
afterAll(() => rmSync(folder, { recursive: true }));

const shop = { broker_transport_options: { master_name: 'shop' } };

describe('a URL', () => {
  const SHOWN: readonly (readonly [string, string, CelerySettings?])[] = [
    ['redis://', 'redis://localhost:6379/0'],
    ['redis://h', 'redis://h:6379/0'],
    ['redis://h/', 'redis://h:6379/0'],
    ['REDIS://h', 'redis://h:6379/0'],
    ['redis://h:80/1', 'redis://h:80/1'],
    ['redis:///5', 'redis://localhost:6379/5'],
    ['redis://h?db=4', 'redis://h:6379/4'],
    ['redis://h/2?virtual_host=3', 'redis://h:6379/3'],
    ['redis://:p%40s%2Fs@h:7/3', 'redis://h:7/3'],
    ['redis://user:pass@:7/3', 'redis://localhost:7/3'],
    ['redis://:pass@/3', 'redis://localhost:6379/3'],
    ['redis://[::1]:7/1', 'redis://[::1]:7/1'],
    ['redis://a/1;redis://b/2', 'redis://a:6379/1'],
    [' redis://a/1 ; redis://b/2', 'redis://a:6379/1'],
    ['redis://user:SECRET@h/3?x=SECRET', 'redis://h:6379/3'],
    ['redis+socket:///var/run/r.sock?virtual_host=2', 'redis+socket:///var/run/r.sock'],
    ['socket://:SECRET@/a.sock', 'redis+socket:///a.sock'],
    ['unix:///a.sock?db=1', 'redis+socket:///a.sock'],
    ['redis+socket://:pw@/a%20b.sock', 'redis+socket:///a b.sock'],
    ['rediss://h?ssl_cert_reqs=CERT_NONE', 'rediss://h:6379/0'],
    [`rediss://:SECRET@[::1]?ssl_cert_reqs=required&ssl_ca_certs=${certificate}`, 'rediss://[::1]:6379/0'],
    ['redis://h', 'rediss://h:6379/0', { broker_use_ssl: true }],
    ['redis://h', 'rediss://h:6379/0', { broker_use_ssl: { ssl_cert_reqs: null } }],
    ['redis://h', 'rediss://h:6379/0', { broker_use_ssl: { ssl_cert_reqs: 2 } }],
    ['redis://h', 'redis://h:6379/0', { broker_use_ssl: false }],
    ['redis://h', 'redis://h:6379/0', { broker_use_ssl: {} }],
    ['redis+socket:///a.sock', 'redis+socket:///a.sock', { broker_use_ssl: true }],
    ['sentinel://h', 'sentinel://h:26379/0', shop],
    ['SENTINEL://h/', 'sentinel://h:26379/0', shop],
    ['sentinel://h:1/3', 'sentinel://h:1/3', shop],
    ['sentinel://u:SECRET@h:1/3;sentinel://[::1]:2/3', 'sentinel://h:1/3;sentinel://[::1]:2/3', shop],
    ['sentinel://h:1; sentinel://:SECRET@k:2/4', 'sentinel://h:1/4;sentinel://k:2/4', shop],
    ['amqp://', 'amqp://localhost:5672/'],
    ['amqp://host', 'amqp://host:5672/'],
    ['pyamqp://user:p%40ss@host:5673//', 'amqp://host:5673/'],
    ['librabbitmq://user@host/shop', 'amqp://host:5672/shop'],
    ['amqp://u:p@[::1]:5672/%2F', 'amqp://[::1]:5672/'],
    ['amqp://u:p@host//shop', 'amqp://host:5672/%2Fshop'],
    ['amqps://u:p@host/a%2Fb', 'amqps://host:5671/a%2Fb'],
    ['amqp://u:SECRET@[fe80::1]/a%2Fb?heartbeat=5&x=SECRET', 'amqp://[fe80::1]:5672/a%2Fb'],
    [
      'amqp://u:p@one/shop; amqps://u:p@two:1/shop;u:p@three/shop;',
      'amqp://one:5672/shop;amqps://two:1/shop;amqp://three:5672/shop',
    ],
    ['amqp://host', 'amqps://host:5671/', { broker_use_ssl: { cert_reqs: 0, server_hostname: 'rabbit' } }],
    ['amqp://host?ssl_cert_reqs=required', 'amqps://host:5671/', { broker_use_ssl: { cert_reqs: 0 } }],
  ];

  it('is read as Celery reads it, and shown without login and parameters', async () => {
    const found = await Promise.all(SHOWN.map(([url, _, settings]) => brokerOf(url, settings)));
    expect(found).toEqual(SHOWN.map(([, shown]) => shown));
  });

  it('of a Sentinel may be several in the settings, which are read as all of them', async () => {
    const settings = {
      broker_url: ['sentinel://h:1/5', 'sentinel://k:2/5'],
      broker_transport_options: { master_name: 'shop' },
      result_backend: 'sentinel://h:1/6;sentinel://k:2/6',
      result_backend_transport_options: { master_name: 'shop' },
    };
    const both = ['sentinel://h:1/5;sentinel://k:2/5', 'sentinel://h:1/6;sentinel://k:2/6'];
    expect(await shownOf(undefined, undefined, settings)).toEqual(both);
  });

  it.each<[string, CelerySettings, RegExp]>([
    ['SECRET', {}, /is not a URL/],
    ['', {}, /is not a URL|'broker'/],
    ['redis://user:SE#CRET@h/0', {}, /percent-encoded/],
    ['redis://user:SE/CRET@h/0', {}, /percent-encoded|database number/],
    ['redis://user:%SECRET@h/0', {}, /two hexadecimal digits/],
    ['redis://:SECRET@h/abc', {}, /database number/],
    ['redis://:SECRET@h:99999999/0', {}, /percent-encoded/],
    ['redis+socket://SECRET', {}, /redis\+socket:\/\/\/path/],
    ['rediss://:SECRET@h?ssl_cert_reqs=maybe', {}, /ssl_cert_reqs/],
    ['rediss://:SECRET@h?ssl_ca_certs=/no/such/file', {}, /ssl_ca_certs/],
    ['sentinel://:SECRET@h', {}, /broker_transport_options: \{ master_name: 'mymaster' \}/],
    ['sentinel://:SECRET@h', { broker_transport_options: { master_name: '' } }, /master_name/],
    ['sentinel://:SECRET@h;redis://k', shop, /Sentinel URLs only/],
    ['sentinel://:SECRET@h/x', shop, /database number, as in sentinel:/],
    ['sentinel://:SE/CRET@h:99999999/0', shop, /percent-encoded|number/],
    ['http://u:SECRET@host', {}, /^TypeError: celerySources: 'broker'/],
    ['amqp://u:SECRET@ho st', {}, /^TypeError: celerySources: 'broker'/],
    ['amqp://u:SE%zzCRET@host', {}, /^TypeError: celerySources: 'broker'/],
    ['amqp://h?heartbeat=SECRET', {}, /^TypeError: celerySources: 'heartbeat'/],
  ])('%s with %j is refused with what to write', (url, settings, message) => {
    expectRefused(url, undefined, settings, message);
  });

  it.each<[object, RegExp]>([
    [{ sentinel_kwargs: 'SECRET' }, /sentinel_kwargs' must be an object/],
    [{ sentinel_kwargs: { password: 3 } }, /password' must be a string/],
    [{ sentinel_kwargs: { ssl: true, ssl_cert_reqs: 'SECRET' } }, /ssl_cert_reqs/],
  ])('of a Sentinel is refused with the login %j', (options, message) => {
    const settings = { broker_transport_options: { master_name: 'shop', ...options } };
    expectRefused('sentinel://:SECRET@h', undefined, settings, message);
  });

  it('of a result backend behind Sentinels needs the name in the settings of the backend', () => {
    const settings = { result_backend: 'sentinel://:SECRET@h', ...shop };
    expectRefused('redis://h', undefined, settings, /result_backend_transport_options: \{ master_name/);
  });
});

const redis = 'redis://:SECRET@h/1';
const amqp = 'amqp://user:SECRET@h//';
const sqs = 'sqs://user:SECRET@h//';
const url = 'redis://h:6379/1';

describe('what of a deployment is read', () => {
  const READ: readonly (readonly [string, unknown, unknown, CelerySettings, unknown[]])[] = [
    ['both', redis, redis, {}, [url, url]],
    ['the broker alone', redis, undefined, {}, [url, null]],
    [
      'what the settings name',
      undefined,
      undefined,
      { broker_url: redis, result_backend: redis },
      [url, url],
    ],
    ['the broker, not a backend elsewhere', redis, undefined, { result_backend: 'rpc://' }, [url, 'rpc']],
    [
      'the broker, not a backend in a database',
      redis,
      undefined,
      { result_backend: 'db+sqlite:///x' },
      [url, 'db+sqlite'],
    ],
    ['the broker, not a backend that is not wanted', redis, null, { result_backend: 'rpc://' }, [url, null]],
    ['RabbitMQ, and the backend', undefined, redis, { broker_url: amqp }, ['amqp://h:5672/', url]],
    ['the backend, not a broker elsewhere', undefined, redis, { broker_url: [sqs, 'sqs://b'] }, ['sqs', url]],
    [
      'the backend, not a broker that the option says is elsewhere',
      'sqs://:SECRET@',
      redis,
      {},
      ['sqs', url],
    ],
    [
      'the backend, not a broker of another make',
      undefined,
      redis,
      { broker_url: 'own+x://h' },
      ['own+x', url],
    ],
    [
      'the broker of the option, whatever the settings say',
      redis,
      undefined,
      { broker_url: sqs },
      [url, null],
    ],
  ];

  it('is what options and settings name, in Redis or RabbitMQ', async () => {
    const found = await Promise.all(
      READ.map(async ([title, broker, backend, settings]) => [
        title,
        await shownOf(broker, backend, settings),
      ]),
    );
    expect(found).toEqual(READ.map(([title, , , , expected]) => [title, expected]));
  });

  it.each<[string, unknown, unknown, CelerySettings, RegExp]>([
    ['no broker', undefined, redis, {}, /'broker' is missing/],
    [
      'a broker elsewhere alone',
      sqs,
      undefined,
      {},
      /celerySources: 'broker' begins with sqs:.*backend: 'redis:/,
    ],
    [
      'one of the settings',
      undefined,
      undefined,
      { broker_url: sqs },
      /'settings.broker_url' begins with sqs:/,
    ],
    [
      'both elsewhere',
      undefined,
      undefined,
      { broker_url: sqs, result_backend: 'rpc://' },
      /begins with sqs:/,
    ],
    [
      'a backend that is not wanted',
      undefined,
      null,
      { broker_url: sqs, result_backend: redis },
      /begins with sqs:/,
    ],
    [
      'a slip of the pen in amqp',
      'ampq://:SECRET@h',
      redis,
      {},
      /begins with ampq:\. This source reads Redis and RabbitMQ\. .*or amqp:\/\/host/,
    ],
    ['a slip of the pen', 'reddis://:SECRET@h', redis, {}, /begins with reddis:.*Write a URL such as redis:/],
    ['a backend that the option says is elsewhere', redis, 'rpc://', {}, /'backend' begins with rpc:/],
    [
      'options of RabbitMQ for Redis',
      redis,
      undefined,
      { broker_use_ssl: 'SECRET' as never },
      /broker_use_ssl/,
    ],
  ])('and of %s it is told what to write', (_, broker, backend, settings, message) => {
    expectRefused(broker, backend, settings, message);
  });

  it.each([
    [{ eventQueue: {} }, url, /'eventQueue' is for a broker on RabbitMQ/],
    [{ management: {} }, 'amqp://h', /'management' is not an option/],
    [
      { eventQueue: { maxLength: 10 } },
      'amqp://h',
      /'eventQueue.maxLength' must be a whole number from 1000/,
    ],
  ])('with %j and the broker %s is refused', (options, broker, message) => {
    expect(() => celerySources({ broker, ...(options as object) })).toThrow(message);
  });

  it('with an unknown option of any length is refused in a short sentence', () => {
    const create = (): unknown => celerySources({ broker: url, ['x'.repeat(1_000_000)]: 1 } as never);
    expect(create).toThrow(/^.{1,2000}$/);
  });
});
