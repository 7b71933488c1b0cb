/** The state of workers and queues at the time of a scrape. */
import type { HeardWorker } from '../../../history/history.ts';
import type { Queue } from '../../../model.ts';
import type { Steps } from '../../../scheduler.ts';
import type { MetricSeries, MetricValue } from '../../../source.ts';
import { NAMES } from './families.ts';

/** How long a silent worker counts as up, in milliseconds. */
const UP_MS = 5 * 60_000;
/** How long it is listed as down after that. */
const DOWN_MS = 10 * 60_000;

/** Whether workers are up, and how many tasks they run. */
export function workerGauges(workers: readonly HeardWorker[]): MetricSeries[] {
  const up: MetricValue[] = [];
  const active: MetricValue[] = [];
  for (const worker of workers) {
    if (worker.silentMs > UP_MS + DOWN_MS) continue;
    const labels = { hostname: worker.hostname };
    up.push({ labels, value: isUp(worker) ? 1 : 0 });
    if (worker.active !== null) active.push({ labels, value: isUp(worker) ? worker.active : 0 });
  }
  return [
    { name: NAMES.up, samples: up },
    { name: NAMES.active, samples: active },
  ];
}

function isUp({ saidGoodbye, silentMs }: HeardWorker): boolean {
  return !saidGoodbye && silentMs <= UP_MS;
}

/**
 * How many messages wait in queues, and the consumers of each. @param hasConsumers whether the broker counts consumers
 */
export function* queueGauges(
  queues: readonly Queue[],
  workers: readonly HeardWorker[],
  hasConsumers: boolean,
): Steps<MetricSeries[]> {
  const consumed = yield* consumersOf(workers);
  const series = (name: string, of: (queue: Queue) => number | null | undefined): MetricSeries => ({
    name,
    samples: queues.flatMap((queue) => {
      const value = of(queue);
      return typeof value === 'number' ? [{ labels: { queue_name: queue.name }, value }] : [];
    }),
  });
  return [
    series(NAMES.length, ({ waiting }) => waiting),
    series(NAMES.consumers, ({ consumers }) => (hasConsumers ? consumers : null)),
    series(NAMES.workers, ({ name }) => consumed && (consumed.get(name)?.workers ?? 0)),
    series(NAMES.processes, ({ name }) => consumed && (consumed.get(name)?.processes ?? 0)),
  ];
}

/** `null` while no worker has reported its queues. */
function* consumersOf(
  workers: readonly HeardWorker[],
): Steps<Map<string, { readonly workers: number; readonly processes: number }> | null> {
  if (!workers.some(({ queues }) => queues !== null)) return null;
  const found = new Map<string, { workers: number; processes: number }>();
  for (const { queues, poolSize } of workers.filter(isUp)) {
    for (const queue of queues ?? []) {
      const { workers: count, processes } = found.get(queue) ?? { workers: 0, processes: 0 };
      found.set(queue, { workers: count + 1, processes: processes + (poolSize ?? 0) });
    }
    yield;
  }
  return found;
}
