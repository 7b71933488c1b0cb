/** Answers of the metrics exporter, byte by byte, through the metrics route. */
import express from 'express';
import fc from 'fast-check';
import { expect } from 'vitest';
import { createMonitorRouter, type MonitorRouter } from '../../../src/index.ts';
import { checkResponse } from '../../helpers/openapi-check.ts';
import { answer, BODY, type FakeExporter, startExporter, TEXT } from '../../metrics/fake-exporter.ts';
import { inject } from '../inject.ts';
import { bytes, text } from '../inputs.ts';
import { mutated } from '../mutations.ts';
import { defineTarget } from '../target.ts';

const CHUNKED = `HTTP/1.1 200 OK\r\nContent-Type: ${TEXT}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nup 1\n\r\n0\r\n\r\n`;
const SEEDS = [
  answer(BODY),
  CHUNKED,
  answer(BODY, ['Content-Type: text/html', 'Set-Cookie: a=b']),
  answer('', ['Location: http://evil.example/'], '302 Found'),
  answer(BODY, [`Content-Type: ${TEXT}`, 'Content-Encoding: gzip']),
];

let reply = '';
let scrape = 0;
let exporter: FakeExporter | null = null;
let router: MonitorRouter | null = null;
const app = express();

export const exporterTarget = defineTarget({
  name: 'answers of the exporter',
  share: 10,
  covers: ['scrape', 'formats'].map((file) => `metrics/${file}.ts`),
  // Each input is a connection of its own, whose time is not ours.
  isSlow: true,
  inputs: fc.oneof(
    mutated(SEEDS),
    fc.constantFrom(...SEEDS),
    bytes,
    fc.oneof(mutated([TEXT]), text).map((type) => answer(BODY, [`Content-Type: ${type}`])),
  ),
  async open() {
    exporter = await startExporter((socket) => socket.end(reply, 'latin1'));
    const options = { url: exporter.url, query: ['n'], timeoutMs: 10_000 };
    router = createMonitorRouter({ exporter: options, authorize: false });
    app.use(router);
  },
  async close() {
    await router?.close();
    await exporter?.close();
  },
  async check(given) {
    reply = given;
    scrape += 1;
    // A name of its own: answers are shared for a second.
    const url = `/metrics?n=${scrape}`;
    const got = await inject(app, { method: 'GET', url, headers: {} });
    checkResponse('GET', url, got);
    expect([200, 502, 503]).toContain(got.status);
    expect(Object.keys(got.headers)).not.toContain('set-cookie');
    expect(JSON.stringify(got.headers)).not.toContain('evil.example');
    if (got.status !== 200) return;
    expect(String(got.headers['content-type'])).toMatch(
      /^(?:text\/plain|application\/openmetrics-text|application\/vnd\.google\.protobuf)/i,
    );
    expect(got.headers['content-type']).toMatch(/^[\t -~]+$/);
    // Of a chunked answer the chunks' heads are not in the body.
    if (!given.toLowerCase().includes('chunked')) {
      expect(Buffer.from(given, 'latin1').includes(got.bytes)).toBe(true);
    }
  },
});
