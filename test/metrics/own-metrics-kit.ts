/** A source that counts, and a host that exports it. */
import { onTestFinished } from 'vitest';
import { createMonitorRouter, type MonitorOptions, type MonitorSources } from '../../src/index.ts';
import { ask } from '../helpers/ask.ts';
import { EXPRESS, listen } from '../helpers/hosts.ts';

/** A source that counts what its own queue does. */
export function countingSource(
  name = 'jobs',
  jobs = 3,
): MonitorSources & { opened: object[]; closed: number } {
  const source = {
    opened: [] as object[],
    closed: 0,
    experimental: {
      name,
      engine: name,
      openMeter(options: object) {
        source.opened.push(options);
        return {
          families: [
            { name: 'jobs_done_total', help: 'Jobs that are done.', type: 'counter' as const },
            { name: 'jobs_waiting', help: 'Jobs that "wait"\nor \\ are due.', type: 'gauge' as const },
            { name: 'jobs_seconds', help: 'Run time.', type: 'histogram' as const, bounds: [0.5, 1, 2.5] },
          ],
          collect: () => [
            {
              name: 'jobs_done_total',
              samples: Array.from({ length: jobs }, (_, at) => ({
                labels: { name: `job ${at}` },
                value: at,
              })),
            },
            { name: 'jobs_waiting', samples: [{ labels: { queue: 'a"b\\c\nd' }, value: 7 }] },
            {
              name: 'jobs_seconds',
              samples: [{ labels: { name: 'job 0' }, buckets: [1, 2, 2], sum: 4.25, count: 3 }],
            },
          ],
          overflow: () => 2,
          close: () => void source.closed++,
        };
      },
    },
  };
  return source;
}

/** A host that serves its monitor at `/monitor`, until the test ends. */
export async function serve(options: MonitorOptions) {
  const { express } = EXPRESS;
  const router = createMonitorRouter({ authorize: false, ...options });
  const app = express();
  app.use('/monitor', router);
  const { url, close } = await listen(app);
  onTestFinished(async () => {
    await router.close();
    await close();
  });
  return { base: `${url}/monitor`, router };
}

/** The body of `/metrics`. */
export const textOf = async (base: string, headers: Record<string, string> = {}): Promise<string> =>
  (await ask(base, '/metrics', { headers })).bytes.toString();

/** Lines that are not about the monitor itself, whose figures change all the time. */
export const linesOfSources = (text: string): string[] =>
  text
    .split('\n')
    .filter(
      (line) => !/^(?:# \w+ )?task_monitor_(?!metrics_overflow_total(?!\{source="monitor"))/.test(line),
    );

/** Lines of one metric. */
export const linesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(name));
