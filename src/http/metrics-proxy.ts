/**
 * `GET /metrics`: reads the exporter through http-proxy-middleware. By default that package forwards cookies and
 * methods, returns the exporter's headers, hangs on a stalled body and can crash the host. Here it gets an
 * artificial request, and its response is checked before anything is sent to the client.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { debugChannel } from '../debug.ts';
import { MonitorError } from '../errors.ts';
import { preferredFormat } from '../metrics/accept.ts';
import { type Exchange, openExchange } from '../metrics/exchange.ts';
import type { MetricsReply } from '../metrics/exporter-reply.ts';
import type { ResolvedMetrics } from '../metrics/metrics-options.ts';
import { createReachability } from '../metrics/reachability.ts';
import { createSharedCalls } from '../metrics/shared-calls.ts';

export type { MetricsReply } from '../metrics/exporter-reply.ts';

/** The used exports of http-proxy-middleware; the same in versions 3 and 4. */
export type ProxyModule = Pick<
  typeof import('http-proxy-middleware'),
  'createProxyMiddleware' | 'debugProxyErrorsPlugin' | 'proxyEventsPlugin'
>;

/** One client's request. */
export interface ScrapeRequest {
  /** The client's `Accept`. Only the format that it prefers is requested from the exporter. */
  readonly accept?: string | undefined;
  /** The client's query. Its names must be among {@link ResolvedMetrics.query}. */
  readonly query?: URLSearchParams | string | undefined;
  /** GET or HEAD; the exporter always gets a GET. */
  readonly method?: string | undefined;
  /** The client's headers, used only to detect a monitor that scrapes itself. None is forwarded. */
  readonly headers?: IncomingHttpHeaders | undefined;
  /** Aborted when the client disconnects. After the last disconnect the exporter request is aborted too. */
  readonly signal?: AbortSignal | undefined;
}

/** What `/metrics` serves. */
export interface MetricsServer {
  /**
   * The whole exposition. It is at most a second old, and shared by concurrent equal requests.
   * Rejects with a MonitorError: `exporter_invalid`, `exporter_unavailable`, `exporter_timeout`,
   * `overloaded`, or `invalid_parameter` for a query that is not allowed.
   */
  scrape(request: ScrapeRequest): Promise<MetricsReply>;
  /**
   * Whether the exporter answers, for the `metrics` component; `null` while that is unknown. Takes at
   * most a second, never rejects, and sends the exporter at most one request in five seconds.
   */
  check(): Promise<boolean | null>;
  /** Aborts open scrapes; later ones fail with `overloaded`. */
  close(): void;
}

const debug = debugChannel('metrics');

/** Sent with every scrape. A request with this header comes from a monitor: scraping again would cause a loop. */
const LOOP_HEADER = 'x-express-task-monitor-scrape';
const LOOP = 'The metrics exporter is a task monitor itself. Point metrics.url at the exporter.';

const KEEP_MS = 1_000;
const MOST_SCRAPES = 8;
const MOST_KEPT = 4;

/** Creates the proxy. @param load imports http-proxy-middleware; tests use it to load another version */
export function createMetricsProxy(
  resolved: ResolvedMetrics,
  load: () => Promise<ProxyModule> = loadProxyModule,
): MetricsServer {
  const reachability = createReachability();
  const calls = createSharedCalls<MetricsReply>({
    keepMs: KEEP_MS,
    mostCalls: MOST_SCRAPES,
    mostKept: MOST_KEPT,
    onOutcome: (outcome) => {
      if (outcome instanceof MonitorError) debug('scrape of %s: %s', resolved.displayUrl, outcome.code);
      reachability.observe(outcome);
    },
  });
  const forward = createForwarder(resolved, load);
  let closed = false;

  function start(path: string, accept: string | undefined): Exchange {
    const headers: Record<string, string> = {
      ...resolved.requestHeaders(),
      'accept-encoding': 'identity',
      [LOOP_HEADER]: '1',
    };
    if (accept !== undefined) headers.accept = accept;
    const exchange = openExchange(path, headers, resolved.timeoutMs, resolved.maxBytes);
    void forward(exchange);
    return exchange;
  }

  async function scrape({ accept, query, headers, signal }: ScrapeRequest): Promise<MetricsReply> {
    if (headers?.[LOOP_HEADER] !== undefined) throw new MonitorError('exporter_invalid', LOOP);
    const path = appendQuery(resolved, query);
    const format = preferredFormat(accept);
    return calls.run(JSON.stringify([path, format]), () => start(path, format), signal);
  }

  return {
    scrape,
    async check() {
      return closed ? null : reachability.check(() => scrape({}));
    },
    close() {
      closed = true;
      calls.close();
    },
  };
}

/** Path and query of one scrape: those of the host, then the allowed parameters of the client. */
function appendQuery(resolved: ResolvedMetrics, query: URLSearchParams | string | undefined): string {
  const added = new URLSearchParams(query);
  const faults = [...new Set(added.keys())]
    .filter((name) => !resolved.query.includes(name))
    .map((parameter) => ({ parameter, detail: 'This parameter is not passed on to the metrics exporter.' }));
  if (faults.length > 0) throw new MonitorError('invalid_parameter', undefined, faults);
  const text = added.toString();
  if (text === '') return resolved.path;
  return `${resolved.path}${resolved.path.includes('?') ? '&' : '?'}${text}`;
}

/** One proxy for all exchanges. It is loaded at the first scrape, since loading takes time and may warn (DEP0060). */
function createForwarder(resolved: ResolvedMetrics, load: () => Promise<ProxyModule>) {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  let middleware: ReturnType<typeof createMiddleware> | null = null;

  async function createMiddleware() {
    const { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } = await load();
    return createProxyMiddleware<IncomingMessage, ServerResponse>({
      target: resolved.origin,
      changeOrigin: true,
      method: 'GET',
      agent: resolved.agent ?? false,
      selfHandleResponse: true,
      followRedirects: false,
      // Without these two the proxy throws errors into the host; its other default plugins answer the client.
      ejectPlugins: true,
      plugins: [debugProxyErrorsPlugin, proxyEventsPlugin],
      on: {
        proxyReq: (request: ClientRequest, shadow) => exchanges.get(shadow)?.onRequest(request),
        proxyRes: (response, shadow) => exchanges.get(shadow)?.onResponse(response),
        error: (error, shadow) => exchanges.get(shadow)?.onError(error),
        econnreset: (error, shadow) => exchanges.get(shadow)?.onError(error),
      },
    });
  }

  return async function forward(exchange: Exchange): Promise<void> {
    exchanges.set(exchange.request, exchange);
    try {
      middleware ??= createMiddleware();
      const handle = await middleware.catch((error) => {
        middleware = null;
        throw error;
      });
      // The scrape may have been aborted while the proxy was loading.
      if (exchange.response.destroyed) return;
      await handle(exchange.request, exchange.response, (error?: unknown) => exchange.onError(error));
    } catch (error) {
      exchange.onError(error);
    }
  };
}

function loadProxyModule(): Promise<ProxyModule> {
  return import('http-proxy-middleware');
}
