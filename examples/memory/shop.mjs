import { randomUUID } from 'node:crypto';
import { tellStory } from './story.mjs';
import { TASKS } from './tasks.mjs';
import { createWorkers } from './workers.mjs';

const HOUR = 3_600_000;
const MINUTE = 60_000;

/**
 * A shop that lives from a task queue: orders as chains that end in a chord, photos as groups, and periodic work. It is
 * simulated, and records what happens.
 *
 * @param {object} options
 * @param {ReturnType<typeof import('./timeline.mjs').createTimeline>} options.timeline begins in the past
 * @param {(record: object) => void} options.record
 * @param {(record: object) => void} options.recordWorker
 * @param {(record: object) => void} options.recordQueue
 * @param {() => number} options.random 0 to 1
 */
export function createShop({ timeline, record, recordWorker, recordQueue, random }) {
  const tasks = { ...TASKS };
  const shop = createWorkers({ timeline, random, tasks, record, recordWorker });
  const schedules = createSchedules(timeline, shop.send);
  let orderNumber = 10_000;
  let lastOrder = null;
  let timer;

  function placeOrder() {
    orderNumber += 1;
    const number = orderNumber;
    const rootId = randomUUID();
    const amount = Math.round(500 + random() * 20_000) / 100;
    // A chain: each task is sent when the one before has ended well, and is its child.
    const next = (name, parentId, task, then) => {
      const id = randomUUID();
      shop.send({ id, name, args: [number], parentId, rootId, ...task }, (state) => then(state, id));
    };
    shop.send(
      { id: rootId, name: 'orders.place', args: [number], kwargs: { items: 1 + (number % 5) } },
      () => {
        next('orders.reserve_stock', rootId, {}, (reserved, reserveId) => {
          if (reserved !== 'SUCCESS') return;
          const card = { amount, currency: 'EUR', card_token: `tok_${randomUUID()}` };
          next('payments.charge', reserveId, { kwargs: card, result: { paid: amount } }, (paid, chargeId) => {
            if (paid === 'SUCCESS') pack(number, chargeId, rootId);
            else next('orders.cancel', chargeId, {}, () => {});
          });
        });
      },
    );
  }

  /** A chord: three tasks side by side, and one that waits for all of them. */
  function pack(number, parentId, rootId) {
    const groupId = randomUUID();
    const chordId = randomUUID();
    const header = ['invoices.render', 'labels.print', 'mail.confirmation'];
    let open = header.length;
    for (const name of header) {
      const id = randomUUID();
      shop.send({ id, name, args: [number], parentId, rootId, groupId, chordId }, (state) => {
        if (state === 'SUCCESS') open -= 1;
        if (open > 0 || state !== 'SUCCESS') return;
        lastOrder = rootId;
        shop.send({ id: chordId, name: 'orders.complete', args: [number], parentId: id, rootId });
        if (random() < 0.1) {
          const eta = timeline.now() + 10 * MINUTE;
          shop.send({
            id: randomUUID(),
            name: 'mail.review_request',
            args: [number],
            parentId: chordId,
            rootId,
            eta,
          });
        }
      });
    }
  }

  /** A group: one photo in many sizes. */
  function importPhotos() {
    const rootId = randomUUID();
    shop.send({ id: rootId, name: 'photos.import', args: [`s3://photos/${rootId}.jpg`] }, () => {
      const groupId = randomUUID();
      const sizes = [64, 128, 256, 512, 1024, 2048].slice(0, 2 + Math.floor(random() * 5));
      for (const width of sizes) {
        shop.send({
          id: randomUUID(),
          name: 'photos.resize',
          kwargs: { width },
          parentId: rootId,
          rootId,
          groupId,
        });
      }
    });
  }

  shop.addWorker('orders@shop-1', 4, ['orders', 'payments']);
  const workers = {
    documents: shop.addWorker('documents@shop-2', 4, ['documents']),
    photos: shop.addWorker('photos@shop-3', 3, ['photos']),
    mail: shop.addWorker('mail@shop-3', 2, ['mail']),
  };
  timeline.every(2_500, () => timeline.after(random() * 2_000, placeOrder));
  timeline.every(20_000, importPhotos);
  timeline.every(7_000, () => random() < 0.2 && shop.revoke('photos'));
  timeline.every(20_000, () => {
    for (const { name, waiting, oldestDueAt } of shop.listQueues()) {
      recordQueue({ queue: name, waiting, oldestDueAt });
    }
  });
  const deploys = tellStory({ timeline, tasks, workers, crash: shop.crash, restart: shop.restart });
  placeOrder();

  return {
    /** Plays the past until now, then continues in real time. */
    open() {
      timeline.playUntil(Date.now());
      timer = setInterval(() => {
        const late = Date.now() - timeline.now() - MINUTE;
        if (late > 0) timeline.postpone(late);
        timeline.playUntil(Date.now());
      }, 100);
    },
    close: () => clearInterval(timer),
    listQueues: shop.listQueues,
    schedules: schedules.list,
    /** What the page marks in its charts. */
    deploys: () => deploys,
    /** Id of the newest finished order, with a complete workflow. */
    lastOrder: () => lastOrder,
  };
}

/** The periodic work, sent as `celery beat` would. */
function createSchedules(timeline, send) {
  const entries = [
    { id: 'stock', name: 'Sync the stock', task: 'stock.sync', schedule: 'every 30 s', ms: 30_000 },
    { id: 'carts', name: 'Empty old carts', task: 'carts.expire', schedule: 'every 5 min', ms: 5 * MINUTE },
    {
      id: 'rates',
      name: 'Fetch exchange rates',
      task: 'rates.fetch',
      schedule: 'every 10 min',
      ms: 10 * MINUTE,
    },
    {
      id: 'hourly',
      name: 'Figures of the hour',
      task: 'reports.hourly',
      schedule: '0 * * * * (m/h/dM/MY/d)',
      ms: HOUR,
    },
    {
      id: 'newsletter',
      name: 'Newsletter',
      task: 'mail.newsletter',
      schedule: '0 7 * * 1 (m/h/dM/MY/d)',
      ms: null,
    },
  ];
  for (const entry of entries) {
    Object.assign(entry, { lastRunAt: null, nextRunAt: null, totalRunCount: 0, lastRuns: [] });
    if (entry.ms === null) continue;
    const run = () => {
      const at = new Date(timeline.now());
      const entryRun = { taskId: randomUUID(), state: 'PENDING', at };
      entry.lastRunAt = at;
      entry.totalRunCount += 1;
      entry.lastRuns = [entryRun, ...entry.lastRuns].slice(0, 20);
      send({ id: entryRun.taskId, name: entry.task }, (state, runtime) => {
        Object.assign(entryRun, { state, runtime });
      });
      plan();
    };
    const plan = () => {
      const wait = entry.ms - (timeline.now() % entry.ms);
      entry.nextRunAt = new Date(timeline.now() + wait);
      timeline.after(wait, run);
    };
    plan();
  }
  return {
    list: () =>
      entries.map(({ ms, ...entry }) => ({
        ...entry,
        enabled: ms !== null,
        args: [],
        kwargs: {},
        timezone: 'UTC',
      })),
  };
}
