/** Publishes events at a steady rate, one per message, and prints the rate reached. */
import { createClient } from 'redis';
import { batches, events } from './traffic.ts';

const [url, tasks, rate] = process.argv.slice(2) as [string, string, string];
const client = createClient({ url });
client.on('error', () => {});
await client.connect();
const messages = [...batches(events(Number(tasks), Date.now()), 1)];
const start = performance.now();
let sent = 0;
while (sent < messages.length) {
  const due = Math.min(messages.length, Math.floor(((performance.now() - start) / 1000) * Number(rate)));
  const batch = messages.slice(sent, due);
  await Promise.all(batch.map((message) => client.publish('/0.celeryev/task.multi', message)));
  sent = due;
  await new Promise((resolve) => setTimeout(resolve, 1));
}
process.stdout.write(`${Math.round(messages.length / ((performance.now() - start) / 1000))}\n`);
client.destroy();
