import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { preferredFormat } from '../../src/metrics/accept.ts';

const PROTOBUF = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';

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
  ])('of %j is %j', (accept, format) => {
    expect(preferredFormat(accept)).toBe(format);
  });

  it('is one of eleven, however it is written', () => {
    const part = fc.constantFrom(
      'text/plain',
      'application/openmetrics-text',
      'application/vnd.google.protobuf',
      'version=1.0.0',
      'version=0.0.4',
      'version=0.0.1',
      'escaping=allow-utf-8',
      'q=0.5',
      'q=0',
      ';',
      ',',
      '"',
      '\r\nX-Evil: 1',
    );
    const seen = new Set<string | undefined>();
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string()), { maxLength: 20 }), (parts) => {
        seen.add(preferredFormat(parts.join(';').replaceAll(';,;', ',')));
      }),
      { numRuns: 5_000 },
    );
    expect(seen.size).toBeLessThanOrEqual(11);
    for (const format of seen) expect(format ?? '').toMatch(/^[\x20-\x7e]*$/);
  });
});
