// Asks every route over HTTP. Prints how many answered.
import { once } from 'node:events';
import { createServer } from 'node:http';
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';

const exporter = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/plain; version=0.0.4');
  response.end('up 1\n');
}).listen(0, '127.0.0.1');
await once(exporter, 'listening');
const sources = memorySources();
sources.record({ id: 'a', state: 'SUCCESS', name: 'shop.pay', args: [1, { password: 'x' }] });
const monitor = createMonitorRouter({
  sources,
  exporter: `http://127.0.0.1:${exporter.address().port}/metrics`,
  authorize: () => true,
});
const server = createServer(express().use('/monitor', monitor)).listen(0, '127.0.0.1');
await once(server, 'listening');
const routes = [
  '/healthcheck',
  '/api/components/',
  '/api/tasks/?stats=5&q=a&sort=name',
  '/api/tasks/a/',
  '/api/tasks/a/relations/',
  '/api/tasks/a/graph/',
  '/api/tasks/a/graph/updates/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
  '/metrics',
];
for (const path of routes) {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/monitor${path}`);
  await response.text();
  if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
}
console.log(`${routes.length} routes`);
await monitor.close();
for (const one of [server, exporter]) {
  one.closeAllConnections();
  one.close();
}
