// Redis, two Celery workers, customers who order, and the monitor: node examples/celery/start.mjs
// REDIS_URL: use that Redis and start none. PORT: of the monitor, 3000 if not given.
// STORE: keep the history in that file, such as monitor.db; needs Node 22.13 or later.
import { fail, runExample } from '../shared/run-example.mjs';
import { startApp } from './app.mjs';
import { findPython, HOW_TO_INSTALL, startCelery } from './celery.mjs';

const python = findPython();
if (python === null) fail(HOW_TO_INSTALL);

await runExample(async ({ redisUrl, host, port, folder, processes, onEnd }) => {
  const app = await startApp(redisUrl, host, port);
  onEnd(app.close);
  console.log(`
Celery runs on ${redisUrl}. Its monitor answers below ${app.url}

  ${['/healthcheck', '/api/components/', '/api/workers/', '/api/events/latest/', '/api/tasks/'].map((path) => app.url + path).join('\n  ')}

  curl '${app.url}/api/tasks/?state=FAILURE&limit=5'

Ctrl+C ends it. Waiting for the first order …`);
  startCelery({
    python,
    processes,
    redisUrl,
    folder,
    onOrder: (id) => console.log(`\n  ${app.url}/api/tasks/${id}/graph/`),
  });
});
