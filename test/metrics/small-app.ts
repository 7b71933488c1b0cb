import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { isMonitorError, STATUS_OF } from '../../src/errors.ts';
import {
  createMetricsProxy,
  type MetricsOptions,
  type ProxyModule,
  resolveMetrics,
} from '../../src/routes/metrics.ts';

export interface Served {
  /** `http://127.0.0.1:<port>/monitor/metrics` */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves `/monitor/metrics` on a free port, or on the given one. */
export type Serve = (
  options: MetricsOptions | string,
  load?: () => Promise<ProxyModule>,
  port?: number,
) => Promise<Served>;

/** The least host that there can be: one route of an app of its own, no router of ours. */
export function smallApp(create: typeof express): Serve {
  return async (options, load, port = 0) => {
    const resolved = resolveMetrics(options);
    if (resolved === null) throw new Error('metrics are off');
    const proxy = createMetricsProxy(resolved, load);
    const app = create();
    app.get('/monitor/metrics', (request, response) => {
      const client = new AbortController();
      response.on('close', () => client.abort());
      const { searchParams } = new URL(request.url, 'http://localhost');
      proxy
        .scrape({
          accept: request.headers.accept,
          query: searchParams,
          headers: request.headers,
          signal: client.signal,
        })
        .then(
          ({ contentType, body }) => response.setHeader('Content-Type', contentType).end(body),
          (error: unknown) => {
            const code = isMonitorError(error) ? error.code : null;
            response.status(code === null ? 500 : STATUS_OF[code]).json({ code });
          },
        );
    });
    const server = createServer(app).listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${address.port}/monitor/metrics`,
      port: address.port,
      async close() {
        proxy.close();
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  };
}

// An alias has no types of its own; what is used of it is the same in both.
const express4: typeof express = createRequire(import.meta.url)('express4');

export const EXPRESS_VERSIONS = [
  { name: 'Express 4', create: express4 },
  { name: 'Express 5', create: express },
] as const;
