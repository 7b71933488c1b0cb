/** Celery's traffic of a simulated shop: four events per task, many tasks at once. */

import { randomUUID } from 'node:crypto';
import type { History } from '../src/history/history.ts';
import { createIntake, type Intake, type IntakeWatch } from '../src/sources/celery/collector.ts';
import { createObserver } from '../src/sources/celery/hints/observer.ts';
import { createLineage } from '../src/sources/celery/lineage/lineage.ts';

/** An event as Celery sends it (fields as of 5.2 to 5.6). */
export type RawEvent = Readonly<Record<string, unknown>>;

const ARGS = `(${'x'.repeat(58)})`;
const HOSTS = ['w1@alpha', 'w2@beta'];

const FRAMES = Array.from(
  { length: 6 },
  (_, depth) =>
    `  File "/usr/lib/python3/dist-packages/shop/layer${depth}.py", line ${40 + depth}, in call_${depth}\n` +
    `    return self.next_${depth}(order, *args, **kwargs)\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n`,
).join('');

/** How the n-th task failed: one of four causes, with an order of its own. */
function failure(n: number): RawEvent {
  const message = `order ${n} of customer-${n * 7} was declined: no funds`;
  const frame = `  File "/app/shop/step${n % 4}.py", line 17, in capture\n    raise Declined(message)\n`;
  return {
    exception: `Declined('${message}')`,
    traceback: `Traceback (most recent call last):\n${FRAMES}${frame}shop.errors.Declined: ${message}\n`,
  };
}

/**
 * Events in the order of time: each task is sent, received, started and ends, 1 ms after the previous task.
 *
 * @param failing share of the tasks that fail. Default: none
 */
export function* events(tasks: number, start: number, failing = 0): Generator<RawEvent> {
  const UNDER_WAY = 64;
  const ids: string[] = [];
  const of = (n: number, time: number, hostname: string, fields: RawEvent): RawEvent => ({
    hostname,
    utcoffset: 0,
    pid: 31_184,
    clock: n,
    uuid: ids[n % UNDER_WAY],
    ...fields,
    timestamp: time / 1000,
  });
  const message = (n: number) => ({
    name: `shop.task${n % 20}`,
    args: ARGS,
    kwargs: '{}',
    root_id: ids[n % UNDER_WAY],
    parent_id: null,
    retries: 0,
    eta: null,
    expires: null,
  });
  for (let n = 0; n < tasks + 40; n++) {
    const time = start + n;
    const host = (m: number) => HOSTS[m % HOSTS.length] as string;
    if (n < tasks) {
      ids[n % UNDER_WAY] = randomUUID();
      const queue = { queue: 'celery', exchange: '', routing_key: 'celery' };
      yield of(n, time, 'gen31216@web', { ...message(n), ...queue, type: 'task-sent' });
    }
    const received = n - 10;
    if (received >= 0 && received < tasks) {
      yield of(received, time, host(received), { ...message(received), type: 'task-received' });
    }
    const started = n - 20;
    if (started >= 0 && started < tasks) yield of(started, time, host(started), { type: 'task-started' });
    const ended = n - 40;
    if (ended >= 0 && ended < tasks && Math.floor((ended + 1) * failing) > Math.floor(ended * failing)) {
      yield of(ended, time, host(ended), { type: 'task-failed', ...failure(ended) });
    } else if (ended >= 0 && ended < tasks) {
      yield of(ended, time, host(ended), { type: 'task-succeeded', result: "'ok'", runtime: 0.012 });
    }
  }
}

/** The message that kombu publishes for one or several events, as JSON in Python's form. */
export function envelope(body: RawEvent | readonly RawEvent[]): string {
  const base64 = Buffer.from(JSON.stringify(body)).toString('base64');
  return (
    `{"body": "${base64}", "content-encoding": "utf-8", "content-type": "application/json", ` +
    `"headers": {"hostname": "w1@alpha"}, "properties": {"delivery_mode": 1, "delivery_info": ` +
    `{"exchange": "celeryev", "routing_key": "task.multi"}, "priority": 0, "body_encoding": "base64", ` +
    `"delivery_tag": "${randomUUID()}"}}`
  );
}

/** Messages of these events, `size` in each. */
export function* batches(all: Iterable<RawEvent>, size: number): Generator<string> {
  let batch: RawEvent[] = [];
  for (const event of all) {
    batch.push(event);
    if (batch.length < size) continue;
    yield envelope(size === 1 ? (batch[0] as RawEvent) : batch);
    batch = [];
  }
  if (batch.length > 0) yield envelope(batch);
}

/** A signal that is never aborted. */
export const context = { signal: new AbortController().signal };

/** Processes events like a running source, with all its observers. */
export function intakeOf(history: History): Intake {
  const lineage = createLineage(history);
  const observer = createObserver();
  const watch: IntakeWatch = {
    changed(change) {
      lineage.changed(change);
      observer.task(change);
    },
    stored: lineage.stored,
    saved: lineage.saved,
    worker: observer.worker,
    unreadableEvent: (contentType) => observer.unreadable('event', contentType ?? ''),
    unreadableResult: (message) => observer.unreadable('result', message),
  };
  return createIntake(history.writer, watch, 65_536);
}
