/** A shop whose names can be compared with the previous period. */
import { memorySources } from '../../src/memory.ts';

const MINUTE = 60_000;

/** `orders.place` sends `payments.charge`, which fails and takes longer than an hour ago, and `mail.send`. */
export function createNamesShop() {
  const queue = memorySources({ name: 'shop' });
  const now = Date.now();
  function run(id: string, name: string, minutes: number, more: object = {}, seconds = 1): void {
    const task = { id, name, queue: 'orders', worker: 'w1@h', ...more };
    const timestamp = now - minutes * MINUTE;
    queue.record({ ...task, state: 'STARTED', timestamp: timestamp - seconds * 1_000 });
    const isFailure = 'error' in more;
    queue.record({ ...task, state: isFailure ? 'FAILURE' : 'SUCCESS', timestamp, runtime: seconds });
  }
  for (let minute = 2; minute < 118; minute += 4) {
    run(`order-${minute}`, 'orders.place', minute);
    const error = Object.assign(new Error(`order ${minute}`), { name: 'CardDeclined' });
    const isFailure = minute < 20;
    const more = { parentId: `order-${minute}`, args: [minute], ...(isFailure && { error }) };
    run(`charge-${minute}`, 'payments.charge', minute, more, minute < 60 ? 4 : 1);
    run(`mail-${minute}`, 'mail.send', minute, { parentId: `charge-${minute}`, queue: 'mail' });
  }
  queue.record({ id: 'running', name: 'orders.place', queue: 'orders', worker: 'w1@h', state: 'STARTED' });
  queue.record({ id: 'waiting', name: 'orders.place', queue: 'orders', state: 'PENDING' });
  queue.recordWorker({ hostname: 'w1@h', queues: ['orders'], concurrency: 4, active: 1, interval: 3_600 });
  queue.recordWorker({ hostname: 'w2@h', queues: ['other'], concurrency: 4, active: 0, interval: 3_600 });
  const queues = {
    name: 'shop',
    listQueues: () => [
      {
        name: 'orders',
        waiting: 3,
        consumers: 2,
        oldestDueAt: new Date(now - 25 * MINUTE),
        asOf: new Date(),
      },
      { name: 'mail', waiting: 2, consumers: 0, oldestDueAt: null, asOf: new Date() },
    ],
  };
  return { ...queue, queues };
}
