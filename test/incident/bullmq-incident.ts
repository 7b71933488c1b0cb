/** The incident on a real BullMQ: its workers keep books of what they truly did. */
import type { Job } from 'bullmq';
import * as bullmq from 'bullmq';
import { type BullMQApp, startBullMQ } from '../helpers/bullmq-app.ts';
import { until } from '../helpers/redis-server.ts';
import { type Facts, p95 } from './facts.ts';

const TICK_MS = 500;
const MINUTE_MS = 60_000;
/** Each name needs twenty runs before anybody can say what is usual. */
const BEFORE_MS = 20_000;
const AFTER_MS = 68_000;
const SLOTS = 2;
/** How long runs take that do not get slower. */
const STEADY_MS = 100;
const ORDER = 11448;

class CardDeclined extends Error {
  override readonly name = 'CardDeclined';
}

class GatewayTimeout extends Error {
  override readonly name = 'GatewayTimeout';
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What the workers say that they did. */
interface Books {
  isDeployed: boolean;
  readonly before: number[];
  readonly after: number[];
  readonly failures: Record<string, number>;
  readonly hungAt: number[];
  reports: number;
}

/** A running shop. */
export interface Shop {
  readonly app: BullMQApp;
  /** Plays the incident, and returns what has happened. */
  play(): Promise<Facts>;
}

export async function startShop(): Promise<Shop> {
  const app = await startBullMQ(bullmq);
  const books: Books = { isDeployed: false, before: [], after: [], failures: {}, hungAt: [], reports: 0 };
  const [shop, video, mail] = ['default', 'video', 'mail'].map((name) => app.queue(name)) as [
    bullmq.Queue,
    bullmq.Queue,
    bullmq.Queue,
  ];
  const work = processorOf(shop, books);
  app.worker('default', work, { name: 'w1@shop', concurrency: 8 });
  app.worker('video', work, { name: 'w2@shop', concurrency: SLOTS });
  const mailer = app.worker('mail', work, { name: 'w3@shop' });
  await shop.upsertJobScheduler('Frequent report', { every: 15_000 }, { name: 'reports.hourly' });

  async function send(tick: number): Promise<void> {
    for (const number of [2 * tick, 2 * tick + 1]) {
      await shop.add('images.resize', { picture: `p${number}.png` });
      await shop.add('payments.charge', { order: 20_000 + number, currency: 'EUR' });
    }
    await mail.add('mail.send', { to: `u${tick}@example.org` });
  }

  async function play(): Promise<Facts> {
    // The deploy is at a full minute, as ranges and steps of charts are.
    const deploy = (Math.floor((Date.now() + BEFORE_MS) / MINUTE_MS) + 1) * MINUTE_MS;
    let tick = 0;
    for (; Date.now() < deploy - 1_000; tick++) {
      await send(tick);
      await video.add('video.encode', { film: `f${tick}.mov`, hangs: false });
      await pause(TICK_MS);
    }
    await until(async () => (await mail.getWaitingCount()) + (await mail.getActiveCount()) === 0);
    // Nobody works the queue off any more.
    await mailer.close();
    await until(() => Date.now() >= deploy);
    books.isDeployed = true;
    for (let slot = 0; slot < SLOTS; slot++) {
      await video.add('video.encode', { film: `stalled${slot}.mov`, hangs: true });
    }
    const dueSince = Date.now();
    let isOrdered = false;
    for (; Date.now() < deploy + AFTER_MS; tick++) {
      await send(tick);
      if (!isOrdered && Date.now() > deploy + 10_000) {
        isOrdered = true;
        await placeOrder(app);
      }
      await pause(TICK_MS);
    }
    await until(async () => (await shop.getWaitingCount()) + (await shop.getActiveCount()) === 0);
    return factsOf(books, { deploy, dueSince, waiting: await mail.getWaitingCount() });
  }
  return { app, play };
}

/** An order is confirmed by its payment, or cancelled by the step that follows. */
async function placeOrder(app: BullMQApp): Promise<void> {
  await app.flow().add({
    ...{ name: 'orders.cancel', queueName: 'default', data: { order: ORDER } },
    children: [
      {
        ...{ name: 'payments.charge', queueName: 'default', data: { order: ORDER, currency: 'EUR' } },
        opts: { ignoreDependencyOnFailure: true },
      },
    ],
  });
}

function processorOf(shop: bullmq.Queue, books: Books): (job: Job) => Promise<void> {
  return async ({ name, data }) => {
    if (name === 'images.resize') return await resize(books);
    if (name === 'video.encode') return await encode(data.hangs, shop, books);
    // Runs of a millisecond get many times slower on a busy machine, and then this would be no lie.
    await pause(STEADY_MS);
    if (name === 'payments.charge' && books.isDeployed) capture(data.order, books);
    else if (name === 'reports.hourly') books.reports++;
  };
}

async function resize({ isDeployed, before, after }: Books): Promise<void> {
  const began = performance.now();
  await pause(isDeployed ? 800 : 100);
  (isDeployed ? after : before).push(performance.now() - began);
}

function capture(order: number, { failures }: Books): void {
  const fail = (error: Error): never => {
    failures[error.name] = (failures[error.name] ?? 0) + 1;
    throw error;
  };
  if (order % 4 === 0) fail(new CardDeclined(`insufficient funds for order ${order}`));
  if (order % 12 === 1) fail(new GatewayTimeout(`no answer from 10.0.0.${order % 200} after 30 s`));
}

async function encode(hangs: boolean, shop: bullmq.Queue, { hungAt }: Books): Promise<void> {
  if (!hangs) return await pause(STEADY_MS);
  hungAt.push(Date.now());
  await new Promise<void>((resolve) => shop.once('ioredis:close', () => resolve()));
}

function factsOf(books: Books, played: Pick<Facts, 'deploy' | 'dueSince' | 'waiting'>): Facts {
  const { before, after, failures, hungAt } = books;
  return {
    ...{ ...played, marker: 'v412', isShort: true, failing: 'payments.charge', failures: { ...failures } },
    problems: ['payments.charge fails', `${SLOTS} video.encode tasks run for`],
    ...{ slow: 'images.resize', slowdown: p95(after) / p95(before) },
    ...{ queue: 'mail', worker: 'w2@shop', hung: 'video.encode' },
    ...{ hungSince: Math.min(...hungAt), slots: hungAt.length },
    order: String(ORDER),
    why: [`insufficient funds for order ${ORDER}`],
    ...{ orderTasks: ['payments.charge', 'orders.cancel'], next: 'orders.cancel' },
    schedule: {
      ...{ name: 'Frequent report', task: 'reports.hourly' },
      runs: () => Promise.resolve(books.reports),
    },
  };
}
