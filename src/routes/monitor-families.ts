/** The families of figures about the sources and about the monitor itself, for own metrics. */
import { DELAY_BOUNDS } from '../http/loop-delay.ts';
import type { MetricFamily } from '../source.ts';

const gauge = (name: string, help: string): MetricFamily => ({
  name: `task_monitor_${name}`,
  help,
  type: 'gauge',
});
const counter = (name: string, help: string): MetricFamily => ({
  name: `task_monitor_${name}_total`,
  help,
  type: 'counter',
});

/** By what they show. */
export const FAMILIES = {
  version: gauge('build_info', 'The version of the monitor, as a label'),
  up: gauge('source_up', 'Whether the data of the source is up to date: 1 or 0'),
  queueLength: gauge('queue_length', 'Messages or jobs that no worker has taken'),
  oldestDue: gauge('queue_oldest_due_seconds', 'How long the oldest due message or job has waited'),
  workers: gauge('workers', 'Workers by status'),
  missed: gauge('schedules_missed', 'Schedules that did not run when they were due'),
  findings: gauge('findings', 'Problems that rules have found'),
  received: counter('events_received', 'Received events'),
  dropped: counter('events_dropped', 'Messages that could not be read'),
  lag: gauge('event_lag_seconds', 'How long the newest change took from its sender to the monitor'),
  storeUp: gauge('store_up', 'Whether the last read or write of the store succeeded: 1 or 0'),
  storeDelay: gauge('store_delay_seconds', 'How long the oldest unwritten change has waited'),
  storeWaiting: gauge('store_waiting_tasks', 'Changed tasks that wait to be written'),
  storeLost: counter('store_lost', 'Tasks, relations and events dropped before they could be written'),
  requests: counter('http_requests', 'Answers by route and status'),
  problems: counter('http_errors', 'Error answers by route and error code; overloaded: refused'),
  reads: counter('source_reads', 'Calls of sources by method'),
  errors: counter(
    'errors',
    'Errors for onError, including those that are not passed to it because it was just called',
  ),
  streams: gauge('streams', 'Open streams'),
  delay: {
    name: 'task_monitor_event_loop_delay_seconds',
    help: 'How late timers of the process fire',
    type: 'histogram',
    bounds: DELAY_BOUNDS,
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
