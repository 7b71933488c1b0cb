import { once } from 'node:events';
import { createPostgresBackend, setDefaultBackendFactory, withBackend } from 'bullmq';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BullMQSourcesOptions, bullmqSources } from '../../src/bullmq.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';

const REFUSAL =
  /is on PostgreSQL, and this source reads BullMQ on Redis only\. .* write a source of your own/;

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'BullMQ 6 on PostgreSQL'), () => {
  let server: PostgresServer;
  let connection: { readonly connectionString: string; readonly migrate: true };

  beforeAll(async () => {
    server = await startPostgres();
    connection = { connectionString: server.url(), migrate: true };
  });
  afterAll(() => server?.close());

  it('is refused, however the queue was made and whatever jobs it has', async () => {
    const { Queue, Worker } = withBackend(createPostgresBackend);
    const queue = new Queue('mail', { connection });
    onTestFinished(() => queue.close());
    expect(() => bullmqSources({ queues: [queue] })).toThrow(REFUSAL);
    await queue.waitUntilReady();
    const worker = new Worker('mail', async () => 'sent', { connection });
    onTestFinished(() => worker.close());
    const completed = once(worker, 'completed');
    await queue.add('welcome', { to: 'ann@example.org' });
    await completed;
    expect(() => bullmqSources({ queues: [queue] })).toThrow(REFUSAL);
  });

  it('is refused as the default of the process', async () => {
    const { Queue } = await import('bullmq');
    setDefaultBackendFactory(createPostgresBackend);
    onTestFinished(() => setDefaultBackendFactory());
    const queue = new Queue('mail', { connection: connection as never });
    onTestFinished(() => queue.close());
    expect(() => bullmqSources({ queues: [queue] })).toThrow(/'queues\[0\]' is on PostgreSQL/);
  });

  it('is refused as a connection', async () => {
    const pool = new pg.Pool(connection);
    onTestFinished(() => pool.end());
    for (const given of [connection, connection.connectionString, pool]) {
      expect(() => bullmqSources({ connection: given } as BullMQSourcesOptions)).toThrow(REFUSAL);
    }
  });
});
