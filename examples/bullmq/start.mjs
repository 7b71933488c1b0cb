// Redis, BullMQ's queues and workers, customers who order, and the monitor: node examples/bullmq/start.mjs
// REDIS_URL: use that Redis and start none. PORT: of the monitor, 3000 if not given.
import { runExample } from '../shared/run-example.mjs';
import { startApp } from './app.mjs';
import { createShop } from './shop.mjs';

await runExample(async ({ redisUrl, host, port, processes, onEnd }) => {
  const shop = createShop(redisUrl);
  onEnd(shop.close);
  const app = await startApp(shop.queues, host, port);
  onEnd(app.close);
  console.log(`
BullMQ runs on ${redisUrl}. Look at it: ${app.url}/

  Its monitor answers below that, too

  ${['/healthcheck', '/api/components/', '/api/workers/', '/api/events/latest/', '/api/beat/schedules/', '/api/tasks/'].map((path) => app.url + path).join('\n  ')}

  curl '${app.url}/api/tasks/?state=FAILURE&limit=5'

Ctrl+C ends it. Waiting for the first order …`);
  await shop.open({
    processes,
    onOrder: (id) => console.log(`\n  ${app.url}/api/tasks/${encodeURIComponent(id)}/graph/`),
  });
});
