/**
 * Publishes tasks at a steady rate, as workers and the backend do: four events and two results each. Sends the parent
 * process how many there were.
 */
import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { envelope } from './traffic.ts';

const [url, rate, seconds] = process.argv.slice(2) as [string, string, string];
const client = createClient({ url });
client.on('error', () => {});
await client.connect();
const start = performance.now();
const end = Number(seconds) * 1_000;
let sent = 0;
/** Most tasks that wait for Redis at a time. */
const MOST_AT_ONCE = 500;

function task(number: number): Promise<unknown>[] {
  const uuid = randomUUID();
  const hostname = number % 2 === 0 ? 'w1@alpha' : 'w2@beta';
  const timestamp = Date.now() / 1_000;
  const event = (type: string, fields: object): Promise<unknown> =>
    client.publish(
      '/0.celeryev/task.multi',
      envelope({ type, uuid, hostname, pid: 7, timestamp, ...fields }),
    );
  const result = (fields: object): Promise<unknown> =>
    client.publish(
      `celery-task-meta-${uuid}`,
      JSON.stringify({ traceback: null, children: [], task_id: uuid, ...fields }),
    );
  const call = {
    name: `shop.task_${number % 40}`,
    args: `(${number},)`,
    kwargs: '{}',
    root_id: uuid,
    parent_id: null,
    retries: 0,
  };
  return [
    event('task-sent', { ...call, hostname: 'gen9@web', queue: 'celery' }),
    event('task-received', call),
    event('task-started', {}),
    result({ status: 'STARTED', result: { pid: 7, hostname }, date_done: null }),
    event('task-succeeded', { result: '42', runtime: 0.01 }),
    result({ status: 'SUCCESS', result: 42, date_done: new Date().toISOString().replace('Z', '') }),
  ];
}

while (performance.now() - start < end) {
  const due = Math.floor(((performance.now() - start) / 1_000) * Number(rate));
  const batch: Promise<unknown>[] = [];
  // Tasks that a busy machine could not publish in time follow, a part at a time.
  for (const most = sent + MOST_AT_ONCE; sent < Math.min(due, most); sent += 1) batch.push(...task(sent));
  // Redis may be restarted meanwhile.
  await Promise.allSettled(batch);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
client.destroy();
process.send?.(sent);
process.disconnect?.();
