import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { MetricsOptions } from '../../src/http/metrics-proxy.ts';
import { EXPRESS_MAJORS } from '../helpers/hosts.ts';

/** A host app with the monitor in it, until the test ends. */
export interface MetricsHost {
  /** Where the monitor is mounted. */
  readonly base: string;
  readonly path: string;
  readonly port: number;
  readonly server: Server;
}

/**
 * @param metrics `null`: the host's own address, so that it would scrape itself
 * @param onRequest told of each request
 */
export type Mount = (
  metrics: MetricsOptions | string | false | null,
  onRequest?: () => void,
) => Promise<MetricsHost>;

const PATH = '/deep/monitor';

/** Each Express that there is, with the router in it. */
export const ROUTER_HOSTS: readonly { readonly name: string; readonly mount: Mount }[] = EXPRESS_MAJORS.map(
  ({ name, express, createMonitorRouter }) => ({
    name,
    async mount(metrics, onRequest) {
      const app = express();
      app.disable('x-powered-by');
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const base = `http://127.0.0.1:${port}${PATH}`;
      const monitor = createMonitorRouter({
        metrics: metrics === null ? `${base}/metrics` : metrics,
        authorize: false,
      });
      app.use((_request, _response, next) => {
        onRequest?.();
        next();
      });
      app.use(PATH, monitor);
      app.get('/last', (_request, response) => void response.send('LAST'));
      onTestFinished(async () => {
        await monitor.close();
        server.closeAllConnections();
        server.close();
      });
      return { base, path: PATH, port, server };
    },
  }),
);
