/** The one way in which tests send requests: every response is checked against `openapi.json`. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { checkResponse } from './openapi-check.ts';

/** The response. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; throws if it is not JSON. */
  readonly body: Body;
}

/** Keeps a connection to each host, for tests that ask thousands of times; {@link ask} opens one for each request. */
export const keepAlive = new Agent({ keepAlive: true });

/** How to ask. */
export interface AskOptions {
  /** Default `GET`. */
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as it is; for requests that have a body although none is used. */
  readonly send?: string;
  /** Default: none. A connection that Node ends after a bad request must not be offered to the next one. */
  readonly agent?: Agent;
  /** False for answers of the host's own, or of a middleware in front of us. Default true. */
  readonly ours?: boolean;
}

/**
 * Sends one request and checks the response against `openapi.json`.
 *
 * @param base where the router is mounted, such as `http://127.0.0.1:4000/monitor`
 * @param path path after the base, sent byte for byte: `/api/tasks/?limit=1`
 */
export async function ask<Body = unknown>(
  base: string,
  path: string,
  { method = 'GET', headers = {}, send, agent, ours = true }: AskOptions = {},
): Promise<Answer<Body>> {
  const { hostname, port, pathname } = new URL(base);
  const target = `${pathname.replace(/\/$/, '')}${path}`;
  const answer = await new Promise<Answer<Body>>((resolve, reject) => {
    const sent = send === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(send) };
    const outgoing = request({ hostname, port, path: target, method, headers: sent, agent: agent ?? false });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('error', reject);
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          bytes,
          text: bytes.toString('utf8'),
          get body() {
            return JSON.parse(bytes.toString('utf8')) as Body;
          },
        });
      });
    });
    outgoing.end(send);
  });
  if (ours) checkResponse(method, path, answer);
  return answer;
}
