import { once } from 'node:events';
import { createServer } from 'node:http';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * A metrics exporter as it would run beside a queue: its own server, on a free port of this machine.
 *
 * @param {() => { name: string, waiting: number }[]} listQueues
 */
export async function startExporter(listQueues) {
  const registry = new Registry();
  const registers = [registry];
  const changes = new Counter({
    name: 'shop_task_changes_total',
    help: 'Changes of tasks.',
    labelNames: ['state'],
    registers,
  });
  const runtime = new Histogram({
    name: 'shop_task_runtime_seconds',
    help: 'Run time of tasks that ended well.',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  new Gauge({
    name: 'shop_queue_waiting',
    help: 'Tasks that no worker has taken yet.',
    labelNames: ['queue'],
    registers,
    collect() {
      for (const { name, waiting } of listQueues()) this.set({ queue: name }, waiting);
    },
  });

  const server = createServer(async (_request, response) => {
    response.setHeader('Content-Type', registry.contentType);
    response.end(await registry.metrics());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/metrics`,
    /** Counts one record. */
    count(record) {
      changes.inc({ state: record.state });
      if (record.state === 'SUCCESS') runtime.observe(record.runtime);
    },
    close: () => server.close(),
  };
}
