/** Hosts whose monitor scrapes an exporter, behind each version of http-proxy-middleware. */

import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import type { MonitorOptions, MonitorRouter } from '../../src/index.ts';
import { ask } from '../helpers/ask.ts';
import { EXPRESS } from '../helpers/hosts.ts';

/** A host app with the monitor in it, until the test ends. */
export interface MetricsHost {
  /** Where the monitor is mounted. */
  readonly base: string;
  readonly server: Server;
  readonly router: MonitorRouter;
  /** Requests for `/metrics` that have arrived, and those of them that are still open. */
  arrived(): number;
  waiting(): number;
}

/** The versions of http-proxy-middleware that the package admits. `use` makes the rest of a test scrape through one. */
export const PROXY_VERSIONS: readonly { readonly name: string; use(): void }[] = [
  { name: 'http-proxy-middleware 3', use: () => {} },
  {
    name: 'http-proxy-middleware 4',
    use() {
      vi.doMock('http-proxy-middleware', () => import('http-proxy-middleware4'));
      onTestFinished(() => void vi.doUnmock('http-proxy-middleware'));
    },
  },
];

/** Mounts a monitor that scrapes this exporter. */
export async function mount(exporter?: MonitorOptions['exporter']): Promise<MetricsHost> {
  const app = EXPRESS.express();
  app.disable('x-powered-by');
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const router = EXPRESS.createMonitorRouter({ ...(exporter && { exporter }), authorize: false });
  const count = { arrived: 0, waiting: 0 };
  app.use('/deep/monitor/metrics', (_request, response, next) => {
    count.arrived += 1;
    count.waiting += 1;
    response.once('close', () => {
      count.waiting -= 1;
    });
    next();
  });
  app.use('/deep/monitor', router);
  onTestFinished(async () => {
    await router.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${port}/deep/monitor`,
    server,
    router,
    arrived: () => count.arrived,
    waiting: () => count.waiting,
  };
}

/** What came of a scrape: status, type and body in one line, or the problem's code. */
export async function outcome(
  { base }: Pick<MetricsHost, 'base'>,
  { query = '', accept }: { readonly query?: string; readonly accept?: string } = {},
): Promise<string> {
  const path = query === '' ? '/metrics' : `/metrics?${query}`;
  // Types that the exporter may answer with are more than the contract lists by name.
  const headers = accept === undefined ? {} : { accept };
  const { status, headers: received, bytes } = await ask(base, path, { headers, ours: false });
  const type = String(received['content-type']);
  if (type === 'application/problem+json') return (JSON.parse(bytes.toString()) as { code: string }).code;
  return `${status} ${type} ${bytes.toString('latin1')}`;
}
