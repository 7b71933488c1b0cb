/** A result backend on a real Redis, read by this library, with a client to fill it. */

import type { CelerySettings } from '../../src/celery.ts';
import type { History } from '../../src/history/history.ts';
import { historySources } from '../../src/history/history-sources.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { RetentionOptions } from '../../src/history/retention.ts';
import { createRedisReader } from '../../src/redis/connection-reader.ts';
import { createRedisResultBackend } from '../../src/sources/celery/backends/redis/redis-result-backend.ts';
import { backendEndpoint } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { createResults, type Results } from '../../src/sources/celery/results/results.ts';
import { createClient } from '../helpers/redis-client.ts';
import type { RedisServer } from '../helpers/redis-server.ts';

/** A history fed by a backend alone. */
export interface Monitor {
  readonly history: History;
  readonly backend: Results;
  readonly tasks: ReturnType<Results['withLookup']>;
  close(): Promise<void>;
}

/** Makes a monitor of that Redis; nothing is read before `backend.start()`. */
export function monitorOf(
  url: string,
  settings: CelerySettings = {},
  retention: RetentionOptions = {},
  isWaiting: (id: string) => boolean = () => false,
): Monitor {
  const history = createMemoryHistory(retention);
  const { backend: endpoint } = backendEndpoint(url, settings);
  if (endpoint === null) throw new Error('The backend is not Redis.');
  const reader = createRedisReader('result backend', endpoint);
  const lineage = createLineage(history);
  const { stored } = createRedisResultBackend({ endpoint, reader, settings });
  const backend = createResults({
    stored,
    settings,
    history,
    lineage,
    isWaiting,
    valueLength: 65_536,
  });
  return {
    history,
    backend,
    tasks: backend.withLookup(historySources('celery', history.reader).tasks),
    async close() {
      backend.stop();
      await reader.close();
      history.close();
    },
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
