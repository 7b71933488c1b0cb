import type { ResolvedOptions } from '../options/resolve-options.ts';
import type { Report } from '../read.ts';
import type { MonitorRequest } from './exchange.ts';

/** Names the client of a request, or all clients of the router, so that long work takes turns. */
export type NameClient = (request: MonitorRequest | null) => string;

let routers = 0;

/** Creates the names for one router: clients of two routers have different names. */
export function createNameClient(
  { clientKey }: Pick<ResolvedOptions, 'clientKey'>,
  report: Report,
): NameClient {
  routers += 1;
  const router = routers;

  function nameOf(request: MonitorRequest): unknown {
    try {
      return clientKey?.(request) ?? request.socket?.remoteAddress;
    } catch (error) {
      report(error, { code: null, source: null, call: 'clientKey' });
      return '';
    }
  }

  return (request) => (request === null ? String(router) : `${router} ${nameOf(request)}`);
}
