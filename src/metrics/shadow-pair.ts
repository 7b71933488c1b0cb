import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';

/**
 * What http-proxy-middleware gets in place of the client's request and response. It sees no header,
 * method, path, body or socket of the client, so it can forward none of them; and it cannot answer the
 * client, so neither its error pages nor the exporter's headers can reach anybody.
 */
export interface ShadowPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Ends the exchange: whatever is still open to the exporter is destroyed. */
  close(): void;
}

/**
 * @param url path and query to ask the exporter for
 * @param headers every header that the exporter gets, names in lower case
 */
export function createShadowPair(url: string, headers: Readonly<Record<string, string>>): ShadowPair {
  // A socket without a server: the proxy hangs listeners on the server of the real one, and never removes them.
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
      // Version 3 ends the request to the exporter on `aborted`, version 4 when the response closes.
      request.emit('aborted');
      request.destroy();
      response.destroy();
    },
  };
}

function ignore(): void {}
