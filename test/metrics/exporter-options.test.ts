import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createMonitorRouter, type MonitorOptions } from '../../src/index.ts';

const URL_TEXT = 'http://127.0.0.1:9100/metrics';

/** For what a JavaScript user may write. */
const create = (exporter: unknown) =>
  createMonitorRouter({ authorize: false, exporter: exporter as NonNullable<MonitorOptions['exporter']> });

describe('the option exporter', () => {
  it.each([
    ['a number', 9100],
    ['null', null],
    ['true', true],
    ['an array', [URL_TEXT]],
    ['a URL object in place of an option', new URL(URL_TEXT)],
    ['an empty string', ''],
    ['no URL', {}],
    ['a path', '/metrics'],
    ['a host alone', 'localhost:9100'],
    ['a URL that is no text', { url: 9100 }],
    ['file:', 'file:///var/lib/metrics.prom'],
    ['unix:', 'unix:/var/run/exporter.sock'],
    ['another scheme', 'ftp://127.0.0.1/metrics'],
    ['data:', 'data:text/plain,up 1'],
    ['a link-local address', 'http://169.254.169.254/latest/meta-data'],
    ['a link-local address as one number', 'http://2852039166/'],
    ['a link-local address in hexadecimal', 'http://0xa9.0xfe.0xa9.0xfe/'],
    ['a link-local address in octal', 'http://0251.0376.0251.0376/'],
    ['a link-local address inside IPv6', 'http://[::ffff:169.254.169.254]/'],
    ['a link-local IPv6 address', 'http://[fe80::1]/metrics'],
    ['the IPv6 address of a metadata service', 'http://[fd00:ec2::254]/'],
    ['a metadata service behind NAT64', 'http://[64:ff9b::169.254.169.254]/'],
    ["Google's metadata service", 'http://[fd20:ce::254]/'],
    ["Alibaba's metadata service", 'http://100.100.100.200/latest/meta-data'],
    ["Azure's WireServer", 'http://168.63.129.16/'],
    ['an empty path segment', 'http://127.0.0.1:9100//metrics'],
    ['broken percent-encoding in the password', 'http://u:%zz@127.0.0.1/metrics'],
    ['an unknown option', { url: URL_TEXT, uri: URL_TEXT }],
    ['an option of a known prototype', { url: URL_TEXT, toString: 1 }],
    ['query as text', { url: URL_TEXT, query: 'name[]' }],
    ['an empty name in query', { url: URL_TEXT, query: [''] }],
    ['a query name that the URL sets', { url: `${URL_TEXT}?target=a`, query: ['target'] }],
    ['headers as text', { url: URL_TEXT, headers: 'a: b' }],
    ['headers as an array', { url: URL_TEXT, headers: ['a'] }],
    ['a header that is no text', { url: URL_TEXT, headers: { 'x-a': 1 } }],
    ['a header with a line break', { url: URL_TEXT, headers: { 'x-a': 'a\r\nb: c' } }],
    ['a header name with a space', { url: URL_TEXT, headers: { 'x a': 'b' } }],
    ['an Accept of the host', { url: URL_TEXT, headers: { ACCEPT: 'text/plain' } }],
    ['an Upgrade of the host', { url: URL_TEXT, headers: { Upgrade: 'websocket' } }],
    ['credentials given twice', { url: 'http://u:p@127.0.0.1/', headers: { authorization: 'Bearer x' } }],
    ['a time limit of 0', { url: URL_TEXT, timeoutMs: 0 }],
    ['a time limit that is no number', { url: URL_TEXT, timeoutMs: '5s' }],
    ['a time limit beyond a timer', { url: URL_TEXT, timeoutMs: 2 ** 31 }],
    ['a size that is not whole', { url: URL_TEXT, maxBytes: 0.5 }],
    ['a size that is NaN', { url: URL_TEXT, maxBytes: Number.NaN }],
    ['an agent that is none', { url: URL_TEXT, agent: {} }],
    ['an agent of the other protocol', { url: URL_TEXT, agent: new HttpsAgent() }],
    ['an agent of the other protocol again', { url: 'https://127.0.0.1/', agent: new HttpAgent() }],
  ])('refuses %s with a sentence that names the option', (_name, option) => {
    expect(() => create(option)).toThrow(TypeError);
    expect(() => create(option)).toThrow(/^express-task-monitor: '?exporter\b.*[.?]$/);
  });

  it('never repeats a secret in what it throws', () => {
    const options = [
      'ftp://someone:hunter2@host/metrics',
      'http://someone:hunter2@169.254.169.254/',
      'http://someone:hunter2@host//a',
      'http://someone:hunter2@',
      'http://someone:hunter2%@host/',
      { url: 'http://someone:hunter2@host/', headers: { authorization: 'hunter2' } },
      { url: 'http://host/', headers: { 'x-a': 'hunter2\n' } },
      { url: 'http://someone:hunter2@host/?a=1', query: ['a'] },
    ];
    for (const option of options) {
      try {
        create(option);
        expect.unreachable();
      } catch (error) {
        expect(inspect(error)).not.toContain('hunter2');
      }
    }
  });
});
