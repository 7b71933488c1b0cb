import { describe, expect, it } from 'vitest';
import { displayAmqpUrl, isAmqpUrl, parseAmqpUrls } from '../../src/amqp/urls.ts';

const CONTEXT = { option: 'broker', ssl: null, heartbeat: null, loginMethod: null };

describe('AMQP URLs', () => {
  it.each([
    ['amqp://', 'localhost', 5672, '/', 'guest', 'guest'],
    ['amqp://host', 'host', 5672, '/', 'guest', 'guest'],
    ['pyamqp://user:p%40ss@host:5673//', 'host', 5673, '/', 'user', 'p@ss'],
    ['librabbitmq://user@host/shop', 'host', 5672, 'shop', 'user', 'guest'],
    ['amqp://u:p@[::1]:5672/%2F', '::1', 5672, '/', 'u', 'p'],
    ['amqp://u:p@host//shop', 'host', 5672, '/shop', 'u', 'p'],
    ['amqps://u:p@host/a%2Fb', 'host', 5671, 'a/b', 'u', 'p'],
  ])('are read as kombu reads them: %s', (url, host, port, virtualHost, username, password) => {
    expect(isAmqpUrl(url)).toBe(true);
    expect(parseAmqpUrls(url, CONTEXT)).toEqual([
      expect.objectContaining({ host, port, virtualHost, username, password }),
    ]);
  });

  it('may be several, which are tried in their order', () => {
    const addresses = parseAmqpUrls('amqp://u:p@one/shop; amqps://u:p@two:1/shop;u:p@three/shop;', CONTEXT);
    expect(addresses.map(displayAmqpUrl)).toEqual([
      'amqp://one:5672/shop',
      'amqps://two:1/shop',
      'amqp://three:5672/shop',
    ]);
  });

  it('are shown without user, password and parameters', () => {
    const [address] = parseAmqpUrls('amqp://u:secret@[fe80::1]/a%2Fb?heartbeat=5&x=secret', CONTEXT);
    expect(displayAmqpUrl(address)).toBe('amqp://[fe80::1]:5672/a%2Fb');
    expect(address.heartbeat).toBe(5);
  });

  it('take the parameters of TLS under both of their names', () => {
    const ssl = { option: 'settings.broker_use_ssl', values: { cert_reqs: 0, server_hostname: 'rabbit' } };
    const [address] = parseAmqpUrls('amqp://host', { ...CONTEXT, ssl });
    expect(address).toMatchObject({ port: 5671, serverName: 'rabbit', tls: { rejectUnauthorized: false } });
    const [strict] = parseAmqpUrls('amqp://host?ssl_cert_reqs=required', { ...CONTEXT, ssl });
    expect(strict.tls).toMatchObject({ rejectUnauthorized: true });
    expect(parseAmqpUrls('amqps://host', CONTEXT)[0].tls).toMatchObject({ rejectUnauthorized: true });
  });

  it('may ask for the login by certificate', () => {
    expect(parseAmqpUrls('amqps://host?login_method=EXTERNAL', CONTEXT)[0].isExternal).toBe(true);
    expect(parseAmqpUrls('amqps://host', { ...CONTEXT, loginMethod: 'EXTERNAL' })[0].isExternal).toBe(true);
    expect(parseAmqpUrls('amqps://host', CONTEXT)[0].isExternal).toBe(false);
  });

  it.each([
    'http://u:secret@host',
    'amqp://u:secret@ho st',
    'amqp://u:se%zzcret@host',
    'secret',
    'amqp://h?heartbeat=secret',
  ])('are refused without showing them: %s', (url) => {
    const parse = () => parseAmqpUrls(url, CONTEXT);
    expect(parse).toThrow(TypeError);
    expect(parse).toThrow(/^(?!.*secret).*celerySources: '(?:broker|heartbeat)'/);
  });
});
