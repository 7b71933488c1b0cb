/** Counts events about tasks for `/metrics`, by name, queue and, if requested, worker; shows workers and queues there. */
import type { HeardEvent, HeardWorker, History } from '../../../history/history.ts';
import {
  addDuration,
  createDurations,
  type Durations,
  RUN_BOUNDS,
  readDurations,
  seriesOf,
  WAIT_BOUNDS,
} from '../../../metrics/durations.ts';
import type { Queue } from '../../../model.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import type {
  Meter,
  MeterOptions,
  MetricFamily,
  MetricHistogram,
  MetricLabels,
  MetricSeries,
  MetricValue,
  ReadContext,
  SourcePart,
} from '../../../source.ts';
import type { CeleryParts } from '../answers.ts';

/** Kinds of events that are counted, but for `sent` and `failed`, which are shown by other rules. */
const KINDS = ['received', 'started', 'succeeded', 'rejected', 'revoked', 'retried'] as const;

/** One of {@link KINDS}. */
type Kind = (typeof KINDS)[number];

const COUNTED: Readonly<Record<Kind | 'sent' | 'failed', string>> = {
  sent: 'Tasks that a client has sent.',
  received: 'Tasks that a worker has received.',
  started: 'Tasks that a worker has started.',
  succeeded: 'Tasks that have succeeded.',
  failed: 'Tasks that have failed, by class of the exception.',
  rejected: 'Tasks that a worker has rejected.',
  revoked: 'Tasks that were revoked or have expired.',
  retried: 'Attempts that ended with a retry.',
};

/** The name of a counter of events. */
const counterOf = (kind: keyof typeof COUNTED): string => `celery_task_${kind}_total`;

/** Every other name. */
const NAMES = {
  runtime: 'celery_task_runtime',
  wait: 'celery_task_queue_wait_time',
  up: 'celery_worker_up',
  active: 'celery_worker_tasks_active',
  length: 'celery_queue_length',
  consumers: 'celery_active_consumer_count',
  workers: 'celery_active_worker_count',
  processes: 'celery_active_process_count',
} as const;

const gauge = (name: string, help: string): MetricFamily => ({ name, help, type: 'gauge' });

/** Celery's metrics under the names that dashboards and alerts for celery-exporter know. */
const FAMILIES: readonly MetricFamily[] = [
  ...Object.entries(COUNTED).map(
    ([kind, help]): MetricFamily => ({
      name: counterOf(kind as keyof typeof COUNTED),
      help,
      type: 'counter',
    }),
  ),
  {
    name: NAMES.runtime,
    help: 'Seconds that tasks ran until they succeeded.',
    type: 'histogram',
    bounds: RUN_BOUNDS,
  },
  {
    name: NAMES.wait,
    help: 'Seconds that tasks waited for their start since they were sent, or since their eta.',
    type: 'histogram',
    bounds: WAIT_BOUNDS,
  },
  gauge(NAMES.up, 'Whether the worker was seen in the last 5 minutes.'),
  gauge(NAMES.active, 'Tasks that are running on the worker.'),
  gauge(NAMES.length, 'Messages that wait in the queue.'),
  gauge(NAMES.consumers, 'Consumers of the queue in RabbitMQ.'),
  gauge(NAMES.workers, 'Workers that consume from the queue.'),
  gauge(NAMES.processes, 'Processes or threads of the workers that consume from the queue.'),
];

/** The series of one name, queue and worker. */
interface TaskSeries {
  readonly labels: MetricLabels;
  readonly counts: Record<Kind, number>;
  sent: number;
  /** By class of the exception. */
  readonly failed: Map<string, number>;
  /** `null`: nothing was counted yet. */
  runtime: Durations | null;
  wait: Durations | null;
}

/** The value of an unknown label; celery-exporter writes the same, and its dashboards leave it out. */
const UNKNOWN = 'None';
/** The label of counts beyond the maximum number of series. */
const OTHER = 'other';
const OTHERS = `${OTHER}\n${OTHER}\n${OTHER}`;
/** Longest value of a label, in characters. */
const LONGEST = 256;

/** `sent`, `failed` without an exception, and {@link OTHER} exceptions are series, too. */
const SERIES_EACH = KINDS.length + 3 + seriesOf(RUN_BOUNDS) + seriesOf(WAIT_BOUNDS);

