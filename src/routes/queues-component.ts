/** The component `queues`: the queues of all sources that can list them. */
import { isMonitorError, type MonitorErrorCode } from '../errors.ts';
import type { Monitor } from '../http/monitor.ts';
import { readItems } from '../http/response-body.ts';
import type { Queue } from '../model.ts';
import { errorOf, freshnessOf, type ReadResult } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { ComponentBody, QueueBody, SourceErrorCode } from '../wire.ts';

// More queues than any deployment has.
const MOST_QUEUES = 10_000;

/** Creates the reader of the component. In an outage the last queues stay listed, with status `down` and the error. */
export function createQueuesComponent(monitor: Monitor): () => Promise<ComponentBody> {
  const part = monitor.sources.queues;
  let last: QueueBody[] = [];

  function component(status: ComponentBody['status'], error: MonitorErrorCode | null): ComponentBody {
    const config = error === null ? null : { error };
    return {
      name: 'queues',
      enabled: part !== undefined,
      status,
      pid: null,
      url: null,
      config,
      queues: last,
    };
  }

  /** @returns the error of a source that failed while others answered */
  function* show(list: unknown, { sourceOf, failures }: ReadResult): Steps<SourceErrorCode | null> {
    const now = new Date();
    const { shown, unreadable } = yield* readItems<Queue, QueueBody>(list, MOST_QUEUES, sourceOf, (queue) =>
      monitor.serializer.queue(queue, sourceOf(queue), now),
    );
    for (const [name, count] of unreadable) monitor.countUnreadable({ name }, 'listQueues', count);
    last = shown.sort(bySourceAndName);
    return [...failures.values()].at(0)?.code ?? null;
  }

  return async () => {
    if (part === undefined) return component('disabled', null);
    try {
      const failed = await monitor.reader.read({
        part,
        call: 'listQueues',
        key: '',
        keepsLast: true,
        read: (context) => part.listQueues(context),
        map: (list, result, waiter) => scheduler.run('answer', show(list, result), waiter),
      });
      // Some sources have answered and another has failed.
      if (failed !== null) return component('unknown', failed);
      const away = errorOf(freshnessOf(part, Date.now(), monitor.report));
      return component(away === null ? 'up' : 'down', away);
    } catch (error) {
      if (!isMonitorError(error)) throw error;
      return component('down', error.code);
    }
  };
}

function bySourceAndName(a: QueueBody, b: QueueBody): number {
  return compareText(a.source, b.source) || compareText(a.name, b.name);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The component without the fields that change only with time, for the ETag. */
export function stableQueues({ queues, ...component }: ComponentBody): object {
  return {
    ...component,
    queues: queues?.map((queue) => ({ ...queue, oldest_due_seconds: null, as_of: null })),
  };
}
