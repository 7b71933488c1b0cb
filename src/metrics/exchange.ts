import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { MonitorError } from '../errors.ts';
import { type MetricsReply, readReply } from './exporter-reply.ts';
import { isLinkLocal } from './link-local.ts';
import { createShadowPair, type ShadowPair } from './shadow-pair.ts';
import type { Call } from './shared-calls.ts';

/** One request to the exporter, with one outcome: a whole reply or a {@link MonitorError}. */
export interface Exchange extends Call<MetricsReply>, Pick<ShadowPair, 'request' | 'response'> {
  /** The request to the exporter has its socket. Its headers are already on their way: hands off them. */
  onRequest(request: ClientRequest): void;
  /** The exporter's headers have come. */
  onResponse(response: IncomingMessage): void;
  /** The proxy failed. */
  onError(error: unknown): void;
}

// More interim (1xx) answers than this are no exporter's.
const MOST_INTERIM = 16;

/**
 * @param timeoutMs for all of it, from now to the last byte
 * @param maxBytes largest body
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
      // A connection may end with neither response nor error: after `101 Switching Protocols`, for one.
      proxyRequest.once('close', () => {
        if (!answered) fail(new MonitorError('exporter_invalid'));
      });
      if (proxyRequest.socket !== null) refuseLinkLocal(proxyRequest.socket, fail);
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

/** A name may lead where the address itself would have been refused: told before it is connected to. */
function refuseLinkLocal(socket: Socket, fail: (error: MonitorError) => void): void {
  socket.on('lookup', (_error: unknown, address: unknown) => {
    // There is no address when the name could not be resolved.
    if (typeof address === 'string' && isLinkLocal(address)) fail(new MonitorError('exporter_unavailable'));
  });
}

/** Node's HTTP parser marks its errors with `HPE_`: bytes came, but they are no HTTP. */
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
