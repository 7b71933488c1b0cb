/** Rows 37 to 40: what a client, or the configuration, could make the scrape ask for. */
import { connect } from 'node:net';
import { expect } from 'vitest';
import { sendRaw } from '../helpers/send-raw.ts';
import { BODY, type FakeExporter, healthy, startExporter } from '../metrics/fake-exporter.ts';
import type { Host } from '../router/host-kit.ts';
import { expressCase, type FaultBench, faultCase } from './kit/fault-case.ts';

const LAST = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const PATH = '/deep/monitor';

/** A host with an exporter behind it. */
async function serveExporter({
  serve,
}: FaultBench): Promise<{ host: Host; exporter: FakeExporter; port: number }> {
  const exporter = await startExporter(healthy);
  const host = await serve(
    { exporter: exporter.url },
    {
      mount: PATH,
      before: (app) => void app.get('/last', (_request, response) => void response.end('LAST')),
    },
  );
  return { host, exporter, port: Number(new URL(host.url).port) };
}

const TARGET = `${PATH}/metrics`;

/** Requests that hide another, or a body; and whether Node itself refuses them. */
const SMUGGLED: Readonly<Record<string, { readonly text: string; readonly refused?: true }>> = {
  'a length and chunks': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n`,
    refused: true,
  },
  'two lengths': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil!`,
    refused: true,
  },
  'a list of encodings that does not end in chunks': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\nevil`,
    refused: true,
  },
  'a folded header': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nX-A: b\r\n Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`,
  },
  'a space before the colon': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n`,
    refused: true,
  },
  'a body': { text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nGET /evil${LAST}` },
  'a body in chunks': {
    text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n${LAST}`,
  },
  'a second request right behind': { text: `GET ${TARGET} HTTP/1.1\r\nHost: a\r\n\r\n${LAST}` },
};

expressCase(37, `${Object.keys(SMUGGLED).length} requests that smuggle another`, async (bench) => {
  for (const [name, { text, refused = false }] of Object.entries(SMUGGLED)) {
    const { exporter, port } = await serveExporter(bench);
    const received = await sendRaw(port, text);
    if (refused) expect(received, name).toMatch(/^HTTP\/1\.1 400 /m);
    else expect(received, name).toMatch(/^HTTP\/1\.1 (?:200|400) /);
    expect(received, name).not.toMatch(/host$|evil/);
    // At most the one request that was meant, without a body.
    expect(exporter.requests.length, name).toBeLessThanOrEqual(1);
    if (received.includes(BODY)) expect(exporter.requests, name).toHaveLength(1);
    for (const request of exporter.requests) {
      expect(request, name).toMatch(/^GET \/metrics HTTP\/1\.1\r\n[\s\S]*\r\n\r\n$/);
      expect(request.toLowerCase(), name).not.toMatch(/evil|chunked|content-length|x-a/);
    }
  }
});

/** Request lines that would lead a careless proxy elsewhere; what they may be answered with. */
const ELSEWHERE: readonly (readonly [target: string, status: RegExp])[] = [
  [`${TARGET}/`, /308/],
  [`${TARGET}/x`, /404/],
  [`${TARGET}/../admin`, /404|308/],
  [`${TARGET}/%2e%2e/admin`, /404|308/],
  [`${PATH}//evil.example/metrics`, /404/],
  [`//evil.example${TARGET}`, /404/],
  [`${TARGET}@evil.example`, /404/],
  [`${TARGET}%2f..%2fadmin`, /404/],
  [`${TARGET};a=b`, /404/],
  [`${TARGET}\\..\\admin`, /404|400/],
  [`${TARGET}?target=http://169.254.169.254/`, /400/],
  [`${TARGET}?url=file:///etc/passwd`, /400/],
];

expressCase(38, `${ELSEWHERE.length} targets that point elsewhere`, async (bench) => {
  const { exporter, port } = await serveExporter(bench);
  for (const [target, status] of ELSEWHERE) {
    const received = await sendRaw(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(/^HTTP\/1\.1 (\d+) /.exec(received)?.[1], target).toMatch(status);
  }
  expect(exporter.requests).toEqual([]);
});

expressCase(38, 'hosts, proxy headers and upgrades that point elsewhere', async (bench) => {
  const heads = [
    `GET http://evil.example${TARGET} HTTP/1.1\r\nHost: evil.example\r\n`,
    `GET ${TARGET} HTTP/1.1\r\nHost: evil.example:9100\r\n`,
    `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: evil\r\nForwarded: host=evil\r\nX-Original-URL: /evil\r\n`,
    `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nSec-WebSocket-Key: evil\r\n`,
    `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nCookie: evil=1\r\nAuthorization: Bearer evil\r\nReferer: http://evil/\r\n`,
    `GET ${TARGET} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nExpect: 100-continue\r\nRange: bytes=0-1\r\nIf-None-Match: *\r\nX-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip\r\n`,
  ];
  for (const head of heads) {
    const { exporter, port } = await serveExporter(bench);
    const received = await sendRaw(port, `${head}Connection: close\r\n\r\n`);
    expect(received, head).toMatch(/^HTTP\/1\.1 200 /m);
    expect(received, head).toContain(BODY);
    expect(exporter.requests, head).toHaveLength(1);
    expect(exporter.requests[0]).toMatch(/^GET \/metrics HTTP\/1\.1\r\n/);
    expect(exporter.requests[0]).toMatch(new RegExp(`^host: 127\\.0\\.0\\.1:${exporter.port}\r$`, 'im'));
    expect(exporter.requests[0]?.toLowerCase()).not.toMatch(
      /evil|upgrade|forwarded|cookie|trailers|expect|range|if-none|gzip|override/,
    );
  }
});

faultCase(40, 'an exporter that is the monitor itself', async ({ serve, expectAnswer, figure }) => {
  // The monitor's own port is known only once it listens: this hands on to it.
  let port = 0;
  const relay = await startExporter((socket, head) => {
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
    onward.write(head);
    onward.pipe(socket);
  });
  const host = await serve({ exporter: relay.url.replace('/metrics', '/monitor/metrics') });
  port = Number(new URL(host.url).port);
  await expectAnswer(host, '/metrics', { status: 502, code: 'exporter_invalid' });
  expect(relay.opened()).toBe(1);
  figure('hops', relay.opened());
});
