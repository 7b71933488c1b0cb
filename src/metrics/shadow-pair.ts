import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';

/**
 * The request and response that http-proxy-middleware gets instead of the client's. They contain no header,
 * method, path, body or socket of the client, so the proxy cannot forward them. They are not connected to the
 * client either, so neither the proxy's error pages nor the exporter's headers can reach it.
 */
export interface ShadowPair {
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
export function createShadowPair(url: string, headers: Readonly<Record<string, string>>): ShadowPair {
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
