/** Follows a stream of Server-Sent Events; the body of every message is checked against `openapi.json`. */
import { type ClientRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { checkResponse } from './openapi-check.ts';

/** One message. */
export interface StreamMessage<Body> {
  readonly id: string;
  readonly body: Body;
}

/** A stream under way. */
export interface OpenStream<Body> {
  readonly headers: IncomingHttpHeaders;
  readonly messages: readonly StreamMessage<Body>[];
  /** Everything received, comments included. */
  text(): string;
  /** Whether the server has ended it, or the connection is gone. */
  isOver(): boolean;
  /** Pauses and resumes reading, as a slow client does. */
  pause(): void;
  resume(): void;
  /** Disconnects. */
  close(): void;
}

/**
 * Opens a stream; resolves with its headers.
 *
 * @param base where the router is mounted
 * @param path path after the base
 */
export async function askStream<Body = unknown>(
  base: string,
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<OpenStream<Body>> {
  const { hostname, port, pathname } = new URL(base);
  const target = `${pathname.replace(/\/$/, '')}${path}`;
  return await new Promise((resolve, reject) => {
    const outgoing: ClientRequest = request({
      hostname,
      port,
      path: target,
      headers: { accept: 'text/event-stream', ...headers },
      agent: false,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const { statusCode = 0, headers: received } = incoming;
      if (!String(received['content-type']).startsWith('text/event-stream')) {
        outgoing.destroy();
        reject(new Error(`No stream, but ${statusCode} ${received['content-type']}.`));
        return;
      }
      let text = '';
      let over = false;
      let rest = '';
      let hasEndedLine = false;
      const messages: StreamMessage<Body>[] = [];
      const end = (): void => {
        over = true;
      };
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
        rest += chunk;
        // Only a chunk that ends a block: a message of megabytes would be searched anew with each of its chunks.
        const endsBlock = chunk.includes('\n\n') || (hasEndedLine && chunk.startsWith('\n'));
        hasEndedLine = chunk.endsWith('\n');
        if (!endsBlock) return;
        const blocks = rest.split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const message = /^id: (.*)\ndata: (.*)$/.exec(block);
          if (message === null) continue;
          const [, id = '', data = ''] = message;
          checkResponse('GET', path, {
            status: statusCode,
            headers: { ...received, 'content-type': 'application/json' },
            bytes: Buffer.from(data),
            text: data,
          });
          messages.push({ id, body: JSON.parse(data) as Body });
        }
      });
      incoming.on('error', end);
      incoming.on('end', end);
      incoming.on('close', end);
      outgoing.off('error', reject).on('error', end);
      resolve({
        headers: received,
        messages,
        text: () => text,
        isOver: () => over,
        pause: () => void incoming.pause(),
        resume: () => void incoming.resume(),
        close: () => void outgoing.destroy(),
      });
    });
    outgoing.end();
  });
}