/** @param options `mostSeries` is never exceeded, however many names there are */
export function createTaskCounts({ hostname, mostSeries }: MeterOptions) {
  const all = new Map<string, TaskSeries>();
  // The series of the counts under `other`.
  let left = mostSeries - SERIES_EACH;
  let overflow = 0;
  const find = (name: string, queue: string, worker: string): TaskSeries => {
    const key = `${name}\n${queue}\n${worker}`;
    const known = all.get(key);
    if (known !== undefined) return known;
    if (key !== OTHERS) {
      if (left < SERIES_EACH) {
        overflow += 1;
        return find(OTHER, OTHER, OTHER);
      }
      left -= SERIES_EACH;
    }
    const labels = { name, ...(hostname ? { hostname: worker } : {}), queue_name: queue };
    const made = createSeries(labels);
    all.set(key, made);
    return made;
  };
  const addFailure = ({ failed }: TaskSeries, exception: string): void => {
    const isKnown = failed.has(exception);
    const label = isKnown || left > 0 ? exception : OTHER;
    if (!isKnown && left > 0) left -= 1;
    else if (!isKnown) overflow += 1;
    failed.set(label, (failed.get(label) ?? 0) + 1);
  };
  return {
    count(event: HeardEvent) {
      const { change } = event;
      const kind = change.type === 'requeued' ? 'rejected' : change.type;
      if (kind === 'custom') return;
      const worker = hostname ? (change.worker ?? hostOf(change.sender) ?? UNKNOWN) : '';
      const series = find(textOf(event.name), textOf(event.queue), textOf(worker));
      if (kind === 'failed') addFailure(series, classOf(change.exception));
      else if (kind === 'sent') series.sent += 1;
      else series.counts[kind] += 1;
      observe(series, kind, event);
    },
    read: () => readAll([...all.values()]),
    /** How many events were counted under {@link OTHER}. */
    overflow: () => overflow,
  };
}

function createSeries(labels: MetricLabels): TaskSeries {
  return {
    labels,
    counts: { received: 0, started: 0, succeeded: 0, rejected: 0, revoked: 0, retried: 0 },
    sent: 0,
    failed: new Map(),
    runtime: null,
    wait: null,
  };
}

/** Counts how long a task waited when it starts, and how long it ran when it has succeeded. */
function observe(series: TaskSeries, kind: string, { change, sentAt, eta }: HeardEvent): void {
  const { time, runtime } = change;
  if (kind === 'started' && time !== null && sentAt !== null) {
    series.wait ??= createDurations(WAIT_BOUNDS);
    addDuration(series.wait, Math.max(0, time - Math.max(sentAt, eta ?? sentAt)) / 1_000);
  } else if (kind === 'succeeded' && typeof runtime === 'number') {
    series.runtime ??= createDurations(RUN_BOUNDS);
    addDuration(series.runtime, runtime);
  }
}

function textOf(value: string | null): string {
  return value === null || value === '' ? UNKNOWN : value.slice(0, LONGEST);
}

/** The host of a process that sends tasks: each process would have series of its own. */
function hostOf(sender: string | undefined): string | undefined {
  return sender?.slice(sender.indexOf('@') + 1);
}

/** The class of an exception as of Python's `repr`. */
function classOf(exception: string | null | undefined): string {
  return (/^\w+(?=\()/.exec(exception ?? '')?.[0] ?? 'UnknownException').slice(0, LONGEST);
}

/** Zeros are written, too: otherwise `rate()` would miss the first event of each kind. */
function readAll(all: readonly TaskSeries[]): readonly MetricSeries[] {
  return [
    {
      name: counterOf('sent'),
      samples: valuesOf(
        all.filter(({ sent }) => sent > 0),
        ({ sent }) => sent,
      ),
    },
    ...KINDS.map((kind) => ({ name: counterOf(kind), samples: valuesOf(all, ({ counts }) => counts[kind]) })),
    { name: counterOf('failed'), samples: failuresOf(all) },
    { name: NAMES.runtime, samples: durationsOf(all, ({ runtime }) => runtime) },
    { name: NAMES.wait, samples: durationsOf(all, ({ wait }) => wait) },
  ];
}

function* valuesOf(all: readonly TaskSeries[], of: (series: TaskSeries) => number): Iterable<MetricValue> {
  for (const series of all) yield { labels: series.labels, value: of(series) };
}

function* failuresOf(all: readonly TaskSeries[]): Iterable<MetricValue> {
  for (const { labels, failed } of all) {
    yield { labels: { ...labels, exception: '' }, value: 0 };
    for (const [exception, value] of failed) yield { labels: { ...labels, exception }, value };
  }
}

function* durationsOf(
  all: readonly TaskSeries[],
  of: (series: TaskSeries) => Durations | null,
): Iterable<MetricHistogram> {
  for (const series of all) {
    const durations = of(series);
    if (durations !== null) yield readDurations(durations, series.labels);
  }
}

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
