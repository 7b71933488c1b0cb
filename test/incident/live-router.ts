import type { MonitorOptions } from '../../src/index.ts';
import { EXPRESS, type Listening, listen } from '../helpers/hosts.ts';

/** A router that outlives a test. */
export interface LiveRouter extends Listening {
  readonly base: string;
}

/** Serves sources for all tests of a file. @param markers read anew for each answer */
export async function serveForAll(
  sources: NonNullable<MonitorOptions['sources']>,
  markers: NonNullable<MonitorOptions['markers']>,
  more: MonitorOptions = {},
): Promise<LiveRouter> {
  const app = EXPRESS.express();
  const router = EXPRESS.createMonitorRouter({ sources, authorize: false, markers, ...more });
  app.use('/monitor', router);
  const server = await listen(app);
  return {
    ...server,
    base: `${server.url}/monitor`,
    async close() {
      await router.close();
      await server.close();
    },
  };
}
