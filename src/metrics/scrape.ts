/**
 * One scrape of the exporter through http-proxy-middleware. By default that package forwards cookies and methods,
 * returns the exporter's headers, hangs on a stalled body and can crash the host. Here it gets an artificial request and
 * response, and the exporter's answer is checked before anything is sent to the client.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { MonitorError } from '../errors.ts';
import { settleInTime } from '../waiting.ts';
import type { ResolvedExporter } from './exporter-options.ts';
import { type MetricsReply, readReply } from './exporter-reply.ts';
import { refuseForbidden } from './forbidden-address.ts';

/** What is requested from the exporter. */
export interface Scrape {
  /** Path and query. */
  readonly path: string;
  /** All headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Requests metrics from the exporter.
 *
 * @param signal ends the scrape; the result is then rejected with its reason
 * @throws MonitorError `exporter_invalid`, `exporter_unavailable` or `exporter_timeout`
 */
export async function scrapeExporter(
  resolved: ResolvedExporter,
  scrape: Scrape,
  signal: AbortSignal,
): Promise<MetricsReply> {
  const shadows = createShadows(scrape);
  const late = (): Error => (signal.aborted ? signal.reason : new MonitorError('exporter_timeout'));
  try {
    return await settleInTime(forward(resolved, shadows), { ms: resolved.timeoutMs, signal }, late);
  } finally {
    shadows.close();
  }
}

/** What http-proxy-middleware gets instead of the client's request and response. */
interface Shadows {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Destroys any open connection to the exporter. */
  close(): void;
}

/**
 * They contain no header, method, path, body or socket of the client, so the proxy cannot forward them. They are not
 * connected to the client either, so neither the proxy's error pages nor the exporter's headers can reach it.
 */
function createShadows({ path, headers }: Scrape): Shadows {
  // Without a `server`: on a real one the proxy would add listeners and never remove them.
  const socket = { destroyed: false, writable: true };
  const request = Object.assign(Readable.from([]), { method: 'GET', url: path, headers, socket });
  const response = new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    request: request as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
    close() {
      // Version 3 aborts the request to the exporter on `aborted`, version 4 when the response closes.
      request.emit('aborted');
      request.destroy();
      response.destroy();
    },
  };
}

/** The proxy is loaded at the first scrape, since loading takes time and may warn (DEP0060). */
async function forward(resolved: ResolvedExporter, { request, response }: Shadows): Promise<MetricsReply> {
  const { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } = await loadProxy();
  return new Promise((resolve, reject) => {
    // The scrape may have ended while the proxy was loading.
    if (response.destroyed) return;
    let isAnswered = false;
    const fail = (error: unknown): void =>
      reject(
        new MonitorError(isAnswered || isParseError(error) ? 'exporter_invalid' : 'exporter_unavailable'),
      );
    const handle = createProxyMiddleware<IncomingMessage, ServerResponse>({
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
        proxyReq(outgoing) {
          // A connection may close with neither a response nor an error, for example after `101 Switching Protocols`.
          outgoing.once('close', () => {
            if (!isAnswered) reject(new MonitorError('exporter_invalid'));
          });
          watchRequest(outgoing, response, reject);
        },
        proxyRes(incoming) {
          isAnswered = true;
          readReply(incoming, resolved.maxBytes).then(resolve, reject);
        },
        error: fail,
        econnreset: fail,
      },
    });
    handle(request, response, fail).catch(fail);
  });
}

async function loadProxy(): Promise<typeof import('http-proxy-middleware')> {
  try {
    return await import('http-proxy-middleware');
  } catch {
    throw new MonitorError('exporter_unavailable');
  }
}

// No real exporter sends more interim (1xx) responses than this.
const MOST_INTERIM = 16;

/**
 * Ends a request that must not go on. Does not change its headers: they may already have been sent.
 *
 * @param request has its socket
 */
function watchRequest(
  request: ClientRequest,
  response: ServerResponse,
  reject: (error: MonitorError) => void,
): void {
  if (response.destroyed) {
    request.destroy();
    return;
  }
  response.once('close', () => request.destroy());
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > MOST_INTERIM) reject(new MonitorError('exporter_invalid'));
  });
  refuseForbidden(request, () => reject(new MonitorError('exporter_unavailable')));
}

/** Errors of Node's HTTP parser start with `HPE_`: the exporter sent something that is not HTTP. */
function isParseError(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && code.startsWith('HPE_');
}
