import { describe, expect, it } from 'vitest';
import { heldItems, startOf } from '../../src/sources/celery/control/held-tasks.ts';
import { queueNames, workerFactsOf } from '../../src/sources/celery/control/worker-facts.ts';

describe('what a worker tells of itself', () => {
  const at = { hostname: 'w1@alpha', type: 'reply', time: 5 };

  it('in Celery 5.2 shows its pool by the pool’s own marks', () => {
    const prefork = {
      total: { 'lab.slow': 2, 'lab.add': 3 },
      pid: 24773,
      clock: '23',
      uptime: 6,
      pool: { 'max-concurrency': 4, processes: [24828, 24833], writes: { total: 2 } },
    };
    expect(workerFactsOf('w1@alpha', { stats: prefork }, 5)).toEqual({
      ...at,
      pid: 24773,
      uptimeSeconds: 6,
      processed: 5,
      concurrency: 4,
      pool: 'prefork',
      poolSize: 2,
    });
    const pools = [
      { 'max-concurrency': 4, threads: 3 },
      { 'max-concurrency': 1, processes: [7], 'max-tasks-per-child': null, timeouts: [] },
      { 'max-concurrency': 10, 'free-threads': 9, 'running-threads': 1 },
      { 'max-concurrency': 10 },
      { 'max-concurrency': 2, processes: [8, 9] },
    ];
    const told = pools.map((pool) => workerFactsOf('w1@alpha', { stats: { pid: 7, pool } }, 5));
    expect(told.map(({ pool, poolSize }) => [pool, poolSize])).toEqual([
      ['threads', 3],
      ['solo', 1],
      ['eventlet', undefined],
      [undefined, undefined],
      [undefined, 2],
    ]);
  });

  it.each([
    ['celery.concurrency.prefork:TaskPool', 'prefork'],
    ['celery.concurrency.thread:TaskPool', 'threads'],
    ['celery.concurrency.solo:TaskPool', 'solo'],
    ['celery.concurrency.gevent:TaskPool', 'gevent'],
    ['ours.pool:Pool', 'ours.pool:Pool'],
  ])('says %s, which is %s', (implementation, name) => {
    expect(workerFactsOf('w1@alpha', { stats: { pool: { implementation } } }, 5)).toEqual({
      ...at,
      pool: name,
    });
  });

  it('names queues and tasks, without what else is set of the tasks', () => {
    const told = workerFactsOf(
      'w1@alpha',
      {
        active_queues: [{ name: 'celery', exchange: { name: 'x' } }, { name: 'topicq' }],
        registered: ['shop.pay [rate_limit=5/s max_retries=3]', 'shop.add', 'odd [name]', 'shop.add'],
      },
      5,
    );
    expect(told).toEqual({
      ...at,
      queues: ['celery', 'topicq'],
      registeredTasks: ['odd [name]', 'shop.add', 'shop.pay'],
    });
  });

  it.each([
    null,
    undefined,
    1,
    'x',
    [],
    {},
    { pool: [] },
    { pool: { processes: 'x' }, total: [1], pid: 'x' },
  ])('that is %j tells nothing', (stats) => {
    expect(workerFactsOf('w1@alpha', { stats, active_queues: 3, registered: {} }, 5)).toEqual(at);
  });

  it('leaves out what is no name', () => {
    expect(queueNames([{ name: 'a' }, { name: 1 }, null, [], 'b', { name: '' }, {}])).toEqual(['a']);
    expect(queueNames([])).toEqual([]);
    expect(queueNames(null)).toBeUndefined();
    expect(
      workerFactsOf('w', { stats: { total: { a: 1, b: 'x' } }, registered: [1, null, 'x'.repeat(2000)] }, 5),
    ).toEqual({ ...at, hostname: 'w', registeredTasks: [] });
  });
});

describe('what a worker tells of its tasks', () => {
  const item = {
    id: '90b10331-f917-421e-a16c-80c4888a54fe',
    name: 'shown name',
    args: "(4, 'act1')",
    kwargs: '{}',
    type: 'lab.slow',
    hostname: 'w1@alpha',
    time_start: 1795228770.125,
    acknowledged: true,
    delivery_info: { exchange: '', routing_key: 'celery', priority: 0, redelivered: null },
    worker_pid: 24828,
  };

  it('of one that runs says that and when it started, as a word that gives way to the event', () => {
    const change = startOf(item, 'w1@alpha', 2);
    expect(Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))).toEqual({
      id: item.id,
      type: 'started',
      time: null,
      origin: 'result',
      stored: true,
      heardAt: 1795228770125,
      worker: 'w1@alpha',
      retries: 2,
      name: 'lab.slow',
      queue: 'celery',
      args: "(4, 'act1')",
      kwargs: '{}',
    });
  });

  it('does not take a time of the machine’s own clock, nor a routing key, for what they are not', () => {
    const odd = {
      ...item,
      time_start: 4711.5,
      delivery_info: { exchange: 'x', routing_key: 'report.a' },
      args: '',
    };
    const { heardAt, queue, args } = startOf(odd, 'w1@alpha', undefined);
    expect([heardAt, queue, args]).toEqual([undefined, undefined, undefined]);
  });

  it('of one that waits for its eta stands within', () => {
    const scheduled = [{ eta: '2026-11-21T02:40:30+00:00', priority: 6, request: item }];
    expect(heldItems(scheduled)).toMatchObject({ items: [{ id: item.id }], dropped: 0 });
  });

  it.each([[null], [3], [{}], ['x']])('is not read from %j', (reply) => {
    expect(heldItems(reply)).toEqual({ items: [], dropped: 1 });
  });

  it('leaves out entries that are none', () => {
    const reply = [
      null,
      1,
      [],
      {},
      { id: 1 },
      { id: '' },
      { id: 'x'.repeat(513) },
      { request: { id: 2 } },
      item,
    ];
    const { items, dropped } = heldItems(reply);
    expect(items.map(({ id }) => id)).toEqual([item.id]);
    expect(dropped).toBe(8);
  });
});
