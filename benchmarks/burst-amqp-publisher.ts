/** Publishes events one per message as fast as RabbitMQ takes them, and prints the rate reached. */
import { once } from 'node:events';
import { connect } from 'amqplib';
import { events } from './traffic.ts';

const [url = '', tasks = ''] = process.argv.slice(2);
const connection = await connect(url);
const channel = await connection.createConfirmChannel();
await channel.assertExchange('celeryev', 'topic', { durable: true });
const messages = Array.from(events(Number(tasks), Date.now()), (event) => ({
  key: event.type === 'task-sent' ? 'task.sent' : 'task.multi',
  content: Buffer.from(JSON.stringify(event.type === 'task-sent' ? event : [event])),
}));
const options = {
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@alpha' },
  persistent: false,
  priority: 0,
};
const start = performance.now();
for (const { key, content } of messages) {
  if (!channel.publish('celeryev', key, content, options)) await once(channel, 'drain');
}
await channel.waitForConfirms();
process.stdout.write(`${Math.round(messages.length / ((performance.now() - start) / 1000))}\n`);
await connection.close();
