/** Counts events for `/metrics`, and shows workers and queues there. */
import type { HeardWorker, History } from '../../../history/history.ts';
import type { Queue } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type {
  Meter,
  MeterOptions,
  MetricSeries,
  MetricValue,
  ReadContext,
  SourcePart,
} from '../../../source.ts';
import type { CeleryParts } from '../answers.ts';
import { createTaskCounts, FAMILIES, NAMES } from './task-counts.ts';

/** The metered data. */
export interface MeterContext {
  readonly history: Pick<History, 'index' | 'onEvent'>;
  readonly parts: Pick<CeleryParts, 'queues' | 'workers'>;
  /** Whether the broker counts consumers of its own, as RabbitMQ does. */
  readonly hasConsumers: boolean;
}

/** The share of all series that is for workers and queues. */
const GAUGES = 1 / 4;

/** Counts from now on. */
export function openMeter(context: MeterContext, { hostname, mostSeries }: MeterOptions): Meter {
  const mostGauges = Math.floor(mostSeries * GAUGES);
  const tasks = createTaskCounts({ hostname, mostSeries: mostSeries - mostGauges });
  const stop = context.history.onEvent(tasks.count);
  let overflow = 0;
  return {
    families: FAMILIES,
    async collect(read) {
      const [gauges, left] = limited(await readGauges(context, read), mostGauges);
      overflow += left;
      return [...tasks.read(), ...gauges];
    },
    overflow: () => tasks.overflow() + overflow,
    close: stop,
  };
}

/** While the broker is unreachable, nothing is known about workers and queues. */
async function readGauges(
  { history, parts, hasConsumers }: MeterContext,
  read: ReadContext,
): Promise<MetricSeries[]> {
  const { workers, queues } = parts;
  // Requesting the status also asks the workers again; their answers are for the next scrape.
  const heard = isCurrent(workers) ? history.index.heardWorkers() : [];
  const listed = isCurrent(queues) ? await queues.listQueues(read) : [];
  const ofQueues = await scheduler.run('metrics', queueGauges(listed, heard, hasConsumers), read);
  return [...workerGauges(heard), ...ofQueues];
}

function isCurrent(part: SourcePart): boolean {
  return part.status?.().ok !== false;
}

/** @returns the first series up to a number, and how many are left out */
function limited(series: readonly MetricSeries[], most: number): readonly [MetricSeries[], number] {
  let left = most;
  let leftOut = 0;
  const kept = series.map(({ name, samples }) => {
    const all = [...samples];
    const some = all.slice(0, left);
    left -= some.length;
    leftOut += all.length - some.length;
    return { name, samples: some as typeof samples };
  });
  return [kept, leftOut];
}

/** How long a silent worker counts as up, in milliseconds. */
const UP_MS = 5 * 60_000;
/** How long it is listed as down after that. */
const DOWN_MS = 10 * 60_000;

/** Whether workers are up, and how many tasks they run. */
function workerGauges(workers: readonly HeardWorker[]): MetricSeries[] {
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
function* queueGauges(
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
