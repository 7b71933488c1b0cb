import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** An exporter that does what a test tells it to, byte by byte. */
export interface FakeExporter {
  readonly url: string;
  readonly port: number;
  /** The whole text of each request, in the order in which they came. */
  readonly requests: string[];
  /** Connections that are open now. */
  open(): number;
  /** Connections that there ever were. */
  opened(): number;
  close(): Promise<void>;
}

/** Called once per connection, with the request's head; writes what it likes. */
export type Script = (socket: Socket, head: string, requestNumber: number) => void;

/**
 * Listens on a free port of the loopback address until the test ends.
 *
 * @param greeting said at once, before anything was asked, and then it hangs up
 */
export async function startExporter(script: Script, greeting?: string): Promise<FakeExporter> {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  let opened = 0;
  const server = createServer((socket) => {
    opened += 1;
    sockets.add(socket);
    if (greeting !== undefined) socket.end(greeting);
    let text = '';
    let number = -1;
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (number >= 0) {
        requests[number] = text;
        return;
      }
      if (!text.includes('\r\n\r\n')) return;
      number = requests.push(text) - 1;
      script(socket, text, number);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const exporter: FakeExporter = {
    port,
    url: `http://127.0.0.1:${port}/metrics`,
    requests,
    open: () => sockets.size,
    opened: () => opened,
    async close() {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  onTestFinished(() => exporter.close());
  return exporter;
}

export const TEXT = 'text/plain; version=0.0.4; charset=utf-8';
export const BODY = '# HELP up Whether it is up.\n# TYPE up gauge\nup 1\n';

/** A whole answer with a length. */
export function answer(
  body: string,
  headers: readonly string[] = [`Content-Type: ${TEXT}`],
  status = '200 OK',
): string {
  return [
    `HTTP/1.1 ${status}`,
    `Content-Length: ${Buffer.byteLength(body, 'latin1')}`,
    ...headers,
    '',
    body,
  ].join('\r\n');
}

/** The script of a healthy exporter. */
export const healthy: Script = (socket) => socket.end(answer(BODY), 'latin1');
