// Uses up every file descriptor, asks its own routes over a connection that is open already, gives the
// descriptors back, and asks again. Prints the statuses as JSON.
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import express from 'express';
import { createMonitorRouter } from 'express-task-monitor';
import { memorySources } from 'express-task-monitor/memory';

const exporter = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/plain; version=0.0.4');
  response.setHeader('Connection', 'close');
  response.end('up 1\n');
}).listen(0, '127.0.0.1');
await once(exporter, 'listening');

const monitor = createMonitorRouter({
  sources: memorySources(),
  exporter: `http://127.0.0.1:${exporter.address().port}/metrics`,
  authorize: false,
});
const app = express();
app.use('/monitor', monitor);
app.get('/canary', (_request, response) => response.end('sings'));
const server = createServer(app).listen(0, '127.0.0.1');
// The connection has to outlast the pauses.
server.keepAliveTimeout = 120_000;
await once(server, 'listening');
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function ask(path) {
  return new Promise((resolve, reject) => {
    get({ port: server.address().port, path, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    }).on('error', reject);
  });
}

async function statuses() {
  const found = {};
  for (const path of ['/metrics', '/api/workers/', '/']) found[path] = (await ask(`/monitor${path}`)).status;
  found['/canary'] = (await ask('/canary')).status;
  return found;
}

/** A file of the page that nobody has asked for yet. */
const asset = /\.\/(assets\/[^"]+\.js)/.exec((await ask('/monitor/')).text)[1];
const before = await statuses();
const open = [];
try {
  for (;;) open.push(openSync('/dev/null'));
} catch (error) {
  if (error.code !== 'EMFILE') throw error;
}
// Answers of the exporter are shared for a moment.
await new Promise((resolve) => setTimeout(resolve, 1_500));
const without = { ...(await statuses()), asset: (await ask(`/monitor/${asset}`)).status };
for (const descriptor of open) closeSync(descriptor);
await new Promise((resolve) => setTimeout(resolve, 1_500));
const after = { ...(await statuses()), asset: (await ask(`/monitor/${asset}`)).status };
process.stdout.write(JSON.stringify({ before, without, after }));
await monitor.close();
agent.destroy();
server.close();
exporter.close();
