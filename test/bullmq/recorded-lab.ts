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
    const [key, ...fields] = command.args.map(String);
    if (command.name === 'hmget') {
      void command.promise.then(
        (reply: unknown) => {
          if (!Array.isArray(reply)) return;
          for (const [at, field] of fields.entries()) if (reply[at] != null) noted.add(`${field} ${key}`);
        },
        () => {},
      );
    }
    return send(command, ...rest);
  };
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
