import { EventEmitter } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { MonitorError } from '../errors.ts';
import { refuseForbidden } from '../outgoing/forbidden-socket.ts';
import { type MetricsReply, readReply } from './exporter-reply.ts';
import type { Call } from './shared-calls.ts';

/** One request to the exporter. It settles once, with a whole reply or a {@link MonitorError}. */
export interface Exchange extends Call<MetricsReply>, Pick<ShadowPair, 'request' | 'response'> {
  /**
   * To be called when the request to the exporter has its socket. Do not change the headers: they may already have been
   * sent.
   */
  onRequest(request: ClientRequest): void;
  /** To be called when the exporter's headers have arrived. */
  onResponse(response: IncomingMessage): void;
  /** To be called when the proxy failed. */
  onError(error: unknown): void;
}

// No real exporter sends more interim (1xx) responses than this.
const MOST_INTERIM = 16;

/**
 * Starts an exchange.
 *
 * @param timeoutMs time limit in milliseconds, from now to the last byte
 * @param maxBytes maximum size of the body
 */
export function openExchange(
  url: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
  maxBytes: number,
): Exchange {
  const { request, response, close } = createShadowPair(url, headers);
  const { promise, resolve, reject } = defer<MetricsReply>();
  let settled = false;
  let answered = false;

  function settle(act: () => void): void {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    act();
    close();
  }
  const fail = (error: MonitorError): void => settle(() => reject(error));
  const timer = setTimeout(() => fail(new MonitorError('exporter_timeout')), timeoutMs);
  timer.unref();

  return {
    request,
    response,
    result: promise,
    onRequest(proxyRequest) {
      if (settled) {
        proxyRequest.destroy();
        return;
      }
      response.once('close', () => proxyRequest.destroy());
      let interim = 0;
      proxyRequest.on('information', () => {
        interim += 1;
        if (interim > MOST_INTERIM) fail(new MonitorError('exporter_invalid'));
      });
      // A connection may close with neither a response nor an error, for example after
      // `101 Switching Protocols`.
      proxyRequest.once('close', () => {
        if (!answered) fail(new MonitorError('exporter_invalid'));
      });
      refuseForbidden(proxyRequest, () => fail(new MonitorError('exporter_unavailable')));
    },
    onResponse(proxyResponse) {
      answered = true;
      readReply(proxyResponse, maxBytes, (reply) => settle(() => resolve(reply)), fail);
    },
    onError(error) {
      fail(new MonitorError(answered || isParseError(error) ? 'exporter_invalid' : 'exporter_unavailable'));
    },
    abort: fail,
  };
}

/** Errors of Node's HTTP parser start with `HPE_`: the exporter sent something that is not HTTP. */
function isParseError(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && code.startsWith('HPE_');
}

function defer<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: MonitorError) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/**
 * The request and response that http-proxy-middleware gets instead of the client's. They contain no header,
 * method, path, body or socket of the client, so the proxy cannot forward them. They are not connected to the
 * client either, so neither the proxy's error pages nor the exporter's headers can reach it.
 */
interface ShadowPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Ends the exchange and destroys any open connection to the exporter. */
  close(): void;
}

/**
 * Creates a pair.
 *
 * @param url path and query to request from the exporter
 * @param headers all headers of the request, with names in lower case
 */
function createShadowPair(url: string, headers: Readonly<Record<string, string>>): ShadowPair {
  // Without a `server`: on a real one the proxy would add listeners and never remove them.
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    writable: true,
    setTimeout: () => socket,
  });
  const request = Object.assign(
    new Readable({
      read() {
        this.push(null);
      },
    }),
    { method: 'GET', url, headers, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1, socket },
  );
  const response = new Writable({ write: (_chunk, _encoding, done) => done() });
  request.on('error', ignore);
  response.on('error', ignore);
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

function ignore(): void {}
