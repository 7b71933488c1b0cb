import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { healthy, startExporter } from './fake-exporter.ts';
import { mount, outcome } from './metrics-host.ts';

const PROTOBUF = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';

/** The Accept of a request that an exporter has received. */
const acceptOf = (request = ''): string | undefined => /^accept: (.*)\r$/im.exec(request)?.[1];

describe('the format that an Accept prefers', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['*/*', undefined],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', undefined],
    ['text/*', undefined],
    ['text/plain;q=0', undefined],
    ['text/plain;q=x', undefined],
    ['text/plain;version=9.9.9', undefined],
    ['text/plain', 'text/plain;version=0.0.4,*/*;q=0.1'],
    ['TEXT/Plain ; Version="0.0.4"', 'text/plain;version=0.0.4,*/*;q=0.1'],
    ['text/html, text/plain;q=0.1', 'text/plain;version=0.0.4,*/*;q=0.1'],
    [
      'text/plain;version=1.0.0;escaping=allow-utf-8',
      'text/plain;version=1.0.0;escaping=allow-utf-8,*/*;q=0.1',
    ],
    ['text/plain;version=0.0.4;escaping=allow-utf-8', 'text/plain;version=0.0.4,*/*;q=0.1'],
    ['application/openmetrics-text', 'application/openmetrics-text;version=1.0.0,*/*;q=0.1'],
    ['application/openmetrics-text;version=0.0.1', 'application/openmetrics-text;version=0.0.1,*/*;q=0.1'],
    [
      // Prometheus 2
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'application/openmetrics-text;version=1.0.0,*/*;q=0.1',
    ],
    [
      // Prometheus 3, with native histograms
      `${PROTOBUF};q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`,
      `${PROTOBUF},application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1`,
    ],
    [PROTOBUF, `${PROTOBUF},*/*;q=0.1`],
  ])('of %j is %j', async (accept, format) => {
    const exporter = await startExporter(healthy);
    await outcome(await mount(exporter.url), accept === undefined ? {} : { accept });
    expect(acceptOf(exporter.requests[0])).toBe(format);
  });

  it('is one of eleven, however it is written', async () => {
    const exporter = await startExporter(healthy);
    const host = await mount(exporter.url);
    const part = fc.constantFrom(
      ...['text/plain', 'application/openmetrics-text', 'application/vnd.google.protobuf', 'version=1.0.0'],
      ...['version=0.0.4', 'version=0.0.1', 'escaping=allow-utf-8', 'q=0.5', 'q=0', ';', ',', '"'],
    );
    // What a header may hold.
    const any = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(part, any), { maxLength: 20 }), async (parts) => {
        await outcome(host, { accept: parts.join(';').replaceAll(';,;', ',') });
      }),
      { numRuns: 60 },
    );
    const seen = new Set(exporter.requests.map(acceptOf));
    expect(seen.size).toBeGreaterThan(3);
    expect(seen.size).toBeLessThanOrEqual(11);
    for (const format of seen) expect(format ?? '').toMatch(/^[\x20-\x7e]*$/);
  });
});
