import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FlowProducer, Queue } from 'bullmq';
import { connectionTo } from './connection.mjs';

const WORKERS = fileURLToPath(new URL('workers.mjs', import.meta.url));

/** Customers whose payment may succeed with the next attempt. */
const CHARGE = { attempts: 4, backoff: { type: 'exponential', delay: 500 }, failParentOnFailure: true };

/** The queues of a small shop. */
export function createShop(redisUrl) {
  const connection = connectionTo(redisUrl);
  const defaultJobOptions = { removeOnComplete: { age: 3_600 }, removeOnFail: { age: 86_400 } };
  const queueOf = (name) => new Queue(name, { ...connection, defaultJobOptions });
  const [orders, mail, photos] = [queueOf('orders'), queueOf('mail'), queueOf('photos')];
  const flows = new FlowProducer(connection);
  const leaving = new AbortController();
  let customers = Promise.resolve();

  async function serveCustomers(onOrder) {
    for (let number = 10_001; !leaving.signal.aborted; number += 1) {
      const id = await order(number);
      if (number === 10_001) onOrder(`orders:${id}`);
      if (number % 5 === 0) await uploadPhotos(number);
      await sleep(500 + Math.random() * 1_500, null, { signal: leaving.signal }).catch(() => {});
    }
  }

  /** A flow: the order is complete once it is paid, then invoiced, and confirmed. */
  async function order(number) {
    const amount = Math.round(500 + Math.random() * 19_500) / 100;
    const cardToken = `tok_${Math.random().toString(16).slice(2)}`;
    const charge = { name: 'charge', queueName: 'orders', data: { number, amount, cardToken }, opts: CHARGE };
    const { job } = await flows.add({
      name: 'complete-order',
      queueName: 'orders',
      data: { number },
      children: [
        {
          name: 'render-invoice',
          queueName: 'orders',
          data: { number },
          opts: { failParentOnFailure: true },
          children: [charge],
        },
        { name: 'send-mail', queueName: 'mail', data: { number, template: 'confirmation' } },
      ],
    });
    return job.id;
  }

  async function uploadPhotos(number) {
    const widths = [64, 256, 1_024];
    await photos.addBulk(
      widths.map((width) => ({
        name: 'resize',
        data: { photo: `photo-${number}`, width },
        opts: { priority: width },
      })),
    );
    await mail.add('send-mail', { number, template: 'review' }, { delay: 60_000 });
  }

  return {
    queues: [orders, mail, photos],
    /**
     * Starts its workers and its customers, who order something every second or two.
     *
     * @param {(taskId: string) => void} onOrder called with the first order
     */
    async open({ processes, onOrder }) {
      await orders.upsertJobScheduler('sync-stock', { every: 10_000 }, { data: { warehouse: 'north' } });
      await photos.upsertJobScheduler('remove-leftovers', { pattern: '*/30 * * * * *' });
      await mail.upsertJobScheduler('weekly-report', { pattern: '0 7 * * 1', tz: 'Europe/Prague' });
      processes.start('workers', process.execPath, [WORKERS], { env: { REDIS_URL: redisUrl } });
      customers = serveCustomers(onOrder);
    },
    async close() {
      leaving.abort();
      await customers;
      await Promise.all([flows, orders, mail, photos].map((one) => one.close()));
    },
  };
}
