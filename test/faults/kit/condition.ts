/** What cases wait for, so that none of them waits for a time. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type EventEmitter, errorMonitor } from 'node:events';
import type { Express } from 'express';
import { onTestFinished } from 'vitest';
import type { HostOptions } from '../../router/host-kit.ts';

/** Counts requests for the monitor that have arrived at a host. */
export function countArrivals(): { readonly before: NonNullable<HostOptions['before']>; count(): number } {
  let arrived = 0;
  return {
    count: () => arrived,
    before: (app: Express) =>
      void app.use('/monitor', (_request, _response, next) => {
        arrived += 1;
        next();
      }),
  };
}

/** Counts attempts of this process to connect to a port that have failed, from now on. */
export function countFailedConnects(port: number): () => number {
  let failed = 0;
  const watch = (message: unknown): void => {
    const { socket } = message as { readonly socket: EventEmitter };
    socket.once(errorMonitor, (error: Error) => {
      if ('port' in error && error.port === port) failed += 1;
    });
  };
  subscribe('net.client.socket', watch);
  onTestFinished(() => void unsubscribe('net.client.socket', watch));
  return () => failed;
}
