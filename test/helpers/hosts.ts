import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { vi } from 'vitest';
import * as latest from '../../src/index.ts';

/** The library as loaded by a host with one major version of Express. */
export interface ExpressMajor {
  /** `Express 4`, `Express 5`: for titles. */
  readonly name: string;
  readonly express: typeof express;
  readonly createMonitorRouter: typeof import('../../src/index.ts').createMonitorRouter;
}

/** A server on a free port of the loopback. */
export interface Listening {
  /** `http://127.0.0.1:<port>`, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Ends every connection. Resolves when the port is free again. */
  close(): Promise<void>;
}

// An alias has no types of its own; what is used of it is the same in both.
const express4: typeof express = createRequire(import.meta.url)('express4');

/** Loads the router once more, with Express 4. No other module imports Express. */
async function withExpress4(): Promise<ExpressMajor> {
  vi.doMock('express', () => ({ default: express4, Router: express4.Router }));
  const router = '../../src/router.ts?with-express-4';
  const { createMonitorRouter } = (await import(/* @vite-ignore */ router)) as typeof latest;
  vi.doUnmock('express');
  return { name: 'Express 4', express: express4, createMonitorRouter };
}

/** The latest major version of Express: for tests over HTTP. */
export const EXPRESS: ExpressMajor = {
  name: 'Express 5',
  express,
  createMonitorRouter: latest.createMonitorRouter,
};

/** Every major version of Express that the library works with: for tests of what passes through Express. */
export const EXPRESS_MAJORS: readonly ExpressMajor[] = [await withExpress4(), EXPRESS];

/** Serves an app on a free port of the loopback. */
export async function listen(app: RequestListener): Promise<Listening> {
  const server = createServer(app).listen(0, '127.0.0.1');
  // Node's five seconds pass between two requests where a machine is busy, and the second one is reset.
  server.keepAliveTimeout = 120_000;
  // A thousand clients within this process are slow to send their heads.
  Object.assign(server, { headersTimeout: 0, requestTimeout: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
