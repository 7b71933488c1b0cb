import { onTestFinished } from 'vitest';
import {
  createMetricsProxy,
  type MetricsOptions,
  type MetricsServer,
  type ProxyModule,
  resolveMetrics,
  type ScrapeRequest,
} from '../../src/http/metrics-proxy.ts';

/** The versions of http-proxy-middleware that the package admits. */
export const PROXY_VERSIONS: readonly { readonly name: string; readonly load: () => Promise<ProxyModule> }[] =
  [
    { name: 'http-proxy-middleware 3', load: () => import('http-proxy-middleware') },
    {
      name: 'http-proxy-middleware 4',
      // Its types speak of another proxy library underneath; what is used of it has the same shape.
      load: () => import('http-proxy-middleware4') as Promise<unknown> as Promise<ProxyModule>,
    },
  ];

/** A proxy to the exporter, until the test ends. */
export function connectProxy(
  options: MetricsOptions | string,
  load?: () => Promise<ProxyModule>,
): MetricsServer {
  const resolved = resolveMetrics(options);
  if (resolved === null) throw new Error('metrics are off');
  const proxy = createMetricsProxy(resolved, load);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** What came of a scrape: status, type and body in one line, or the error's code. */
export async function outcome(proxy: MetricsServer, request: ScrapeRequest = {}): Promise<string> {
  try {
    const { status, contentType, body } = await proxy.scrape(request);
    return `${status} ${contentType} ${body.toString('latin1')}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}
