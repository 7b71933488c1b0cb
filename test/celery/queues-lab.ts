/** Queues of a private Redis, looked at as a monitor does. */

import type { History } from '../../src/history/history.ts';
import { historySources } from '../../src/history/history-sources.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { Task } from '../../src/model.ts';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import type { RedisReader } from '../../src/redis/reader.ts';
import type { TaskPosition, TaskQuery, TaskSource } from '../../src/source.ts';
import type { QueueReading } from '../../src/sources/celery/broker.ts';
import { brokerEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createRedisQueueReader } from '../../src/sources/celery/brokers/redis/queues/queue-reader.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { createMessageIntake } from '../../src/sources/celery/queues/message-intake.ts';
import { createQueues, type Queues } from '../../src/sources/celery/queues/queues.ts';
import { indexMessages, type WaitingIndex } from '../../src/sources/celery/queues/waiting-index.ts';
import { withWaiting } from '../../src/sources/celery/queues/waiting-tasks.ts';
import type { CelerySettings } from '../../src/sources/celery/settings.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

export { queryOf } from '../helpers/task-query.ts';

export const context = { signal: new AbortController().signal };

/** A monitor's view of queues. */
export interface Lab {
  readonly queues: Queues;
  readonly history: History;
  readonly tasks: TaskSource;
  readonly reader: RedisReader;
  close(): Promise<void>;
}

/** Begins to look at the queues of a Redis. */
export function openLab(url: string, settings: CelerySettings = {}, given: readonly string[] = []): Lab {
  const reader = createRedisReader('test', brokerEndpoint(url, settings));
  const history = createMemoryHistory();
  const queueReader = createRedisQueueReader(reader, settings, given);
  const made = createQueues({ reader: queueReader, history, lineage: createLineage(history) });
  // A request waits no longer than a second and takes a failed reading for an answer; a test waits for the first
  // reading that succeeds, however busy the machine is.
  const ready = () => until(() => made.asOf() !== null);
  const queues: Queues = { ...made, ready };
  const tasks = withWaiting(historySources('celery', history.reader).tasks, queues, history.reader);
  queues.start();
  return {
    queues,
    history,
    tasks,
    reader,
    async close() {
      queues.stop();
      history.close();
      await reader.close();
    },
  };
}

/** Readings without a clock. */
export interface Poll {
  look(now: number): Promise<void>;
  /** What the last reading found. */
  reading(): QueueReading;
  held(): WaitingIndex | null;
  depths(): QueueReading['queues'];
}

/** The same without a clock: it reads when it is told to. */
export function openPoll(url: string, settings: CelerySettings = {}): Pick<Lab, 'close'> & { poll: Poll } {
  const reader = createRedisReader('test', brokerEndpoint(url, settings));
  const history = createMemoryHistory();
  const queueReader = createRedisQueueReader(reader, settings, []);
  const intake = createMessageIntake(history, createLineage(history));
  let reading: QueueReading | null = null;
  const last = (): QueueReading => {
    if (reading === null) throw new Error('Nothing has been read yet.');
    return reading;
  };
  return {
    poll: {
      async look(now) {
        reading = await queueReader.read([], intake.take, now);
      },
      reading: last,
      held: () => (last().isComplete ? indexMessages(last().messages) : null),
      depths: () => last().queues,
    },
    async close() {
      history.close();
      await reader.close();
    },
  };
}

/** All pages one after the other; `between` is called behind each of them. */
export async function walkPages(
  tasks: TaskSource,
  given: Partial<TaskQuery>,
  between: () => Promise<void> = async () => {},
): Promise<Task[]> {
  const all: Task[] = [];
  let after: TaskPosition | null = null;
  do {
    const page = await tasks.listTasks(queryOf({ ...given, after }), context);
    all.push(...page.tasks);
    after = page.next;
    if (after !== null) await between();
  } while (after !== null);
  return all;
}

/** A message as Celery writes it. */
export function messageOf(id: string, more: { args?: string; body?: string; tag?: string } = {}): string {
  const plain = '[[], {}, {"callbacks": null, "errbacks": null, "chain": null, "chord": null}]';
  return JSON.stringify({
    body: more.body ?? Buffer.from(plain).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: {
      lang: 'py',
      task: 'yard.add',
      id,
      eta: null,
      expires: null,
      group: null,
      retries: 0,
      root_id: id,
      parent_id: null,
      argsrepr: more.args ?? '()',
      kwargsrepr: '{}',
    },
    properties: { delivery_info: {}, body_encoding: 'base64', delivery_tag: more.tag ?? `tag-${id}` },
  })
    .replace('{"body":"', '{"body": "')
    .replace('","content-encoding"', '", "content-encoding"');
}

/** The same with more headers. */
export function waiting(id: string, headers: object = {}): string {
  const plain = JSON.parse(messageOf(id)) as { headers: object };
  return JSON.stringify({ ...plain, headers: { ...plain.headers, ...headers } });
}
