import { describe, expect, it } from 'vitest';
import { isMetricsType } from '../../src/metrics/content-types.ts';
import { cpuMs } from '../helpers/cpu-time.ts';

describe('isMetricsType', () => {
  it.each([
    'text/plain',
    'text/plain;',
    'text/plain ; version=0.0.4',
    'Text/Plain; Charset="utf-8"',
    'application/openmetrics-text; version=2.0.0; charset=utf-8; escaping=allow-utf-8',
    'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text',
  ])('admits %s', (type) => expect(isMetricsType(type)).toBe(true));

  it.each([
    undefined,
    '',
    'text',
    'text/html',
    'text/plainly',
    'text/plain/html',
    'text/plain, text/html',
    'text/plain; a="',
    'text/plain; a=b c',
    'text/plain; <script>',
    'text/plain; a="\u00e9"',
    'text/plain; version=0.0.4\u0000',
    ' ; version=0.0.4',
    'multipart/mixed; boundary=text/plain',
    'image/svg+xml',
    'application/javascript',
  ])('refuses %s', (type) => expect(isMetricsType(type)).toBe(false));

  it('decides a hostile value in a moment', () => {
    const begin = cpuMs();
    isMetricsType(`text/plain${' ;a=b'.repeat(48)}!`);
    isMetricsType(`text/plain${';'.repeat(100_000)}!`);
    expect(cpuMs() - begin).toBeLessThan(500);
  });
});
