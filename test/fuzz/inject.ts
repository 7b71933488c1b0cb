/** Requests to an app without a socket: Node's own request and response, and what is written to them. */
import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Answer } from '../helpers/ask.ts';

/** A request as Node has parsed it. */
export interface Injected {
  readonly method: string;
  /** Path and query, byte for byte. */
  readonly url: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers a request; of a stream its first message, after which the client leaves. */
export function inject(app: RequestListener, { method, url, headers }: Injected): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method, url, headers: { host: 'localhost', ...headers }, httpVersion: '1.1' });
    request.httpVersionMajor = 1;
    request.httpVersionMinor = 1;
    request.push(null);
    const response = new ServerResponse(request);
    const wire = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
        if (String(response.getHeader('content-type')).startsWith('text/event-stream')) finish();
      },
    });
    response.assignSocket(wire as unknown as Socket);

    function finish(): void {
      const status = response.statusCode;
      const whole = Buffer.concat(chunks);
      const head = whole.indexOf('\r\n\r\n');
      const bytes = whole.subarray(head + 4);
      const sent = { ...response.getHeaders() } as Answer['headers'];
      const text = bytes.toString('utf8');
      resolve({ status, headers: sent, bytes, text, body: null });
      wire.destroy();
    }

    response.on('finish', finish);
    response.on('error', reject);
    try {
      app(request, response as never);
    } catch (error) {
      reject(error as Error);
    }
  });
}
