// A small shop on BullMQ: its workers, and customers who order something every second or two. REDIS_URL says where.
import { setTimeout as sleep } from 'node:timers/promises';
import { FlowProducer, Queue, UnrecoverableError, Worker } from 'bullmq';

const connection = { url: process.env.REDIS_URL };

/** What jobs do, by queue and name. */
const JOBS = {
  orders: {
    async charge(job) {
      await job.log(`attempt ${job.attemptsMade + 1}: asking the bank for ${job.data.amount}`);
      await work(200, 1_000);
      if (Math.random() < 0.15) throw new Error('the bank did not answer within 2 s');
      // No other attempt would help.
      if (Math.random() < 0.05) throw new UnrecoverableError('insufficient funds (51)');
      await job.log(`charged ${job.data.amount}`);
      return { paid: job.data.amount };
    },
    async 'render-invoice'(job) {
      for (const page of [1, 2, 3]) {
        await work(60, 300);
        await job.log(`rendered page ${page}`);
        await job.updateProgress({ current: page, total: 3, text: `page ${page}` });
      }
      return { invoice: `invoices/${job.data.number}.pdf` };
    },
    async 'complete-order'(job) {
      await work(20, 100);
      return { order: job.data.number, steps: Object.keys(await job.getChildrenValues()).length };
    },
    'sync-stock': () => work(100, 500),
  },
  mail: {
    async 'send-mail'(job) {
      await work(100, 400);
      return { sent: job.data.template };
    },
    'weekly-report': () => work(1_000, 3_000),
  },
  photos: {
    async resize(job) {
      for (const percent of [25, 50, 75]) {
        await work(100, 300);
        await job.updateProgress(percent);
      }
      return `${job.data.photo}-${job.data.width}.jpg`;
    },
    'remove-leftovers': () => work(100, 500),
  },
};

/** Takes between these numbers of milliseconds. */
const work = (least, most) => sleep(least + Math.random() * (most - least));

const defaultJobOptions = { removeOnComplete: { age: 3_600 }, removeOnFail: { age: 86_400 } };
const [orders, mail, photos] = Object.keys(JOBS).map(
  (name) => new Queue(name, { connection, defaultJobOptions }),
);
const flows = new FlowProducer({ connection });

for (const [queue, jobs] of Object.entries(JOBS)) {
  new Worker(queue, (job) => jobs[job.name](job), { connection, name: `${queue}-1`, concurrency: 2 });
}
await orders.upsertJobScheduler('sync-stock', { every: 10_000 }, { data: { warehouse: 'north' } });
await photos.upsertJobScheduler('remove-leftovers', { pattern: '*/30 * * * * *' });
await mail.upsertJobScheduler('weekly-report', { pattern: '0 7 * * 1', tz: 'Europe/Prague' });

for (let number = 10_001; ; number += 1) {
  await order(number);
  if (number % 5 === 0) await uploadPhotos(number);
  await work(500, 2_000);
}

/** A flow: the order is complete once it is paid, then invoiced, and confirmed. */
function order(number) {
  const amount = Math.round(500 + Math.random() * 19_500) / 100;
  const cardToken = `tok_${Math.random().toString(16).slice(2)}`;
  // The payment may succeed with the next attempt.
  const opts = { attempts: 4, backoff: { type: 'exponential', delay: 500 }, failParentOnFailure: true };
  const charge = { name: 'charge', queueName: 'orders', data: { number, amount, cardToken }, opts };
  const invoice = {
    name: 'render-invoice',
    queueName: 'orders',
    data: { number },
    opts: { failParentOnFailure: true },
    children: [charge],
  };
  const confirmation = { name: 'send-mail', queueName: 'mail', data: { number, template: 'confirmation' } };
  const children = [invoice, confirmation];
  return flows.add({ name: 'complete-order', queueName: 'orders', data: { number }, children });
}

async function uploadPhotos(number) {
  const jobs = [64, 256, 1_024].map((width) => ({
    name: 'resize',
    data: { photo: `photo-${number}`, width },
    opts: { priority: width },
  }));
  await photos.addBulk(jobs);
  await mail.add('send-mail', { number, template: 'review' }, { delay: 60_000 });
}
