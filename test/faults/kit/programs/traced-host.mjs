// A host that traces itself as OpenTelemetry says, and prints the route of each request's spans as JSON.
import { once } from 'node:events';
import { createRequire, register } from 'node:module';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';

const [, , form, paths] = process.argv;
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()] });

const require = createRequire(import.meta.url);
const load = (name) => (form === 'CommonJS' ? require(name) : import(name));
const { createServer } = await load('node:http');
const loaded = await load('express');
const express = loaded.default ?? loaded;
const { createMonitorRouter } = await load('express-task-monitor');
const { memorySources } = await load('express-task-monitor/memory');

const sources = memorySources();
sources.record({ id: 'mail-1', state: 'SUCCESS', name: 'mail', timestamp: new Date() });
const router = createMonitorRouter({ sources, authorize: false });
const server = createServer(express().use('/monitor', router)).listen(0, '127.0.0.1');
await once(server, 'listening');

const found = {};
for (const path of JSON.parse(paths)) {
  exporter.reset();
  const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { redirect: 'manual' });
  await response.arrayBuffer();
  let spans = [];
  // A span ends after the answer has left.
  while (!spans.some(({ kind }) => kind === 1)) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    spans = exporter.getFinishedSpans();
  }
  const { name, attributes } = spans.find(({ kind }) => kind === 1);
  const handler = spans.find(({ attributes }) => attributes['express.type'] === 'request_handler');
  found[path] = { name, route: attributes['http.route'], handler: handler?.attributes['http.route'] };
}
console.log(JSON.stringify(found));
server.closeAllConnections();
server.close();
await router.close();
