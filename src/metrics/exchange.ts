import type { ClientRequest, IncomingMessage } from 'node:http';
import { MonitorError } from '../errors.ts';
import { type MetricsReply, readReply } from './exporter-reply.ts';
import { isForbiddenAddress } from './forbidden-address.ts';
import { createShadowPair, type ShadowPair } from './shadow-pair.ts';
import type { Call } from './shared-calls.ts';

/** One request to the exporter. It settles once, with a whole reply or a {@link MonitorError}. */
export interface Exchange extends Call<MetricsReply>, Pick<ShadowPair, 'request' | 'response'> {
  /**
   * To be called when the request to the exporter has its socket. Do not change the headers: they may be sent
   * already.
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
      refuseForbidden(proxyRequest, fail);
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

/**
 * A host name may resolve to an address that would have been refused in the URL. Checks the address that was
 * looked up before connecting, and the one that the socket is connected to before a byte of the request is
 * written: the host's agent may have looked the name up before this socket could be watched.
 */
function refuseForbidden(proxyRequest: ClientRequest, fail: (error: MonitorError) => void): void {
  const { socket } = proxyRequest;
  if (socket === null) return;
  const check = (address: unknown): void => {
    // There is no address when the name cannot be resolved.
    if (typeof address !== 'string' || !isForbiddenAddress(address)) return;
    fail(new MonitorError('exporter_unavailable'));
    proxyRequest.destroy();
    socket.destroy();
  };
  if (!socket.pending) {
    check(socket.remoteAddress);
    return;
  }
  socket.on('lookup', (_error: unknown, address: unknown) => check(address));
  // Before the listener that writes the request.
  socket.prependOnceListener('connect', () => check(socket.remoteAddress));
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
