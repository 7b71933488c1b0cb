import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { vi } from 'vitest';

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

/** Loads the library anew, with the Express that this host has installed. */
async function load(name: string, version: typeof express): Promise<ExpressMajor> {
  vi.resetModules();
  vi.doMock('express', () => ({ default: version, Router: version.Router }));
  const { createMonitorRouter } = await import('../../src/index.ts');
  vi.doUnmock('express');
  vi.resetModules();
  return { name, express: version, createMonitorRouter };
}

// Loading drops every module, including this one: the loaded ones are kept where the next file finds them.
const kept = globalThis as { expressMajors?: Promise<readonly ExpressMajor[]> };
kept.expressMajors ??= (async () => [await load('Express 4', express4), await load('Express 5', express)])();

/** Every major version of Express that the library works with: for tests of what passes through Express. */
export const EXPRESS_MAJORS: readonly ExpressMajor[] = await kept.expressMajors;

/** The latest of them: for every other test over HTTP. */
export const EXPRESS: ExpressMajor = EXPRESS_MAJORS.at(-1) as ExpressMajor;

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
