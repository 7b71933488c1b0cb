// The shop's workers, in a process of their own. REDIS_URL says where its queues are.
import { setTimeout as sleep } from 'node:timers/promises';
import { UnrecoverableError, Worker } from 'bullmq';
import { connectionTo } from './connection.mjs';

const connection = connectionTo(process.env.REDIS_URL);

/** Takes between these numbers of milliseconds. */
const work = (least, most) => sleep(least + Math.random() * (most - least));

const orders = {
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
};

const mail = {
  async 'send-mail'(job) {
    await work(100, 400);
    return { sent: job.data.template };
  },
  'weekly-report': () => work(1_000, 3_000),
};

const photos = {
  async resize(job) {
    for (const percent of [25, 50, 75]) {
      await work(100, 300);
      await job.updateProgress(percent);
    }
    return `${job.data.photo}-${job.data.width}.jpg`;
  },
  'remove-leftovers': () => work(100, 500),
};

const workers = Object.entries({ orders, mail, photos }).map(
  ([queue, tasks]) =>
    new Worker(queue, (job) => tasks[job.name](job), { ...connection, name: `${queue}-1`, concurrency: 2 }),
);

process.once('SIGTERM', () => Promise.all(workers.map((worker) => worker.close())));
