import type { MonitorErrorCode } from '../../src/errors.ts';
import type { MonitorOptions, MonitorSources } from '../../src/index.ts';
import type { ReadContext } from '../../src/source.ts';
import type { ProblemBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type HostOptions, serve } from '../router/host-kit.ts';
import { shopTask } from '../router/shop-sources.ts';

/** What a source answers that has one task. */
export const PAGE = { tasks: [shopTask(1)], next: null, total: 1 };

/** A monitor of one source. @param listTasks anything, as of a source in JavaScript */
export async function setUp(
  listTasks: (context: ReadContext) => unknown,
  { redact = {}, ...options }: MonitorOptions & Pick<MonitorSources, 'redact'> = {},
  hosting: HostOptions = {},
) {
  const reports: { error: unknown; code: MonitorErrorCode | null }[] = [];
  const tasks = {
    name: 'fake',
    listTasks: (_query: unknown, context: ReadContext) => listTasks(context) as typeof PAGE,
    getTask: () => null,
  };
  const host = await serve(
    EXPRESS,
    {
      sources: { tasks, workers: { name: 'fake', listWorkers: () => [] }, redact },
      onError: (error, { code }) => void reports.push({ error, code }),
      ...options,
    },
    hosting,
  );
  /** Asks for the list. Other limits are other reads. */
  const ask = async (limit = 1): Promise<ProblemBody> =>
    (await host.get<ProblemBody>(`/api/tasks/?limit=${limit}`)).body;
  return { ...host, reports, ask };
}

/** A promise that is settled from outside. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}

/** What looks like a promise and is none. */
export function thenable(then: (resolve: (value: unknown) => void) => void): PromiseLike<unknown> {
  return Object.defineProperty({}, 'then', { value: then }) as PromiseLike<unknown>;
}
