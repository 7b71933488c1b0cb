import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { displayUrl, isRedisUrl, parseRedisUrl } from '../../src/redis/urls.ts';

describe('a URL of Redis', () => {
  it.each([
    ['redis://', 'localhost', 6379, 0, null, null],
    ['redis://h', 'h', 6379, 0, null, null],
    ['redis://h/', 'h', 6379, 0, null, null],
    ['redis://h:80/1', 'h', 80, 1, null, null],
    ['redis:///5', 'localhost', 6379, 5, null, null],
    ['redis://h?db=4', 'h', 6379, 4, null, null],
    ['redis://h/2?virtual_host=3', 'h', 6379, 3, null, null],
    ['redis://:p%40s%2Fs@h:7/3', 'h', 7, 3, null, 'p@s/s'],
    ['redis://user:pass@h/3', 'h', 6379, 3, 'user', 'pass'],
    ['redis://user:pass@:7/3', 'localhost', 7, 3, 'user', 'pass'],
    ['redis://:pass@/3', 'localhost', 6379, 3, null, 'pass'],
    ['redis://[::1]:7/1', '::1', 7, 1, null, null],
    ['redis://a/1;redis://b/2', 'a', 6379, 1, null, null],
    [' redis://a/1 ; redis://b/2', 'a', 6379, 1, null, null],
  ])('%s is read', (url, host, port, database, username, password) => {
    const address = parseRedisUrl(url, 'broker');
    expect(address).toEqual({ socket: { host, port }, database, username, password, tls: null });
  });

  it.each([
    ['redis+socket:///var/run/redis.sock?virtual_host=2', '/var/run/redis.sock', 2],
    ['socket:///var/run/redis.sock', '/var/run/redis.sock', 0],
    ['unix:///var/run/redis.sock?db=1', '/var/run/redis.sock', 1],
    ['redis+socket://:pw@/a%20b.sock', '/a b.sock', 0],
  ])('%s is read as a socket', (url, path, database) => {
    expect(parseRedisUrl(url, 'broker')).toMatchObject({ socket: { path }, database });
  });

  it('may ask for TLS, in the words of Celery', () => {
    const folder = mkdtempSync(join(tmpdir(), 'monitor-tls-'));
    const file = join(folder, 'ca.pem');
    writeFileSync(file, 'CERTIFICATE');
    expect(parseRedisUrl('rediss://h', 'broker').tls).toEqual({
      rejectUnauthorized: true,
      checkHostname: true,
    });
    expect(parseRedisUrl('rediss://h?ssl_cert_reqs=CERT_NONE', 'broker').tls?.rejectUnauthorized).toBe(false);
    expect(parseRedisUrl('rediss://h?ssl_cert_reqs=none', 'broker').tls?.rejectUnauthorized).toBe(false);
    expect(parseRedisUrl(`rediss://h?ssl_cert_reqs=required&ssl_ca_certs=${file}`, 'broker').tls).toEqual({
      rejectUnauthorized: true,
      checkHostname: true,
      ca: 'CERTIFICATE',
    });
    expect(parseRedisUrl('rediss://h?ssl_check_hostname=False', 'broker').tls?.checkHostname).toBe(false);
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['amqp://user:SECRET@h//', /begins with amqp:.*This source reads Redis/],
    ['SECRET', /is not a URL/],
    ['', /is not a URL/],
    ['sentinel://:SECRET@h:26379/0', /begins with sentinel:/],
    ['redis://user:SE#CRET@h/0', /percent-encoded/],
    ['redis://user:SE/CRET@h/0', /percent-encoded|database number/],
    ['redis://user:%SECRET@h/0', /two hexadecimal digits/],
    ['redis://:SECRET@h/abc', /database number/],
    ['redis://:SECRET@h:99999999/0', /percent-encoded/],
    ['redis+socket://SECRET', /redis\+socket:\/\/\/path/],
    ['rediss://:SECRET@h?ssl_cert_reqs=maybe', /ssl_cert_reqs/],
    ['rediss://:SECRET@h?ssl_ca_certs=/no/such/file', /ssl_ca_certs/],
  ])('%s is refused with what to write, without its secret', (url, message) => {
    let error: unknown;
    try {
      parseRedisUrl(url, 'broker');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(message);
    expect(String((error as Error).stack)).not.toContain('SECRET');
  });

  it.each([
    ['redis://user:SECRET@h/3?x=SECRET', 'redis://h:6379/3'],
    ['rediss://:SECRET@[::1]', 'rediss://[::1]:6379/0'],
    ['socket://:SECRET@/a.sock', 'redis+socket:///a.sock'],
  ])('%s is shown as %s', (url, shown) => {
    expect(displayUrl(parseRedisUrl(url, 'broker'))).toBe(shown);
  });

  it('is told from others', () => {
    expect(
      ['redis://', 'rediss://h', 'socket:///x', 'redis+socket:///x', 'REDIS://h'].every(isRedisUrl),
    ).toBe(true);
    expect(['rpc://', 'sentinel://h', 'db+sqlite:///x', 'redis', 'disabled', ''].some(isRedisUrl)).toBe(
      false,
    );
  });
});
