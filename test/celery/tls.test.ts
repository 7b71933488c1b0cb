import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, celerySources } from '../../src/celery.ts';
import { checkBroker, componentOf, received, stateOf } from '../helpers/celery-events.ts';
import { type Certificates, makeCertificates, tlsMissing } from '../helpers/certificates.ts';
import { startSentinel } from '../helpers/redis-sentinel.ts';
import { freePort, type RedisServer, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { scriptedRedis } from '../helpers/scripted-redis.ts';

describe('the settings of TLS', () => {
  it.each<[string, unknown, RegExp]>([
    ['broker_use_ssl', 'SECRET', /broker_use_ssl' must be true, false or an object with ssl_cert_reqs/],
    ['redis_backend_use_ssl', [1], /redis_backend_use_ssl' must be true/],
    ['broker_use_ssl', { ssl_cert_reqs: 'SECRET' }, /'settings.broker_use_ssl.ssl_cert_reqs' must be/],
    ['broker_use_ssl', { ssl_cert_reqs: 3 }, /'settings.broker_use_ssl.ssl_cert_reqs' must be/],
    ['redis_backend_use_ssl', { ssl_ca_certs: 3 }, /'settings.redis_backend_use_ssl.ssl_ca_certs' must be/],
    ['broker_use_ssl', { ssl_keyfile: '/SECRET' }, /'settings.broker_use_ssl.ssl_keyfile' names a file/],
  ])('%s: %j is refused with what to write', (name, value, message) => {
    const urls = { broker_url: 'redis://h', result_backend: 'redis://h' };
    const create = (): unknown => celerySources({ settings: { ...urls, [name]: value } });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/SECRET/);
  });
});

describe.skipIf(tlsMissing !== null)(titleUnless(tlsMissing, 'a Redis that speaks TLS'), () => {
  let files: Certificates;
  let redis: RedisServer;
  let port: number;
  const closing: (() => unknown)[] = [];

  /** A Redis on a port for TLS besides its plain one. */
  async function startTls(...args: string[]): Promise<{ server: RedisServer; port: number }> {
    const tlsPort = await freePort();
    const { cert, key } = files.server;
    const own = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', files.ca];
    const server = await startRedis('--tls-port', String(tlsPort), ...own, ...args);
    return { server, port: tlsPort };
  }

  beforeAll(async () => {
    files = makeCertificates();
    ({ server: redis, port } = await startTls('--tls-auth-clients', 'optional'));
  });

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  afterAll(async () => {
    await redis?.close();
    files?.remove();
  });

  /** What is wrong with a connection; `null` when it works. */
  async function problemOf(broker: string, settings: CelerySettings = {}): Promise<string | null> {
    const sources = celerySources({ broker, settings, control: false });
    try {
      const { error = null } = await checkBroker(sources, 10_000);
      expect(JSON.stringify(await componentOf(sources, 'broker'))).not.toContain(files.folder);
      return error;
    } finally {
      await sources.close();
    }
  }

  const of = (host: string, ssl: Record<string, string>, onPort = port): string =>
    `rediss://${host}:${onPort}/1?${new URLSearchParams(ssl)}`;

  it('is believed when a trusted authority has signed its certificate', async () => {
    // A busy machine may take longer for a handshake than the source waits; what is not trusted never works.
    const works = (broker: string, settings: CelerySettings = {}): Promise<void> =>
      until(async () => (await problemOf(broker, settings)) === null);
    await works(of('127.0.0.1', { ssl_ca_certs: files.ca }));
    await works(of('localhost', { ssl_ca_certs: files.ca, ssl_cert_reqs: 'CERT_REQUIRED' }));
    const settings = { broker_use_ssl: { ssl_cert_reqs: 2, ssl_ca_certs: files.ca } };
    await works(`redis://127.0.0.1:${port}/1`, settings);
    await works(`rediss://127.0.0.1:${port}/1`, settings);
  });

  it('is not believed otherwise', async () => {
    const untrusted = 'The TLS certificate of Redis is not trusted.';
    expect(await problemOf(of('127.0.0.1', {}))).toBe(untrusted);
    expect(await problemOf(of('127.0.0.1', { ssl_ca_certs: files.stranger.cert }))).toBe(untrusted);
    expect(await problemOf(`redis://127.0.0.1:${port}/1`, { broker_use_ssl: true })).toBe(untrusted);
    const settings = { broker_use_ssl: { ssl_cert_reqs: 'none', ssl_ca_certs: files.ca } };
    // What the URL says goes first.
    expect(
      await problemOf(
        of('127.0.0.1', { ssl_ca_certs: files.stranger.cert, ssl_cert_reqs: 'required' }),
        settings,
      ),
    ).toBe(untrusted);
  });

  it('is believed without a look at its certificate when that is asked for', async () => {
    for (const name of ['none', 'CERT_NONE'])
      expect(await problemOf(of('127.0.0.1', { ssl_cert_reqs: name }))).toBeNull();
    for (const value of [0, null, 'CERT_NONE']) {
      const settings = { broker_use_ssl: { ssl_cert_reqs: value } };
      expect(await problemOf(`redis://127.0.0.1:${port}/1`, settings)).toBeNull();
    }
  });

  it('whose certificate is for another host or over is told so', async () => {
    const server = await startTls('--tls-auth-clients', 'no');
    closing.push(() => server.server.close());
    const admin = createClient({ url: server.server.url() });
    await admin.connect();
    const use = ({ cert, key }: { cert: string; key: string }): Promise<unknown> =>
      admin.configSet({ 'tls-cert-file': cert, 'tls-key-file': key });
    const trusted = { ssl_ca_certs: files.ca };
    await use(files.elsewhere);
    expect(await problemOf(of('127.0.0.1', trusted, server.port))).toMatch(/is for another host/);
    expect(
      await problemOf(of('127.0.0.1', { ...trusted, ssl_check_hostname: 'false' }, server.port)),
    ).toBeNull();
    const settings = { broker_use_ssl: { ...trusted, ssl_check_hostname: false } };
    expect(await problemOf(`redis://127.0.0.1:${server.port}`, settings)).toBeNull();
    await use(files.old);
    expect(await problemOf(of('127.0.0.1', trusted, server.port))).toMatch(/has expired/);
    admin.destroy();
  });

  it('that asks for a certificate is shown one', async () => {
    const { server, port: strict } = await startTls('--tls-auth-clients', 'yes');
    closing.push(() => server.close());
    const trusted = { ssl_ca_certs: files.ca };
    const client = { ...trusted, ssl_certfile: files.client.cert, ssl_keyfile: files.client.key };
    expect(await problemOf(of('127.0.0.1', client, strict))).toBeNull();
    expect(await problemOf(`redis://127.0.0.1:${strict}`, { broker_use_ssl: client })).toBeNull();
    const asked = /requires a client certificate that it trusts, see ssl_certfile/;
    expect(await problemOf(of('127.0.0.1', trusted, strict))).toMatch(asked);
    const stranger = { ssl_certfile: files.stranger.cert, ssl_keyfile: files.stranger.key };
    expect(await problemOf(of('127.0.0.1', { ...trusted, ...stranger }, strict))).toMatch(asked);
  });

  it('and files that are none are told apart, and what is in them from nobody', async () => {
    const broken = join(files.folder, 'broken.key');
    writeFileSync(broken, '-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n');
    appendFileSync(broken, 'SECRET');
    const trusted = { ssl_ca_certs: files.ca };
    const useless = 'The given TLS certificate or key cannot be used.';
    for (const keyfile of [broken, files.stranger.key, files.ca]) {
      const ssl = { ...trusted, ssl_certfile: files.client.cert, ssl_keyfile: keyfile };
      expect(await problemOf(of('127.0.0.1', ssl))).toBe(useless);
    }
  });

  it('is not mixed up with one that does not', async () => {
    // A real one waits for the end of a line, which may or may not be among the bytes of the handshake.
    const plain = await scriptedRedis(() => '-ERR Protocol error\r\n');
    closing.push(() => plain.close());
    const plainPort = Number(new URL(plain.url).port);
    expect(await problemOf(of('127.0.0.1', { ssl_ca_certs: files.ca }, plainPort))).toBe(
      'This Redis does not speak TLS.',
    );
    expect(await problemOf(`redis://127.0.0.1:${port}/0`)).toMatch(/^Redis closed the connection/);
  });

  it('is listened to as any other, over a client of our own and of the host', async () => {
    const host = createClient({
      url: `rediss://127.0.0.1:${port}/2`,
      socket: { tls: true, rejectUnauthorized: false, checkServerIdentity: () => undefined },
    });
    host.on('error', () => {});
    const settings = { redis_backend_use_ssl: { ssl_cert_reqs: 'required', ssl_ca_certs: files.ca } };
    const publisher = createClient({ url: redis.url() });
    await publisher.connect();
    for (const broker of [of('localhost', { ssl_ca_certs: files.ca }), host]) {
      const sources = celerySources({ broker, backend: `rediss://127.0.0.1:${port}/3`, settings });
      closing.push(() => sources.close());
      await until(() => sources.tasks.status?.().ok === true);
      const id = typeof broker === 'string' ? 'own' : 'host';
      await publisher.publish(`/${id === 'own' ? 1 : 2}.celeryev/task.multi`, received(id));
      await until(async () => (await stateOf(sources, id)) === 'RECEIVED');
      expect((await componentOf(sources, 'broker')).url).toMatch(/^rediss:\/\/[^?@]*\/[12]$/);
      expect((await componentOf(sources, 'backend')).url).toBe(`rediss://127.0.0.1:${port}/3`);
    }
    publisher.destroy();
  });

  it('is found by Sentinels that speak TLS themselves', async () => {
    const tlsPort = await freePort();
    const { cert, key } = files.server;
    const lines = [
      `tls-port ${tlsPort}`,
      `tls-cert-file ${cert}`,
      `tls-key-file ${key}`,
      `tls-ca-cert-file ${files.ca}`,
      'tls-auth-clients no',
      'tls-replication yes',
    ];
    const sentinel = await startSentinel(port, lines);
    closing.push(() => sentinel.close());
    const ssl = { ssl_ca_certs: files.ca };
    const settings = (kwargs: object): CelerySettings => ({
      broker_use_ssl: ssl,
      broker_transport_options: { master_name: 'shop', sentinel_kwargs: { ...kwargs } },
    });
    const url = `sentinel://127.0.0.1:${tlsPort}/1`;
    expect(await problemOf(url, settings({ ssl: true, ...ssl }))).toBeNull();
    expect(await problemOf(url, settings({ ssl: true }))).toBe('No Sentinel answers.');
    expect(await problemOf(`sentinel://127.0.0.1:${sentinel.port}/1`, settings({}))).toBeNull();
  });
});
