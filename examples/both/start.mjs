// The Celery app of ../celery and the shop of ../bullmq on one page: node examples/both/start.mjs
// REDIS_URL: use that Redis and start none. PORT: of the monitor, 3000 if not given.
import { createShop } from '../bullmq/shop.mjs';
import { findPython, HOW_TO_INSTALL, startCelery } from '../celery/celery.mjs';
import { fail, runExample } from '../shared/run-example.mjs';
import { startApp } from './app.mjs';

const python = findPython();
if (python === null) fail(HOW_TO_INSTALL);

await runExample(async ({ redisUrl, host, port, folder, processes, onEnd }) => {
  const shop = createShop(redisUrl);
  onEnd(shop.close);
  const app = await startApp(redisUrl, shop.queues, host, port);
  onEnd(app.close);
  console.log(`
Celery and BullMQ run on ${redisUrl}. Look at them: ${app.url}/

  ${['/api/components/', '/api/workers/', '/api/events/latest/', '/api/beat/schedules/', '/api/tasks/'].map((path) => app.url + path).join('\n  ')}

Ctrl+C ends it. Waiting for the first orders …`);
  const showOrder = (id) => console.log(`\n  ${app.url}/api/tasks/${encodeURIComponent(id)}/graph/`);
  startCelery({ python, processes, redisUrl, folder, onOrder: showOrder });
  await shop.open({ processes, onOrder: showOrder });
});
