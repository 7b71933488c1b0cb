/** A small host app that uses every entry of the package and prints what came of it as JSON. */

const IMPORTS: Readonly<Record<string, string>> = {
  express: 'express',
  '{ createServer, get }': 'node:http',
  '{ once }': 'node:events',
  '{ createRequire }': 'node:module',
  '{ createMonitorRouter, MonitorError }': 'express-task-monitor',
  '{ createMonitorClient }': 'express-task-monitor/client',
  '{ bullmqSources }': 'express-task-monitor/bullmq',
  '{ celerySources }': 'express-task-monitor/celery',
  '{ memorySources }': 'express-task-monitor/memory',
  '{ sourceContract }': 'express-task-monitor/testing',
};

const BODY = `
async function listen(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const urlOf = (server) => 'http://127.0.0.1:' + server.address().port;

async function statusOf(url) {
  const [response] = await once(get(url, { agent: false }), 'response');
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

async function main() {
  const exporter = await listen((request, response) => {
    response.setHeader('Content-Type', 'text/plain; version=0.0.4');
    response.end('up 1\\n');
  });
  const queue = memorySources();
  queue.record({ id: '1', state: 'SUCCESS', name: 'mail.send' });
  const monitor = createMonitorRouter({ sources: queue, exporter: urlOf(exporter) + '/metrics', authorize: false });
  // Nothing answers there: the host must not notice.
  const celery = createMonitorRouter({
    sources: celerySources({ broker: 'redis://127.0.0.1:1/0' }),
    authorize: false,
  });
  const bullmq = createMonitorRouter({
    sources: bullmqSources({ connection: 'redis://127.0.0.1:1/0' }),
    authorize: false,
  });
  const app = express();
  app.use('/monitor', monitor);
  app.use('/celery', celery);
  app.use('/bullmq', bullmq);
  const host = await listen(app);
  const statuses = {};
  for (const path of ROUTES) statuses[path] = await statusOf(urlOf(host) + path);

  const { tasks } = await createMonitorClient(urlOf(host) + '/monitor').tasks();
  const client = tasks.map((task) => task.name);

  const failed = [];
  const create = () => ({ sources: { workers: { name: 'own', listWorkers: () => [{ hostname: 'a', status: 'online' }] } } });
  for (const { name, run } of sourceContract({ parts: ['workers'], create })) await run().catch(() => failed.push(name));

  const { openapi } = createRequire(process.argv[1])('express-task-monitor/openapi.json');

  await monitor.close();
  await celery.close();
  await bullmq.close();
  exporter.close();
  host.close();
  console.log(JSON.stringify({ statuses, client, failed, code: new MonitorError('forbidden').code, openapi }));
}

const ROUTES = [
  '/monitor/healthcheck',
  '/monitor/api/components/',
  '/monitor/api/tasks/',
  '/monitor/api/tasks/1/',
  '/monitor/api/tasks/1/relations/',
  '/monitor/api/tasks/1/graph/',
  '/monitor/api/tasks/1/graph/updates/',
  '/monitor/api/workers/',
  '/monitor/api/events/latest/',
  '/monitor/api/beat/schedules/',
  '/monitor/metrics',
  '/celery/healthcheck',
  '/celery/api/tasks/',
  '/bullmq/api/tasks/',
];

main();
`;

/** The program as an ES module, or as CommonJS. */
export function consumerProgram(kind: 'esm' | 'cjs'): string {
  const lines = Object.entries(IMPORTS).map(([names, from]) =>
    kind === 'esm' ? `import ${names} from '${from}';` : `const ${names} = require('${from}');`,
  );
  return `${lines.join('\n')}\n${BODY}`;
}

/** What it prints when all is well. */
export const EXPECTED = {
  statuses: {
    '/monitor/healthcheck': 200,
    '/monitor/api/components/': 200,
    '/monitor/api/tasks/': 200,
    '/monitor/api/tasks/1/': 200,
    '/monitor/api/tasks/1/relations/': 200,
    '/monitor/api/tasks/1/graph/': 200,
    '/monitor/api/tasks/1/graph/updates/': 200,
    '/monitor/api/workers/': 200,
    '/monitor/api/events/latest/': 200,
    '/monitor/api/beat/schedules/': 200,
    '/monitor/metrics': 200,
    '/celery/healthcheck': 503,
    '/celery/api/tasks/': 503,
    '/bullmq/api/tasks/': 503,
  },
  client: ['mail.send'],
  failed: [],
  code: 'forbidden',
  openapi: '3.1.0',
};
