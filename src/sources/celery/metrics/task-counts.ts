/** Counts events about tasks, by name, queue and, if requested, worker. */
import type { HeardEvent } from '../../../history/history.ts';
import {
  addDuration,
  createDurations,
  type Durations,
  RUN_BOUNDS,
  readDurations,
  seriesOf,
  WAIT_BOUNDS,
} from '../../../metrics/durations.ts';
import type {
  MeterOptions,
  MetricFamily,
  MetricHistogram,
  MetricLabels,
  MetricSeries,
  MetricValue,
} from '../../../source.ts';

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
export const NAMES = {
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
export const FAMILIES: readonly MetricFamily[] = [
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
