/** Very many requests over a few connections that stay open: for floods, where only status and time matter. */
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';

/** The response without its body. */
export interface BriefAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Length of the body, in bytes. */
  readonly length: number;
  /** Milliseconds. */
  readonly took: number;
}

/** How to ask. */
export interface AskManyOptions {
  /** Connections open at once. Default 20. */
  readonly connections?: number;
  readonly headers?: OutgoingHttpHeaders;
}

/** Asks for each path, in order of the list, as many at once as there are connections. Rejects when one fails. */
export async function askMany(
  base: string,
  paths: readonly string[],
  { connections = 20, headers = {} }: AskManyOptions = {},
): Promise<BriefAnswer[]> {
  const { hostname, port, pathname } = new URL(base);
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const answers: BriefAnswer[] = [];
  let next = 0;

  function askOne(path: string): Promise<BriefAnswer> {
    const start = performance.now();
    return new Promise((resolve, reject) => {
      const target = `${pathname.replace(/\/$/, '')}${path}`;
      const outgoing = request({ hostname, port, path: target, headers, agent }, (incoming) => {
        let length = 0;
        incoming.on('error', reject);
        incoming.on('data', (chunk: Buffer) => {
          length += chunk.length;
        });
        incoming.on('end', () => {
          const { statusCode: status = 0, headers: received } = incoming;
          resolve({ status, headers: received, length, took: performance.now() - start });
        });
      });
      outgoing.on('error', reject).end();
    });
  }

  async function work(): Promise<void> {
    while (next < paths.length) {
      const at = next;
      next += 1;
      answers[at] = await askOne(paths[at] ?? '');
    }
  }

  try {
    await Promise.all(Array.from({ length: connections }, work));
  } finally {
    agent.destroy();
  }
  return answers;
}
