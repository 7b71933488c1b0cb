/**
 * One scrape of the exporter through http-proxy-middleware. By default that package forwards cookies and methods,
 * returns the exporter's headers, hangs on a stalled body and can crash the host. Here it gets an artificial request
 * and response, and the exporter's answer is checked before anything is sent to the client.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { MonitorError } from '../errors.ts';
import { settleInTime } from '../waiting.ts';
import { refuseForbidden } from './forbidden-address.ts';
import { isMetricsType, isOpenMetrics } from './formats.ts';
import type { ResolvedExporter } from './metrics-options.ts';

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

/**
 * What http-proxy-middleware gets instead of the client's request and response. They contain no header, method, path,
 * body or socket of the client, so the proxy cannot forward them. They are not connected to the client either, so
 * neither the proxy's error pages nor the exporter's headers can reach it.
 */
function createShadows({ path, headers }: Scrape) {
  // Without a `server`: on a real one the proxy would add listeners and never remove them.
  const socket = { destroyed: false, writable: true };
  const request = Object.assign(Readable.from([]), { method: 'GET', url: path, headers, socket });
  const response = new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    request: request as unknown as IncomingMessage,
    response: response as unknown as ServerResponse,
    /** Destroys any open connection to the exporter. */
    close(): void {
      // Version 3 aborts the request to the exporter on `aborted`, version 4 when the response closes.
      request.emit('aborted');
      request.destroy();
      response.destroy();
    },
  };
}

/** The proxy is loaded at the first scrape, since loading takes time and may warn (DEP0060). */
async function forward(
  resolved: ResolvedExporter,
  { request, response }: ReturnType<typeof createShadows>,
): Promise<MetricsReply> {
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

/** A complete, checked response of the exporter. */
export interface MetricsReply {
  /** Exactly as the exporter sent it: Prometheus rejects a scrape whose type it cannot parse. */
  readonly contentType: string;
  /** Shared by all concurrent requests, so it must not be changed. */
  readonly body: Buffer;
}

const OPEN_METRICS_END = Buffer.from('# EOF\n');

/**
 * Reads a response to its end.
 *
 * @param maxBytes maximum size of the body, in bytes
 * @throws MonitorError `exporter_invalid` unless it is complete and valid
 */
function readReply(response: IncomingMessage, maxBytes: number): Promise<MetricsReply> {
  return new Promise((resolve, reject) => {
    const body = createBody(maxBytes);
    // One read of the socket can yield thousands of chunks, which arrive even after the connection was closed.
    const refuse = (detail: string): void => {
      response.off('data', take);
      reject(new MonitorError('exporter_invalid', detail));
    };
    // Attach this first: a broken connection emits `error` on the response.
    response.on('error', () => refuse(CUT));
    const contentType = response.headers['content-type'];
    const fault = findFault(response, maxBytes);
    if (fault !== null || contentType === undefined) {
      refuse(fault ?? UNKNOWN_TYPE);
      return;
    }
    response.on('data', take);
    response.on('end', () => {
      const bytes = body.take();
      const { 'content-length': length, 'transfer-encoding': transfer } = response.headers;
      // Without them, the end of the connection ends the body, even if it is incomplete (RFC 9112, 6.3).
      const isFramed = length !== undefined || transfer !== undefined;
      if (!response.complete) refuse(CUT);
      else if (!isFramed && !marksItsEnd(contentType, bytes)) refuse(UNFRAMED);
      else resolve({ contentType, body: bytes });
    });
    // Has no effect after `end`. Without `end` the body is incomplete.
    response.on('close', () => refuse(CUT));

    function take(chunk: Buffer): void {
      const excess = body.add(chunk);
      if (excess !== null) refuse(excess);
    }
  });
}

const CUT = 'The connection to the metrics exporter broke before the end of its answer.';
const UNKNOWN_TYPE =
  'The metrics exporter did not answer with a content type of Prometheus text, OpenMetrics or protobuf.';
const UNFRAMED =
  'The metrics exporter sends neither Content-Length nor chunks, so an incomplete answer could not be detected.';
const CRUMBS = 'The metrics exporter sends its answer in too many chunks of a few bytes.';

function tooLarge(maxBytes: number): string {
  return `The metrics exporter's answer is larger than ${maxBytes} bytes.`;
}

// Each chunk takes time, however small it is. This many may be tiny ...
const FREE_CHUNKS = 1_024;
// ... and further ones must have at least this many bytes on average: less than a line of metrics.
const CHUNK_BYTES = 16;
const FIRST_BYTES = 65_536;

/**
 * Collects a body in one buffer, which doubles when it is full. A list of chunks would need more memory:
 * some hundred bytes for a chunk of one byte.
 */
function createBody(maxBytes: number) {
  let buffer = Buffer.allocUnsafeSlow(Math.min(FIRST_BYTES, maxBytes));
  let size = 0;
  let chunks = 0;
  return {
    /** @returns why the body is rejected; `null` if it is not */
    add(chunk: Buffer): string | null {
      const end = size + chunk.length;
      chunks += 1;
      if (end > maxBytes) return tooLarge(maxBytes);
      if (chunks > FREE_CHUNKS + end / CHUNK_BYTES) return CRUMBS;
      if (end > buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(end, buffer.length * 2)));
        buffer.copy(larger, 0, 0, size);
        buffer = larger;
      }
      chunk.copy(buffer, size);
      size = end;
      return null;
    },
    /** The whole body, in a buffer of its size. */
    take: (): Buffer => Buffer.from(buffer.subarray(0, size)),
  };
}

function findFault({ statusCode: status = 0, headers }: IncomingMessage, maxBytes: number): string | null {
  if (status >= 300 && status < 400) {
    return `The metrics exporter answered with a redirect (status ${status}), which is not followed.`;
  }
  if (status !== 200) return `The metrics exporter answered with status ${status}.`;
  if (!isMetricsType(headers['content-type'])) return UNKNOWN_TYPE;
  const encoding = headers['content-encoding'] ?? 'identity';
  // Node decodes `chunked` and leaves any other transfer coding in place (RFC 9112, 6.1).
  const transfer = headers['transfer-encoding'] ?? 'chunked';
  if (encoding.toLowerCase() !== 'identity' || transfer.trim().toLowerCase() !== 'chunked') {
    return 'The metrics exporter encoded its answer although it was asked not to.';
  }
  if (Number(headers['content-length'] ?? 0) > maxBytes) return tooLarge(maxBytes);
  return null;
}

function marksItsEnd(contentType: string, body: Buffer): boolean {
  return isOpenMetrics(contentType) && body.subarray(-OPEN_METRICS_END.length).equals(OPEN_METRICS_END);
}
