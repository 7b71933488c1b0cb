/** The monitor of the burst over RabbitMQ. `node burst-amqp-monitor.js BROKER TASKS`; answers the parent process. */
import { celerySources } from '../src/celery.ts';

const [broker = '', tasks = ''] = process.argv.slice(2);
const context = { signal: new AbortController().signal };
const sources = celerySources({
  broker,
  retention: { maxTasks: 2 * Number(tasks) },
  eventQueue: { maxLength: 1_000_000 },
});
async function report(): Promise<void> {
  const { eventsReceived: events, tasks: known } = await sources.history.getHistoryStats(context);
  process.send?.({ events, tasks: known });
}

async function end(): Promise<void> {
  await sources.close();
  process.exit();
}

process.on('message', () => void report());
process.on('disconnect', () => void end());
while (sources.tasks.status?.().ok !== true) await new Promise((resolve) => setTimeout(resolve, 20));
process.send?.('ready');
