import { describe, expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { query } from '../history/telling.ts';
import { deployment, times } from './hints-deployment.ts';

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

describe('rules about tasks', () => {
  it('go on after a reconnect, once a worker has reported a task', async () => {
    const { event, broker, sources, pass } = deployment();
    const blind = async () => (await sources.tasks.getActivity(context)).blind;
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
  it('comes for tasks received unannounced after the queues were empty, and goes when they are announced', async () => {
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
      expect.stringMatching(
        /^Workers receive tasks such as shop\.pay without .*Set task_send_sent_event = True in the configuration of/,
      ),
    ]);
    times(20, (at) => {
      sent({ uuid: `announced-${at}` });
      event('received', { uuid: `announced-${at}` });
    });
    await pass(11);
    expect(await named()).toEqual([]);
  });

  it('does not depend on who asks for queues, components or hints', async () => {
    const { event, pass, named } = deployment();
    await pass(11);
    times(5, () => event('received', { name: 'shop.pay' }));
    await pass(11);
    expect(await named()).toEqual(['task_send_sent_event = True']);
  });

  it('comes when tasks wait that cannot be listed, until a client has reported one', async () => {
    const listed = deployment();
    await listed.waits(3);
    await listed.pass(11);
    expect(await listed.named()).toEqual([]);

    const { broker, beat, sent, waits, pass, hints } = deployment({ listsMessages: false });
    await waits(3);
    const sentence =
      'Tasks wait in celery, but this broker cannot list them. They are shown only if their clients ' +
      'report that they send them. Set task_send_sent_event = True in the configuration of the clients.';
    expect(await hints('collector')).toEqual([sentence]);
    await waits(0);
    expect(await hints('collector')).toEqual([]);
    // Some worker is there.
    beat(0);
    await waits(3);
    expect(await hints('collector')).toEqual([sentence]);
    sent();
    broker.reconnect();
    await pass(11);
    expect(await hints('collector')).toEqual([]);
  });

  it('says once what it hides where messages cannot be listed', async () => {
    const { event, waits, pass, hints } = deployment({ listsMessages: false });
    await waits(0);
    await waits(3);
    times(5, () => event('received', { name: 'shop.pay' }));
    await pass(11);
    event('started');
    expect(await hints('collector')).toEqual([
      expect.stringContaining('and tasks that wait are not listed. Set'),
    ]);
  });

  it('does not come when announcements are late, nor for what may have been sent before', async () => {
    const { event, sent, pass, named } = deployment();
    times(50, () => event('received'));
    await pass(61);
    times(50, (at) => {
      event('received', { uuid: `late-${at}` });
      sent({ uuid: `late-${at}` });
    });
    await pass(11);
    expect(await named()).toEqual([]);
  });

  it('does not come when results overtake the events of workers', async () => {
    const { event, sent, result, pass, named } = deployment();
    await pass(61);
    for (let at = 0; at < 50; at += 1) {
      sent({ uuid: `overtaken-${at}` });
      result({ task_id: `overtaken-${at}`, name: 'shop.pay' });
      event('received', { uuid: `overtaken-${at}` });
      if (at % 20 === 0) await pass(11);
    }
    await pass(11);
    expect(await named()).toEqual([]);
  });

  it('is not raised by a long backlog that was announced, and is by what comes unannounced behind it', async () => {
    const { event, sent, pass, named } = deployment();
    await pass(61);
    times(2_000, (at) => sent({ uuid: `backlog-${at}` }));
    times(2_000, (at) => event('received', { uuid: `backlog-${at}` }));
    await pass(11);
    expect(await named()).toEqual([]);
    times(2_000, () => event('received'));
    await pass(11);
    expect(await named()).toEqual(SENT);
  });
});
