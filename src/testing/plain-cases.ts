/** Cases on the parts that return one list or one value: workers, schedules, components, health, history. */
import type { ReadContext } from '../source.ts';
import type { Bench } from './bench.ts';
import type { Checks } from './checks.ts';
import { fail, listOf } from './shape.ts';
import { SHAPES } from './shapes.ts';

function expectUnique(what: string, keys: readonly string[]): void {
  const twice = keys.filter((key, index) => keys.indexOf(key) !== index);
  if (twice.length > 0) fail(what, 'each once', twice);
}

async function get<T>(
  bench: Bench,
  what: string,
  call: (context: ReadContext) => T | PromiseLike<T> | undefined,
): Promise<T> {
  const value = await bench.read(what, async (context) => await call(context));
  if (value === undefined) fail(what, 'an answer', value);
  return value;
}

/** Cases on `workers`. */
export const WORKER_CHECKS: Checks = {
  'lists each worker once, by hostname': async (bench) => {
    const workers = await get(bench, 'listWorkers', (context) => bench.sources.workers?.listWorkers(context));
    listOf(SHAPES.worker)(workers, 'listWorkers');
    expectUnique(
      'hostnames of listWorkers',
      workers.map((worker) => worker.hostname),
    );
  },
};

/** Cases on `schedules`. */
export const SCHEDULE_CHECKS: Checks = {
  'lists each schedule once, by id, or reports that there is no beat': async (bench) => {
    const schedules = await get(bench, 'listSchedules', (context) =>
      bench.sources.schedules?.listSchedules(context),
    );
    if (schedules === null) return;
    listOf(SHAPES.schedule)(schedules, 'listSchedules');
    expectUnique(
      'ids of listSchedules',
      schedules.map((schedule) => schedule.id),
    );
  },
};

/** Cases on `queues`. */
export const QUEUE_CHECKS: Checks = {
  'lists each queue once, by name': async (bench) => {
    const queues = await get(bench, 'listQueues', (context) => bench.sources.queues?.listQueues(context));
    listOf(SHAPES.queue)(queues, 'listQueues');
    expectUnique(
      'names of listQueues',
      queues.map((queue) => queue.name),
    );
  },
};

/** Cases on `components`. */
export const COMPONENT_CHECKS: Checks = {
  'lists each component once, by key, with plain data as settings': async (bench) => {
    const components = await get(bench, 'listComponents', (context) =>
      bench.sources.components?.listComponents(context),
    );
    listOf(SHAPES.component)(components, 'listComponents');
    expectUnique(
      'keys of listComponents',
      components.map((component) => component.key),
    );
    for (const { key, config } of components) {
      try {
        JSON.stringify(config);
      } catch {
        fail(`config of the component ${key}`, 'what JSON can hold', config);
      }
    }
  },
};

/** Cases on `health`. */
export const HEALTH_CHECKS: Checks = {
  'answers each of its checks and says why one failed': async (bench) => {
    const { health } = bench.sources;
    for (const name of ['checkBroker', 'checkBackend'] as const) {
      if (!health?.[name]) continue;
      const check = await get(bench, name, (context) => health[name]?.(context));
      SHAPES.healthCheck(check, name);
      if (check.ok === false && !check.error)
        fail(`${name}().error of a check that failed`, 'a reason', check.error);
    }
    if (health?.checkWorkers) {
      const check = await get(bench, 'checkWorkers', (context) =>
        health.checkWorkers?.({ ...context, ping: false }),
      );
      SHAPES.workerHealthCheck(check, 'checkWorkers');
      expectUnique('hostnames of checkWorkers', [...check.responding, ...check.missing]);
      if (check.ok === true && check.responding.length === 0) {
        fail('checkWorkers().ok with no worker that responds', 'false or null', check.ok);
      }
    }
  },
};

/** Cases on `history`. */
export const HISTORY_CHECKS: Checks = {
  'reports how much it holds': async (bench) => {
    const stats = await get(bench, 'getHistoryStats', (context) =>
      bench.sources.history?.getHistoryStats(context),
    );
    SHAPES.historyStats(stats, 'getHistoryStats');
    if (bench.seeded && stats.tasks < bench.seeded.length) {
      fail('getHistoryStats().tasks', `at least the ${bench.seeded.length} put in`, stats.tasks);
    }
  },
};
