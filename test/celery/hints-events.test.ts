import { describe, expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { query } from '../history/telling.ts';
import { createArrayMailbox } from './array-mailbox.ts';
import { answered, deployment, times } from './hints-deployment.ts';

const EVENTS = ['worker_send_task_events = True'];
const SENT = ['task_send_sent_event = True'];

describe('a hint that events are off', () => {
  it('comes when heartbeats count tasks that no event told of, and goes with the first event', async () => {
    const { beat, event, pass, named, hints } = deployment();
    beat(5);
    beat(7);
    expect(await named()).not.toEqual(expect.arrayContaining(EVENTS));
    await pass(6);
    beat(7);
    expect(await hints('collector')).toEqual([
      'Worker w1@alpha runs tasks but sends no events about them. Start it with -E or set ' +
        'worker_send_task_events = True.',
    ]);
    event('started');
    expect(await hints('collector')).toEqual([]);
  });

  it('names each worker, and the option where workers can be told', async () => {
    const { beat, pass, hints } = deployment({ control: true });
    for (const name of ['w2@b', 'w1@a', 'busy@c']) {
      beat(0, name);
      beat(2, name);
    }
    await pass(6);
    expect(await hints('collector')).toEqual([
      'Workers busy@c, w1@a and w2@b run tasks but send no events about them. Start them with -E or set ' +
        'worker_send_task_events = True, or let this monitor do it: enableEvents: true.',
    ]);
  });

  it('does not come when a heartbeat counts what events have just told of, or will in a moment', async () => {
    const { beat, event, pass, hints } = deployment();
    beat(0);
    times(6, () => event('started'));
    beat(6);
    await pass(6);
    expect(await hints('collector')).toEqual([]);
    beat(12);
    event('started');
    beat(13);
    await pass(6);
    expect(await hints('collector')).toEqual([]);
  });

  it('does not come while a worker has nothing to do, nor by what it did before', async () => {
    const { beat, pass, hints } = deployment();
    beat(500);
    await pass(60);
    beat(500);
    await pass(60);
    expect(await hints('collector')).toEqual([]);
  });

  it('does not come when a thread pool loses the ends of tasks', async () => {
    const { beat, event, result, pass, hints } = deployment();
    beat(0);
    times(20, () => event('started'));
    beat(20);
    event('succeeded');
    times(20, () => result({ worker: 'w1@alpha', name: 'shop.pay' }));
    await pass(30);
    beat(20);
    expect(await hints('collector')).toEqual([]);
  });

  it('comes by results where a worker sends no heartbeats', async () => {
    const { result, pass, hints } = deployment();
    times(3, () => result({ worker: 'w1@alpha', name: 'shop.pay' }));
    expect(await hints('collector')).toEqual([]);
    await pass(11);
    expect(await hints('collector')).toEqual([expect.stringContaining('Worker w1@alpha runs tasks')]);
  });

  it.each(['offline', 'online', 'silent for two minutes'] as const)(
    'goes when the worker is %s',
    async (leave) => {
      const { beat, worker, pass, hints } = deployment();
      beat(0);
      beat(2);
      await pass(6);
      expect(await hints('collector')).toHaveLength(1);
      if (leave === 'silent for two minutes') await pass(121);
      else worker(leave);
      expect(await hints('collector')).toEqual([]);
    },
  );

  it('is not refuted by custom events alone, and what was missed in an outage is no evidence', async () => {
    const { broker, beat, event, pass, hints } = deployment();
    beat(0);
    beat(2);
    event('halfway', { percent: 50 });
    await pass(6);
    expect(await hints('collector')).toHaveLength(1);
    broker.reconnect();
    expect(await hints('collector')).toEqual([]);
    beat(90);
    await pass(6);
    expect(await hints('collector')).toEqual([]);
  });
});

describe('a hint that a thread pool loses events', () => {
  /** A worker that has said which pool it has, and runs tasks of which some ends are never reported. */
  async function running(pool: object, lost: number) {
    const mailbox = createArrayMailbox({
      'w1@alpha': ({ method }) => ({
        contentType: 'application/json',
        value: method === 'ping' ? { ok: 'pong' } : method === 'stats' ? { pid: 7, pool } : {},
      }),
    });
    const array = deployment({ control: true, mailbox });
    array.sent();
    array.beat(0);
    await answered(array.sources.workers.listWorkers(context));
    times(20, () => array.event('started'));
    times(20 - lost, () => array.event('succeeded', { runtime: 0.1 }));
    for (const seconds of [2, 2, 2]) {
      array.beat(20);
      await array.pass(seconds);
    }
    return array;
  }

  it('comes when heartbeats count ends that no event reported, and goes with the worker', async () => {
    const { beat, worker, hints } = await running({ 'max-concurrency': 4, threads: 4 }, 5);
    beat(20);
    expect(await hints('collector')).toEqual([
      expect.stringMatching(/^Celery up to 5\.6\.3 loses events of thread pools, here of w1@alpha: /),
    ]);
    worker('offline');
    expect(await hints('collector')).toEqual([]);
  });

  it.each([
    ['all ends were reported', { 'max-concurrency': 4, threads: 4 }, 0],
    ['the pool is another one', { 'max-concurrency': 4, processes: [8, 9], writes: {} }, 5],
  ])('does not come where %s', async (_, pool, lost) => {
    const { beat, hints } = await running(pool, lost);
    beat(20);
    expect(await hints('collector')).toEqual([]);
  });
});

describe('a hint that workers reserve tasks behind long ones', () => {
  /** Two workers, of which one has run a task for so long. */
  async function reserving(prefetch: number, runtime: number, eta: object = {}) {
    const stats = { pid: 7, prefetch_count: prefetch, pool: { 'max-concurrency': 2 } };
    const answer = ({ method }: { readonly method: string }) => ({
      contentType: 'application/json',
      value: method === 'ping' ? { ok: 'pong' } : method === 'stats' ? stats : {},
    });
    const mailbox = createArrayMailbox({ 'w1@alpha': answer, 'w2@beta': answer });
    const array = deployment({ control: true, mailbox });
    array.sent();
    array.beat(0);
    array.beat(0, 'w2@beta');
    await answered(array.sources.workers.listWorkers(context));
    array.event('received', { uuid: 'long', name: 'shop.pay', ...eta });
    array.event('succeeded', { uuid: 'long', runtime });
    return array;
  }

  it('comes with two for each slot, and goes with the other worker', async () => {
    const { worker, hints } = await reserving(4, 61);
    expect(await hints('collector')).toEqual([
      'Tasks that w1@alpha and w2@beta have reserved wait for long ones, which run for up to 61 s, while other ' +
        'workers may be free. Set worker_prefetch_multiplier = 1.',
    ]);
    worker('offline', 'w2@beta');
    expect(await hints('collector')).toEqual([]);
  });

  it.each<[string, number, number, object?]>([
    ['workers reserve one for each slot', 2, 61],
    ['tasks are short', 8, 10],
    ['tasks with an eta raise what workers ask for', 4, 61, { eta: new Date(4e12).toISOString() }],
  ])('does not come where %s', async (_, ...given) => {
    const { hints } = await reserving(...given);
    expect(await hints('collector')).toEqual([]);
  });
});

describe('a hint about the visibility timeout', () => {
  const eta = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

  it.each([
    ['has an eta that lies behind it', 3_600, {}, 7_200, 10, ' shop.pay is sent for so long ahead (7200 s)'],
    [
      'runs for longer, and is acknowledged late',
      3_600,
      { task_acks_late: true },
      10,
      5_000,
      ' runs for so long (5000 s)',
    ],
    ['runs for longer, and is acknowledged at its start', 3_600, {}, 10, 5_000, null],
    ['has an eta that lies before it', 43_200, {}, 7_200, 10, null],
  ])('comes when a task %s', async (_, timeout, settings, ahead, runtime, expected) => {
    const { event, sent, pass, hints } = deployment({ settings, visibilityMs: timeout * 1_000 });
    sent();
    event('received', { uuid: 'long', name: 'shop.pay', eta: eta(ahead) });
    event('succeeded', { uuid: 'long', runtime });
    expect(await hints('broker')).toEqual(
      expected === null ? [] : [expect.stringContaining(`A task${expected} that Redis delivers it again`)],
    );
    await pass(3_601);
    expect(await hints('broker')).toEqual([]);
  });
});

describe('a hint about the timeout of RabbitMQ', () => {
  it('names its setting, since nothing tells its value', async () => {
    const options = { settings: { task_acks_late: true }, visibilityMs: 1_800_000, version: '3.10.8' };
    const { event, sent, hints } = deployment(options);
    sent();
    event('succeeded', { uuid: 'short', runtime: 1_700 });
    expect(await hints('broker')).toEqual([]);
    event('succeeded', { uuid: 'long', runtime: 2_000 });
    expect(await hints('broker')).toEqual([
      'A task runs for so long (2000 s) that RabbitMQ delivers it again, and it runs twice. Set consumer_timeout = 3000000 in rabbitmq.conf, unless that is set already.',
    ]);
  });
});

describe('a hint that RabbitMQ refuses the queues of workers', () => {
  it.each(['4.3.6', '5.0.0'])(
    'comes with %s when a worker starts again and again, or none is heard',
    async (version) => {
      const { worker, pass, hints } = deployment({ version });
      const refused = `RabbitMQ ${version} refuses the queues for events and remote control`;
      times(2, () => worker('online'));
      expect(await hints('broker')).toEqual([]);
      worker('online');
      expect(await hints('broker')).toEqual([
        expect.stringContaining(`w1@alpha starts again and again: ${refused}`),
      ]);
      await pass(121);
      expect(await hints('broker')).toEqual([expect.stringContaining(`No worker is heard: ${refused}`)]);
    },
  );

  it('does not come with an earlier version, nor while workers are heard', async () => {
    const earlier = deployment({ version: '4.2.1' });
    times(3, () => earlier.worker('online'));
    await earlier.pass(40);
    expect(await earlier.hints('broker')).toEqual([]);
    const { beat, pass, hints } = deployment({ version: '4.3.6' });
    for (let at = 0; at < 4; at += 1) {
      beat(0);
      await pass(15);
    }
    expect(await hints('broker')).toEqual([]);
  });
});

describe('rules about tasks', () => {
  it('go on after a reconnect, once a worker has reported a task', async () => {
    const { event, broker, sources, pass } = deployment();
    const blind = async () => (await sources.experimental.getActivity(context)).blind;
    await pass(1);
    expect(await blind()).toBe('No worker has reported a task yet.');
    event('received', { name: 'shop.pay' });
    await pass(1);
    expect(await blind()).toBeNull();
    broker.reconnect();
    await pass(1);
    expect(await blind()).toBeNull();
  });
});

describe('statistics', () => {
  it('do not know what workers without events receive and retry, nor what moves through queues', async () => {
    const { beat, result, waits, pass, sources } = deployment();
    await waits(3);
    beat(0);
    times(4, () => result({ status: 'SUCCESS', result: 1, date_done: new Date().toISOString() }));
    await pass(2);
    beat(4);
    await pass(6);
    const now = new Date();
    const stats = await sources.tasks.getTaskStats?.({ minutes: 5, now, filter: query() }, context);
    expect(stats?.totals).toMatchObject({ received: null, succeeded: 4, retried: null });
    expect(stats?.series.some(({ received, retried }) => received !== null || retried !== null)).toBe(false);
    const [queue] = stats?.queueDepths ?? [];
    expect(queue).toMatchObject({ queue: 'celery' });
    expect([...(queue?.sent ?? []), ...(queue?.received ?? [])].filter((count) => count !== null)).toEqual(
      [],
    );
  });
});

describe('a hint that sent events are off', () => {
  it('comes for tasks received unannounced after the queues were empty, and goes when a client announces one', async () => {
    const { event, sent, waiting, waits, pass, named, hints } = deployment();
    waiting.push({ queue: 'celery', raw: 'no task' });
    await waits(3);
    // They waited before, and may have been sent before anybody listened.
    times(5, () => event('received', { name: 'shop.old' }));
    await waits(0);
    times(5, () => event('received', { name: 'shop.pay' }));
    expect(await named()).toEqual([]);
    await pass(11);
    expect(await hints('collector')).toEqual([
      'Workers receive tasks without a task-sent event, so it is unknown when they were sent. ' +
        'Set task_send_sent_event = True in the configuration of the clients.',
    ]);
    sent();
    expect(await named()).toEqual([]);
  });

  it('does not depend on who asks for queues, components or hints', async () => {
    const { event, pass, named } = deployment();
    await pass(11);
    times(5, () => event('received', { name: 'shop.pay' }));
    await pass(11);
    expect(await named()).toEqual(SENT);
  });

  it('comes when tasks wait that cannot be listed, until a client has reported one', async () => {
    const listed = deployment();
    await listed.waits(3);
    await listed.pass(11);
    expect(await listed.named()).toEqual([]);

    const { broker, beat, event, sent, waits, pass, hints } = deployment({ listsMessages: false });
    await waits(3);
    const sentence =
      'Tasks wait in celery, but this broker cannot list them. They are shown only if their clients ' +
      'report that they send them. Set task_send_sent_event = True in the configuration of the clients.';
    expect(await hints('collector')).toEqual([sentence]);
    await waits(0);
    expect(await hints('collector')).toEqual([]);
    // Some worker is there, and receives others.
    beat(0);
    times(5, () => event('received', { name: 'shop.pay' }));
    await waits(3);
    event('started');
    expect(await hints('collector')).toEqual([sentence]);
    sent();
    broker.reconnect();
    await pass(11);
    expect(await hints('collector')).toEqual([]);
  });

  it('does not come for what may have been sent before, nor for retries, which workers send', async () => {
    const { event, pass, named } = deployment();
    times(50, () => event('received'));
    await pass(61);
    times(50, () => event('received', { retries: 1 }));
    await pass(11);
    expect(await named()).toEqual([]);
  });
});
