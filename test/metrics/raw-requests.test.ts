import { describe, expect, it } from 'vitest';
import { sendRaw } from '../helpers/send-raw.ts';
import { BODY, healthy, startExporter } from './fake-exporter.ts';
import { ROUTER_HOSTS } from './router-hosts.ts';

describe.each(ROUTER_HOSTS)('a raw request for /metrics with $name', ({ mount }) => {
  it.each([
    ['a body', (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nGET /evil`],
    [
      'a body in chunks',
      (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n`,
    ],
    [
      'another address as its target',
      (path: string) => `GET http://evil.example${path} HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
    ],
    [
      'an upgrade',
      (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    ],
    [
      'headers of a proxy, a session and a hop',
      (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: evil\r\nX-Forwarded-Host: evil\r\nForwarded: host=evil\r\nCookie: evil=1\r\nAuthorization: Bearer evil\r\nTE: trailers\r\nExpect: 100-continue\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\nX-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip\r\n\r\n`,
    ],
  ])('forwards nothing of a request with %s', async (_name, write) => {
    const exporter = await startExporter(healthy);
    const { port, path } = await mount(exporter.url);
    const received = await sendRaw(
      port,
      `${write(`${path}/metrics`)}GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(received).toContain(BODY);
    expect(exporter.requests).toHaveLength(1);
    expect(exporter.requests[0]).toMatch(/^GET \/metrics HTTP\/1\.1\r\n/);
    expect(exporter.requests[0]).toMatch(/\r\n\r\n$/);
    expect(exporter.requests[0]?.toLowerCase()).not.toMatch(
      /evil|upgrade|trailers|expect|range|if-none|gzip|cookie/,
    );
  });

  it.each([
    '/metrics/../admin',
    '/metrics/',
    '/metrics/x',
    '//evil/metrics',
    '/metrics%2f..%2fadmin',
    '/metrics;a=b',
    '/metrics@evil',
  ])('never asks the exporter for %s', async (target) => {
    const exporter = await startExporter(healthy);
    const { port, path } = await mount(exporter.url);
    const received = await sendRaw(
      port,
      `GET ${path}${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(received).toMatch(/^HTTP\/1\.1 (404|308) /);
    expect(exporter.requests).toHaveLength(0);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'])(
    'answers 405 to %s without asking the exporter',
    async (method) => {
      const exporter = await startExporter(healthy);
      const { port, path } = await mount(exporter.url);
      const received = await sendRaw(
        port,
        `${method} ${path}/metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect(received).toMatch(/^HTTP\/1\.1 405 /);
      expect(exporter.requests).toHaveLength(0);
    },
  );
});
