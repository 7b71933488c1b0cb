import { describe, expect, it } from 'vitest';
import { deployment, event, NOPERM, OPTIONS, result } from './hints-deployment.ts';

describe('a hint that events are off', () => {
  it('comes when heartbeats count tasks that no event told of, and goes with the first event', () => {
    const { observer, beat, pass, codes, hint } = deployment();
    beat(5);
    beat(7);
    expect(codes()).toEqual([]);
    pass(6);
    beat(7);
    expect(hint('events_off')).toEqual({
      code: 'events_off',
      component: 'collector',
      sentence:
        'Worker w1@alpha runs tasks but sends no events about them. Start it with -E or set ' +
        'worker_send_task_events = True.',
      line: 'worker_send_task_events = True',
    });
    event(observer, 'started');
    expect(codes()).toEqual([]);
  });

  it('names each worker, and the option where workers can be told', () => {
    const { observer, beat, pass, hint } = deployment({ ...OPTIONS, control: true });
    for (const name of ['w2@b', 'w1@a', 'busy@c']) {
      beat(0, name);
      beat(2, name);
    }
    pass(6);
    expect(hint('events_off')?.sentence).toBe(
      'Workers busy@c, w1@a and w2@b run tasks but send no events about them. Start them with -E or set ' +
        'worker_send_task_events = True, or let this monitor do it: enableEvents: true.',
    );
    observer.access('control', NOPERM);
    expect(hint('events_off')?.sentence).not.toContain('enableEvents');
  });

  it('does not come when a heartbeat counts what events have just told of, or will in a moment', () => {
    const { observer, beat, pass, codes } = deployment();
    beat(0);
    for (let count = 0; count < 6; count += 1) event(observer, 'started');
    beat(6);
    pass(6);
    expect(codes()).toEqual([]);
    beat(12);
    event(observer, 'started');
    beat(13);
    pass(6);
    expect(codes()).toEqual([]);
  });

  it('does not come while a worker has nothing to do, nor by what it did before', () => {
    const { beat, pass, codes } = deployment();
    beat(500);
    pass(60);
    beat(500);
    pass(60);
    expect(codes()).toEqual([]);
  });

  it('does not come when a thread pool loses the ends of tasks', () => {
    const { observer, beat, pass, codes } = deployment();
    beat(0);
    for (let count = 1; count <= 20; count += 1) event(observer, 'started');
    beat(20);
    event(observer, 'succeeded');
    for (let count = 1; count <= 20; count += 1) result(observer, { worker: 'w1@alpha', name: 'shop.pay' });
    pass(30);
    beat(20);
    expect(codes()).toEqual([]);
  });

  it('comes by results where a worker sends no heartbeats', () => {
    const { observer, pass, codes } = deployment();
    for (let count = 0; count < 3; count += 1) result(observer, { worker: 'w1@alpha', name: 'shop.pay' });
    expect(codes()).toEqual([]);
    pass(11);
    expect(codes()).toContain('events_off');
  });

  it('goes when the worker has left, has started again, or is silent for two minutes', () => {
    for (const leave of ['offline', 'online', 'silence'] as const) {
      const { observer, beat, pass, codes } = deployment();
      beat(0);
      beat(2);
      pass(6);
      expect(codes()).toEqual(['events_off']);
      if (leave === 'silence') pass(121);
      else observer.worker({ hostname: 'w1@alpha', type: leave, time: 0, processed: 0 });
      expect(codes()).toEqual([]);
    }
  });

  it('does not come by custom events alone being sent, nor by what was missed in an outage', () => {
    const { observer, beat, pass, codes } = deployment();
    beat(0);
    beat(2);
    event(observer, 'custom', { state: 'PROGRESS' });
    pass(6);
    expect(codes()).toEqual(['events_off']);
    observer.connected('broker');
    expect(codes()).toEqual([]);
    beat(90);
    pass(6);
    expect(codes()).toEqual([]);
  });
});

