/**
 * The server of the BullMQ benchmark, in its own process: the monitor beside bull-board over the same queue, and over
 * one more. Both get queues, and so connections, of their own.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { Queue } from 'bullmq';
import express from 'express';
import { bullmqSources } from '../src/bullmq.ts';
import { createMonitorRouter } from '../src/index.ts';

const [, , redisPort, name = '', other = ''] = process.argv;
const connection = { host: '127.0.0.1', port: Number(redisPort) };
const ours = new Queue(name, { connection, skipMetasUpdate: true });
const sorted = new Queue(other, { connection, skipMetasUpdate: true });
const theirs = new Queue(name, { connection, skipMetasUpdate: true });

const app = express();
app.disable('x-powered-by');
const sources = bullmqSources({ queues: [ours, sorted] });
app.use('/monitor', createMonitorRouter({ sources, authorize: false }));

const adapter = new ExpressAdapter();
adapter.setBasePath('/board');
// Its packages bring two copies of its types.
createBullBoard({ queues: [new BullMQAdapter(theirs)], serverAdapter: adapter as never });
app.use('/board', adapter.getRouter());

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${port}\n`);
});
