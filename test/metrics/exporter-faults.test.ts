import { describe, expect, it } from 'vitest';
import type { MetricsOptions } from '../../src/http/metrics-proxy.ts';
import { INVALID_ANSWERS } from './exporter-scripts.ts';
import { startExporter, until } from './fake-exporter.ts';
import { connectProxy, outcome, PROXY_VERSIONS } from './proxy-versions.ts';

describe.each(PROXY_VERSIONS)('the exporter behind $name', ({ load }) => {
  const connect = (options: MetricsOptions | string) => connectProxy(options, load);

  it.each(Object.entries(INVALID_ANSWERS))('is refused as invalid when it %s', async (_name, script) => {
    const exporter = await startExporter(script);
    const proxy = connect({ url: exporter.url, maxBytes: 100_000, timeoutMs: 15_000 });
    expect(await outcome(proxy)).toBe('exporter_invalid');
    await until(() => exporter.open() === 0, 'the connection to the exporter is closed');
    expect(exporter.opened()).toBe(1);
  });
});
