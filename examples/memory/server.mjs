// A shop that is simulated in this process, and its monitor: `npm start`, or PORT=8080 npm start.
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';
import { startExporter } from './exporter.mjs';
import { createShop } from './shop.mjs';
import { createTimeline } from './timeline.mjs';

const HOST = '127.0.0.1';
const port = Number(process.env.PORT ?? 3000);

// The shop's clock: it plays the last two hours at once, so that there is something to see from the start.
const timeline = createTimeline(Date.now() - 2 * 3_600_000);
const exporter = await startExporter(() => shop.listQueues());
const queue = memorySources({
  name: 'shop',
  retention: { maxTasks: 30_000, taskDays: 1 / 4 },
  schedules: () => shop.schedules(),
  // A real queue leaves this out.
  now: timeline.now,
});
const shop = createShop({
  timeline,
  record(record) {
    queue.record(record);
    exporter.count(record);
  },
  recordWorker: queue.recordWorker,
  recordQueue: queue.recordQueue,
  random: createRandom(11),
});
shop.open();

const monitor = createMonitorRouter({
  sources: {
    ...queue,
    // The queue's own components; shown as `shop.broker`.
    components: {
      name: 'shop',
      listComponents: () => [
        {
          key: 'broker',
          name: 'Queues in memory',
          enabled: true,
          status: 'up',
          pid: process.pid,
        },
      ],
    },
    queues: { name: 'shop', listQueues: shop.listQueues },
  },
  exporter: exporter.url,
  // The page marks the deploys in its charts, and compares the time since with the time before.
  markers: () => shop.deploys(),
  // Where else to look for a task: in your app, its logs or its errors.
  taskLinks: ({ task_id }) => [
    { text: 'This task as JSON', url: `api/tasks/${encodeURIComponent(task_id)}/` },
  ],
  // Nobody but this machine can reach it, see HOST. In your app: authorize: (request) => request.user?.isAdmin
  authorize: false,
});

const app = express();
app.use('/monitor', monitor);
const server = app.listen(port, HOST);

server.on('listening', () => {
  const base = `http://${HOST}:${server.address().port}/monitor`;
  const order = `${base}/api/tasks/${shop.lastOrder()}`;
  console.log(`
The shop is open. Look at it: ${base}/

  Its monitor answers below that, too

  ${base}/healthcheck
  ${base}/metrics
  ${base}/api/components/
  ${base}/api/workers/
  ${base}/api/beat/schedules/
  ${base}/api/events/latest/
  ${base}/api/tasks/

One order: a chain of tasks that ends in a chord

  ${order}/
  ${order}/relations/
  ${order}/graph/
  ${order}/graph/updates/

To try in a shell

  curl '${base}/api/tasks/?state=FAILURE&limit=5'
  curl '${base}/api/tasks/?name=payments.charge&stats=60&limit=0'
  curl '${base}/api/events/latest/?limit=10'

Ctrl+C ends it.`);
});
server.on('error', (error) => {
  console.error(
    error.code === 'EADDRINUSE' ? `Port ${port} is taken. Try PORT=${port + 1} npm start` : error.message,
  );
  process.exitCode = 1;
  end();
});

/** The same numbers each time (mulberry32), so that the past is always the same. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function end() {
  shop.close();
  exporter.close();
  server.close();
  server.closeAllConnections();
  monitor.close();
}
process.once('SIGINT', end);
process.once('SIGTERM', end);
