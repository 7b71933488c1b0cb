/** A small deployment whose every figure is known. */

import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';

const MINUTE = 60_000;

export const ids = {
  root: 'order-1',
  charge: 'charge-1',
  failed: 'charge-2',
  group: 'group-1',
  body: 'body-1',
};

/** @param extra plain tasks beside the workflow */
export function createShop(extra = 0) {
  const now = Date.now();
  const queue = memorySources({
    name: 'shop',
    retention: { maxTasks: 200_000 },
    schedules: () => [
      {
        id: 'nightly',
        name: 'Nightly report',
        task: 'reports.nightly',
        schedule: 'every 30 s',
        enabled: true,
        timezone: 'UTC',
        lastRunAt: new Date(now - 10_000),
        nextRunAt: new Date(now + 3_600_000),
        totalRunCount: 41,
      },
      {
        id: 'missed',
        name: 'Missed one',
        task: 'reports.missed',
        schedule: 'every 30 s',
        enabled: true,
        nextRunAt: new Date(now - 10 * MINUTE),
      },
    ],
  });
  queue.recordWorker({
    hostname: 'celery@one',
    queues: ['orders', 'mail'],
    concurrency: 4,
    active: 1,
    // So long that it stays online while a browser starts on a busy machine.
    interval: 3_600,
    software: 'py-celery 5.6',
  });

  function run(id: string, name: string, more: object = {}, state = 'SUCCESS', at = now - MINUTE): void {
    const common = { id, name, queue: 'orders', ...more };
    queue.record({ ...common, state: 'PENDING', timestamp: at - 3_000 });
    queue.record({ ...common, state: 'RECEIVED', worker: 'celery@one', timestamp: at - 2_000 });
    queue.record({ ...common, state: 'STARTED', worker: 'celery@one', timestamp: at - 1_000 });
    const end =
      state === 'FAILURE'
        ? { error: Object.assign(new Error('card declined'), { name: 'CardError' }) }
        : { result: { paid: 12 }, runtime: 1 };
    queue.record({ ...common, state, worker: 'celery@one', timestamp: at, ...end });
  }

  const { root, charge, failed, group, body } = ids;
  run(root, 'orders.place', { args: [7], kwargs: { customer: 'Ada' }, rootId: root });
  run(charge, 'payments.charge', { parentId: root, rootId: root, groupId: group, chordId: body });
  run(failed, 'payments.charge', { parentId: root, rootId: root, groupId: group, chordId: body }, 'FAILURE');
  for (let index = 0; index < 20; index += 1) {
    run(`label-${index}`, 'labels.print', { parentId: charge, rootId: root, args: [index] });
  }
  for (let index = 0; index < extra; index += 1) {
    queue.record({
      id: `extra-${index}`,
      name: 'extra.task',
      queue: 'mail',
      state: 'SUCCESS',
      timestamp: now - 2 * MINUTE - index,
      args: [index],
    });
  }
  const options: MonitorOptions = { sources: queue };
  return { queue, options, run };
}
