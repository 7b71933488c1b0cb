/** A result backend on a real Redis, read by a source, with a client to fill it. */

import {
  type CelerySettings,
  type CelerySources,
  type CelerySourcesOptions,
  celerySources,
} from '../../src/celery.ts';
import type { TaskDetail, TaskTree } from '../../src/model.ts';
import { componentOf, context } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import type { RedisServer } from '../helpers/redis-server.ts';

/** Progress of reading what is stored, as the component of the backend shows it. */
export interface Progress {
  readonly done: boolean;
  readonly keys: number | null;
  readonly read: number;
  readonly kept: number;
  readonly unreadable: number;
  readonly commands: number;
  readonly error: string | null;
}

/** A source that reads this backend. */
export interface Monitor {
  readonly sources: CelerySources;
  progress(): Promise<Progress>;
  task(id: string): Promise<TaskDetail | null>;
  tree(id: string): Promise<TaskTree | null>;
  /** How many tasks are kept. */
  count(): Promise<number>;
  close(): Promise<void>;
}

/** Makes a monitor of that Redis. Without a broker in it, only results tell of tasks. */
export function monitorOf(
  url: string,
  settings: CelerySettings = {},
  options: CelerySourcesOptions = {},
): Monitor {
  const sources = celerySources({ broker: 'sqs://', backend: url, settings, control: false, ...options });
  return {
    sources,
    progress: async () => (await componentOf(sources, 'backend')).config.results as Progress,
    task: async (id) => await sources.tasks.getTask(id, context),
    tree: async (id) => (await sources.tasks.getTaskTree?.(id, context)) ?? null,
    count: async () => (await sources.history.getHistoryStats(context)).tasks,
    close: async () => await sources.close(),
  };
}

/** Fills a Redis. */
export interface Writer {
  /** Sends commands as they are, many at a time. */
  send(commands: readonly (readonly string[])[]): Promise<unknown[]>;
  /** How often each command was called since the last `CONFIG RESETSTAT`. */
  calls(): Promise<Record<string, number>>;
  /** Bytes that Redis has sent since then. */
  bytes(): Promise<number>;
  close(): void;
}

export async function writerOf(redis: RedisServer, database = 0): Promise<Writer> {
  const client = createClient({ url: redis.url(database), RESP: 2 });
  client.on('error', () => {});
  await client.connect();
  return {
    async send(commands) {
      const replies: unknown[] = [];
      for (let at = 0; at < commands.length; at += 1000) {
        const part = commands.slice(at, at + 1000);
        replies.push(...(await Promise.all(part.map((args) => client.sendCommand([...args])))));
      }
      return replies;
    },
    async calls() {
      const text = String(await client.sendCommand(['INFO', 'commandstats']));
      const found = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
      return Object.fromEntries(found.map(([, name, count]) => [name, Number(count)]));
    },
    async bytes() {
      const text = String(await client.sendCommand(['INFO', 'stats']));
      return Number(/^total_net_output_bytes:(\d+)/m.exec(text)?.[1]);
    },
    close: () => client.destroy(),
  };
}

/** A stored result as Celery writes it. */
export function meta(id: string, more: Record<string, unknown> = {}): string {
  const whole = {
    status: 'SUCCESS',
    result: 4,
    traceback: null,
    children: [],
    date_done: new Date().toISOString().replace('Z', '000+00:00'),
    ...more,
    task_id: id,
  };
  return JSON.stringify(whole).replaceAll('":', '": ').replaceAll(',"', ', "');
}

/** Sets a stored result, with Celery's own life of a day. */
export function stored(id: string, more: Record<string, unknown> = {}, prefix = ''): string[] {
  return ['SETEX', `${prefix}celery-task-meta-${id}`, '86400', meta(id, more)];
}
