/** Queues of a private Redis, looked at as a monitor does. */

import { onTestFinished } from 'vitest';
import { type CelerySources, type CelerySourcesOptions, celerySources } from '../../src/celery.ts';
import type { Queue, Task } from '../../src/model.ts';
import type { TaskPosition, TaskQuery, TaskSource } from '../../src/source.ts';
import { componentOf, context, eventMessage } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

export { context } from '../helpers/celery-events.ts';
export { queryOf } from '../helpers/task-query.ts';

/** A monitor's view of queues. */
export interface Lab {
  readonly sources: CelerySources;
  readonly tasks: TaskSource;
  /** Tells of tasks by an event of a worker, and resolves when all of them are known. */
  hear(...events: readonly object[]): Promise<void>;
  /** Resolves when the queues have been read since now. */
  read(): Promise<void>;
  /** The queues that are known now. */
  queues(): Promise<readonly Pick<Queue, 'name' | 'waiting' | 'reserved' | 'consumers'>[]>;
  /** How many messages could not be read. */
  unreadable(): Promise<unknown>;
}

/**
 * Begins to look at the queues of a Redis, and resolves when they have been read.
 *
 * @param later is given what ends it. Default: it ends with the test
 */
export async function openLab(
  broker: string,
  options: Partial<CelerySourcesOptions> = {},
  later: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Lab> {
  const sources = celerySources({ broker, control: false, ...options });
  later(async () => await sources.close());
  await until(() => sources.events.status?.().ok === true);
  const asOf = () => sources.queues.status?.().asOf?.getTime() ?? 0;
  const client = createClient({ url: broker });
  client.on('error', () => {});
  const lab: Lab = {
    sources,
    tasks: sources.tasks,
    async hear(...events) {
      if (!client.isOpen) await client.connect();
      onTestFinished(() => client.destroy());
      await client.publish('/0.celeryev/task.multi', eventMessage(events));
      const { uuid = '' } = (events.at(-1) ?? {}) as { readonly uuid?: string };
      await until(async () => {
        const task = await sources.tasks.getTask(uuid, context);
        return task !== null && task.state !== 'PENDING';
      });
    },
    async read() {
      const before = Date.now();
      await until(() => {
        // Whoever asks keeps the readings going.
        sources.tasks.status?.();
        return asOf() > before;
      });
    },
    async queues() {
      const listed = (await sources.queues.listQueues(context)) ?? [];
      return listed.map(({ name, waiting, reserved = null, consumers }) => ({
        name,
        waiting,
        reserved,
        consumers,
      }));
    },
    unreadable: async () => (await componentOf(sources, 'broker')).config.unreadable_messages,
  };
  await until(() => asOf() > 0);
  return lab;
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

/** An event of a task that a worker received, dated by the number in its id. */
export function heard(uuid: string, more: object = {}): object {
  const timestamp = Date.UTC(2026, 10, 21) / 1000 + Number(uuid.replace(/\D/g, ''));
  return { type: 'task-received', uuid, name: 'yard.known', hostname: 'w@h', timestamp, ...more };
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
