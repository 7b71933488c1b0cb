/**
 * The server of the BullMQ benchmark, in its own process: the monitor and bull-board, each with its own
 * connection to the same queue.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { Queue } from 'bullmq';
import express from 'express';
import { bullmqSources } from '../src/bullmq.ts';
import { createMonitorRouter } from '../src/index.ts';

const [, , redisPort, name = ''] = process.argv;
const connection = { host: '127.0.0.1', port: Number(redisPort) };
const ours = new Queue(name, { connection, skipMetasUpdate: true });
const theirs = new Queue(name, { connection, skipMetasUpdate: true });

const app = express();
app.disable('x-powered-by');
app.use('/monitor', createMonitorRouter({ sources: bullmqSources({ queues: [ours] }), authorize: false }));

const adapter = new ExpressAdapter();
adapter.setBasePath('/board');
// Its packages contain two copies of its types.
createBullBoard({ queues: [new BullMQAdapter(theirs)], serverAdapter: adapter as never });
app.use('/board', adapter.getRouter());

const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${port}\n`);
});
