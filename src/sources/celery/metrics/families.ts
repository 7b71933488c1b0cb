/** Celery's metrics under the names that dashboards and alerts for celery-exporter know. */
import { RUN_BOUNDS, WAIT_BOUNDS } from '../../../metrics/durations.ts';
import type { MetricFamily } from '../../../source.ts';

/** Kinds of events that are counted, but for `sent` and `failed`, which are shown by other rules. */
export const KINDS = ['received', 'started', 'succeeded', 'rejected', 'revoked', 'retried'] as const;

/** One of {@link KINDS}. */
export type Kind = (typeof KINDS)[number];

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
export const counterOf = (kind: keyof typeof COUNTED): string => `celery_task_${kind}_total`;

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

/** All of them. */
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