describe('a hint that sent events are off', () => {
  const queue = { name: 'celery', reserved: 0, consumers: null };

  it('comes for tasks received unannounced after the queues were empty, and goes when they are', () => {
    const { observer, pass, hint, codes } = deployment();
    pass(5);
    observer.queues([]);
    observer.queues([{ ...queue, waiting: 3 }]);
    for (let count = 0; count < 5; count += 1) event(observer, 'received', { name: 'shop.old' });
    observer.queues([{ ...queue, waiting: 0 }]);
    for (let count = 0; count < 5; count += 1) event(observer, 'received', { name: 'shop.pay' });
    expect(codes()).toEqual([]);
    pass(11);
    expect(hint('sent_events_off')).toMatchObject({
      component: 'collector',
      line: 'task_send_sent_event = True',
      sentence: expect.stringMatching(
        /^Workers receive tasks such as shop\.pay without .* in the configuration of/,
      ),
    });
    for (let count = 0; count < 20; count += 1) {
      event(observer, 'sent', { id: `s${count}`, worker: null });
      event(observer, 'received', { id: `s${count}` });
    }
    pass(11);
    expect(codes()).toEqual([]);
  });

  it('comes when tasks wait that cannot be listed, until a client has reported one', () => {
    const waiting = [
      { ...queue, waiting: 3 },
      { ...queue, name: 'idle', waiting: 0 },
    ];
    const listed = deployment();
    listed.observer.queues(waiting);
    listed.pass(11);
    expect(listed.codes()).toEqual([]);

    const { observer, pass, hint, codes } = deployment(OPTIONS, { listsMessages: false });
    observer.queues(waiting);
    pass(9);
    expect(codes()).toEqual([]);
    pass(2);
    expect(hint('sent_events_off')).toEqual({
      code: 'sent_events_off',
      component: 'collector',
      line: 'task_send_sent_event = True',
      sentence:
        'Tasks wait in celery, but this broker cannot list them. They are shown only if their clients ' +
        'report that they send them. Set task_send_sent_event = True in the configuration of the clients.',
    });
    observer.queues([]);
    expect(codes()).toEqual([]);
    observer.queues(waiting);
    event(observer, 'sent', { worker: null });
    observer.connected('broker');
    pass(11);
    expect(codes()).toEqual([]);
  });

  it('says once what it hides where messages cannot be listed', () => {
    const { observer, pass, hint, codes } = deployment(OPTIONS, { listsMessages: false });
    observer.queues([{ ...queue, waiting: 0 }]);
    observer.queues([{ ...queue, waiting: 3 }]);
    for (let count = 0; count < 5; count += 1) event(observer, 'received', { name: 'shop.pay' });
    pass(11);
    event(observer, 'started');
    expect(codes()).toEqual(['sent_events_off']);
    expect(hint('sent_events_off')?.sentence).toContain('and tasks that wait are not listed. Set');
  });

  it('does not come when announcements are late, nor for what may have been sent before', () => {
    const { observer, pass, codes } = deployment();
    for (let count = 0; count < 50; count += 1) event(observer, 'received');
    pass(61);
    for (let count = 0; count < 50; count += 1) {
      event(observer, 'received', { id: `late${count}` });
      event(observer, 'sent', { id: `late${count}`, worker: null });
    }
    pass(11);
    expect(codes()).toEqual([]);
  });

  it('does not come when results overtake the events of workers', () => {
    const { observer, pass, codes } = deployment();
    pass(61);
    for (let count = 0; count < 50; count += 1) {
      event(observer, 'sent', { id: `o${count}`, worker: null });
      result(observer, { id: `o${count}`, name: 'shop.pay' });
      event(observer, 'received', { id: `o${count}` });
      if (count % 20 === 0) pass(11);
    }
    pass(11);
    expect(codes()).toEqual([]);
  });

  it('comes also when many were announced that workers without events have run', () => {
    const { observer, pass, codes } = deployment();
    pass(61);
    for (let count = 0; count < 20_000; count += 1) {
      event(observer, 'sent', { id: `n${count}`, worker: null });
      result(observer, { id: `n${count}`, name: 'shop.pay' });
      if (count % 1000 === 0) pass(11);
    }
    for (let count = 0; count < 6; count += 1) event(observer, 'received');
    pass(11);
    expect(codes()).toEqual(['sent_events_off']);
  });

  it('does not come when a backlog is longer than what is remembered', () => {
    const { observer, pass, codes } = deployment();
    pass(61);
    for (let count = 0; count < 100_000; count += 1) event(observer, 'sent', { id: `b${count}` });
    for (let count = 0; count < 100_000; count += 1) event(observer, 'received', { id: `b${count}` });
    pass(11);
    expect(codes()).toEqual([]);
    for (let count = 0; count < 5000; count += 1) event(observer, 'received');
    pass(11);
    expect(codes()).toEqual(['sent_events_off']);
  });

  it('does not come, and nothing is slow, when ids are made to look alike', () => {
    const { observer, pass, codes } = deployment();
    const alike = (count: number): string => `${count}${'a'.repeat(64)}`;
    pass(61);
    for (let count = 0; count < 50_000; count += 1) event(observer, 'sent', { id: alike(count) });
    for (let count = 0; count < 1000; count += 1) event(observer, 'received', { id: alike(count) });
    pass(11);
    expect(codes()).toEqual([]);
  });
});
