// A Django shop on Celery: RabbitMQ, results and schedules in PostgreSQL, and its monitor:
// node examples/celery-rabbitmq/start.mjs
// AMQP_URL, DATABASE_URL: use those and start none. PORT: of the monitor, 3000 if not given.
import { findPostgres, HOW_TO_INSTALL as NEEDS_POSTGRES, startPostgres } from '../shared/postgres.mjs';
import { hasRabbitmq, HOW_TO_INSTALL as NEEDS_RABBITMQ, startRabbitmq } from '../shared/rabbitmq.mjs';
import { fail, runProgram } from '../shared/run-example.mjs';
import { startApp } from './app.mjs';
import { findPython, HOW_TO_INSTALL as NEEDS_CELERY, startShop } from './celery.mjs';

const { AMQP_URL, DATABASE_URL } = process.env;
const python = findPython();
const missing = [
  ...(python === null ? [NEEDS_CELERY] : []),
  ...(AMQP_URL === undefined && !hasRabbitmq() ? [NEEDS_RABBITMQ] : []),
  ...(DATABASE_URL === undefined && findPostgres() === null ? [NEEDS_POSTGRES] : []),
];
if (missing.length > 0) fail(missing.join('\n'));

await runProgram(async ({ host, port, folder, processes, onEnd }) => {
  const databaseUrl = DATABASE_URL ?? (await startPostgres(processes, folder));
  const amqpUrl = AMQP_URL ?? (await startRabbitmq(processes, folder));
  const app = await startApp({ amqpUrl, databaseUrl }, host, port);
  onEnd(app.close);
  console.log(`
Celery runs on ${withoutLogin(amqpUrl)}, with results and schedules in ${withoutLogin(databaseUrl)}.
Look at it: ${app.url}/

  ${['/api/components/', '/api/workers/', '/api/beat/schedules/', '/api/events/latest/', '/api/tasks/'].map((path) => app.url + path).join('\n  ')}

Ctrl+C ends it. Waiting for the first order …`);
  startShop({
    python,
    processes,
    amqpUrl,
    databaseUrl,
    onOrder: (id) => console.log(`\n  ${app.url}/api/tasks/${id}/graph/`),
  });
});

function withoutLogin(url) {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
