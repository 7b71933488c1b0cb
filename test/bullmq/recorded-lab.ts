/** Queues whose jobs are recorded in a store that is made of arrays. */
import type { Job, Queue } from 'bullmq';
import { type Command, Redis } from 'ioredis';
import { type BullMQSources, bullmqSources } from '../../src/bullmq.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPage, TaskQuery } from '../../src/source.ts';
import { type ArrayStore, createArrayStore } from '../helpers/array-store.ts';
import type { BullMQApp } from '../helpers/bullmq-app.ts';
import { context, page, walk } from '../helpers/bullmq-read.ts';
import { until } from '../helpers/redis-server.ts';

/** Notes which of these texts of jobs are read over this client: `<field> <key>`. */
function noteReads(client: Redis, noted: Set<string>): void {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command: Command, ...rest) => {
    const { keys, fields } = hashesOf(command);
    if (keys.length > 0) {
      void command.promise.then(
        (reply: unknown) => {
          const rows = command.name === 'hmget' ? [reply] : reply;
          if (!Array.isArray(rows)) return;
          for (const [index, row] of rows.entries())
            if (Array.isArray(row))
              for (const [at, field] of fields.entries())
                if (row[at] != null) noted.add(`${field} ${keys[index]}`);
        },
        () => {},
      );
    }
    return send(command, ...rest);
  };
}

/** Which fields of which hashes a command reads: one with HMGET, many with the script for it. */
function hashesOf({ name, args }: Command): {
  readonly keys: readonly string[];
  readonly fields: readonly string[];
} {
  const [first = '', ...others] = args.map(String);
  if (name === 'hmget') return { keys: [first], fields: others };
  if (name !== 'eval_ro') return { keys: [], fields: [] };
  const count = Number(others[0]);
  // Three numbers stand between keys and fields.
  return { keys: others.slice(1, 1 + count), fields: others.slice(count + 4) };
}

/** Queues of one instance. */
export interface RecordedQueues {
  readonly sources: BullMQSources;
  readonly store: ArrayStore;
  /** Resolves once so many jobs have been recorded. */
  recorded(count: number): Promise<void>;
  /** Resolves once the data of these jobs has been read. */
  read(...jobs: readonly Job[]): Promise<void>;
  /** Resolves once the error of these jobs has been read. */
  readErrors(...jobs: readonly Job[]): Promise<void>;
  page(query?: Partial<TaskQuery>): Promise<Omit<TaskPage, 'endAt'>>;
  /** All rows, page after page. */
  walk(query?: Partial<TaskQuery>): Promise<readonly Task[]>;
  close(): Promise<void>;
}

/**
 * @param store what instances share
 * @param collect whether this one records
 */
export async function recordQueues(
  { redis }: BullMQApp,
  queues: readonly Queue[],
  store: ArrayStore = createArrayStore(),
  collect = true,
): Promise<RecordedQueues> {
  // Queues that are there are found at once, later ones within some seconds.
  await Promise.all(queues.map((queue) => queue.waitUntilReady()));
  const noted = new Set<string>();
  const connection = new Redis(redis.port, '127.0.0.1');
  noteReads(connection, noted);
  const untilRead = (field: string, jobs: readonly Job[]): Promise<void> =>
    until(
      () => jobs.every(({ queueQualifiedName, id }) => noted.has(`${field} ${queueQualifiedName}:${id}`)),
      60_000,
    );
  const sources = bullmqSources({ connection, store, collect });
  return {
    sources,
    store,
    recorded: (count) =>
      until(async () => (await sources.history?.getHistoryStats(context))?.tasks === count, 60_000),
    read: (...jobs) => untilRead('data', jobs),
    readErrors: (...jobs) => untilRead('failedReason', jobs),
    page: (query) => page(sources, query),
    walk: (query) => walk(sources, query),
    async close() {
      await sources.close();
      connection.disconnect();
    },
  };
}
