import { beforeEach, describe, expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import {
  type ArrayDeployment,
  holdTime,
  metaOf,
  openArrayDeployment,
  pass,
  waitingMessage,
} from './array-deployment.ts';

const START = Date.UTC(2026, 10, 21, 2);
const WORKER = { hostname: 'w1@a', pid: 1 };
const ENDED = { date_done: new Date(START).toISOString() };
/** A reply that names this task. */
const HOLDS = [{ id: 'a', name: 'mail.send', args: [], kwargs: {}, time_start: START / 1000 }];

describe('a task of which nothing more is heard', () => {
  let deployment: ArrayDeployment;
  let workers: Record<string, Record<string, unknown>>;
  let isBehind: boolean;

  beforeEach(() => {
    holdTime(START);
    isBehind = false;
    workers = { 'w1@a': { active: [], reserved: [], scheduled: [] } };
    deployment = openArrayDeployment({
      workers,
      broker: (broker) => ({ ...broker, events: { ...broker.events, isBehind: () => isBehind } }),
    });
    hear('worker-heartbeat', { freq: 600, active: 0, processed: 0, sw_ident: 'py-celery' });
  });

  function hear(type: string, fields: object = {}): void {
    deployment.hear({ type, uuid: 'a', timestamp: Date.now() / 1000, ...WORKER, ...fields });
  }
  const flags = async () => (await deployment.task('a'))?.flags ?? [];
  const open = async () => (await deployment.sources.experimental.getActivity(context)).open;
  /** How often the workers were asked what they run. */
  const asked = (): number => deployment.broker.asked.filter((command) => command === 'active').length;
  const queue = (): void => void deployment.waiting.push({ queue: 'celery', raw: waitingMessage('a') });

  describe('since it was sent', () => {
    const send = (): void => hear('task-sent', { name: 'mail.send', queue: 'celery', hostname: 'gen1@vm' });

    it('is flagged when it is in no queue, on no worker and without a result for half a minute', async () => {
      send();
      await pass(25_000);
      expect(await flags()).toEqual([]);
      await pass(20_000);
      expect(await flags()).toEqual(['never_received']);
      hear('task-received', { name: 'mail.send' });
      expect(await flags()).toEqual([]);
    });

    it.each<[string, () => void]>([
      ['waits in a queue', queue],
      ['is on a worker', () => Object.assign(workers['w1@a'] ?? {}, { active: HOLDS })],
      ['may be on a worker that did not answer', () => delete workers['w1@a']],
      ['has a result', () => deployment.stored.push({ id: 'a', text: RESULT, isCut: false })],
    ])('is not flagged when it %s', async (_, arrange) => {
      send();
      arrange();
      await pass(120_000);
      expect(await flags()).not.toContain('never_received');
    });

    it('is REVOKED, and not flagged, when it expired in a queue that drops what has expired', async () => {
      const expires = new Date(START + 20_000).toISOString();
      hear('task-succeeded', { uuid: 'other', result: '1' });
      hear('task-sent', { name: 'mail.send', queue: 'celery', hostname: 'gen1@vm', expires });
      await pass(45_000);
      expect(await deployment.task('a')).toMatchObject({
        ...{ state: 'REVOKED', finished: new Date(expires), flags: [] },
        timeline: [{ state: 'PENDING' }, { state: 'REVOKED', detail: 'expired' }],
      });
      expect((await open()).missing).toBeNull();
    });

    it('is REVOKED when it has expired and its broker lists no messages, but not called lost before', async () => {
      const blank = { queues: [], messages: [], isComplete: false, newest: [], ok: true, problem: null };
      deployment = openArrayDeployment({
        workers,
        broker: (broker) => ({
          ...broker,
          queues: { listsMessages: false, read: async () => ({ ...blank, revision: 1 }) },
        }),
      });
      hear('worker-heartbeat', { freq: 600, active: 0, processed: 0, sw_ident: 'py-celery' });
      hear('task-succeeded', { uuid: 'other', result: '1' });
      const expires = new Date(START + 120_000).toISOString();
      hear('task-sent', { name: 'mail.send', queue: 'celery', hostname: 'gen1@vm', expires });
      await pass(90_000);
      expect(await deployment.task('a')).toMatchObject({ state: 'PENDING', flags: [] });
      await pass(60_000);
      expect(await deployment.task('a')).toMatchObject({ state: 'REVOKED', finished: new Date(expires) });
    });

    it.each<[string, () => void]>([
      ['its worker may send no events', () => {}],
      [
        'events may have been missed since',
        () => {
          hear('task-succeeded', { uuid: 'other', result: '1' });
          deployment.broker.reconnect();
        },
      ],
    ])('stays PENDING when it has expired and %s: a worker may have run it', async (_, happens) => {
      const expires = new Date(START + 20_000).toISOString();
      hear('task-sent', { name: 'mail.send', queue: 'celery', hostname: 'gen1@vm', expires });
      await pass(1_000);
      happens();
      await pass(45_000);
      expect(await deployment.task('a')).toMatchObject({ state: 'PENDING', flags: [] });
      expect((await open()).missing).toBeNull();
    });

    it('is reported for an hour after it was found to be missing', async () => {
      send();
      queue();
      await pass(90 * 60_000);
      deployment.waiting.splice(0);
      await pass(3 * 60_000);
      expect((await open()).missing).toMatchObject({ count: 1 });
      await pass(60 * 60_000);
      expect(await flags()).toEqual(['never_received']);
      expect((await open()).missing).toBeNull();
    });

    it('makes workers be asked no more often than it is looked for', async () => {
      hear('task-succeeded', { uuid: 'other', result: '1' });
      send();
      await pass(180_000);
      expect(asked()).toBeLessThanOrEqual(4);
      const before = asked();
      deployment.broker.reconnect();
      await pass(10_000);
      expect(asked()).toBe(before + 1);
    });
  });

  describe('since a worker has taken it', () => {
    it.each<[string, () => void]>([
      ['started', () => hear('task-started')],
      ['is in a state of its own', () => hear('task-progress')],
      ['was received', () => hear('task-received')],
      [
        'is known to have started from a result',
        () => {
          const result = { pid: 1, hostname: 'w1@a' };
          deployment.publish('a', { status: 'STARTED', result, date_done: null });
        },
      ],
    ])('and %s, has ended unseen when two replies of its worker do not have it', async (_, arrange) => {
      arrange();
      await pass(19_000);
      expect(await flags()).toEqual([]);
      await pass(25_000);
      expect(await flags()).toEqual(['end_unseen']);
      expect((await open()).running).toEqual([]);
    });

    it('counts as running until then, and is lost no more when its worker goes', async () => {
      hear('task-started');
      expect((await open()).running).toHaveLength(1);
      await pass(45_000);
      hear('worker-offline');
      expect(await flags()).toEqual(['end_unseen']);
      expect((await open()).lost).toEqual([]);
    });

    it.each<[string, () => void]>([
      ['its result comes', () => deployment.publish('a', ENDED)],
      ['it starts again', () => hear('task-started')],
      ['its message is found in a queue', queue],
    ])('no longer has the flag once %s', async (_, arrange) => {
      hear('task-started');
      await pass(45_000);
      expect(await flags()).toEqual(['end_unseen']);
      arrange();
      await pass(6_000);
      expect(await flags()).toEqual([]);
    });

    it.each<[string, () => void]>([
      ['is in the reply', () => Object.assign(workers['w1@a'] ?? {}, { active: HOLDS })],
      ['is on a worker that did not answer', () => delete workers['w1@a']],
      ['waits in a queue again', queue],
      ['may have an end among the events that wait', () => (isBehind = true)],
      ['has a stored result', () => deployment.stored.push({ id: 'a', text: RESULT, isCut: false })],
    ])('is not flagged when it %s', async (_, arrange) => {
      hear('task-started');
      arrange();
      await pass(180_000);
      expect(await flags()).toEqual([]);
    });

    it('keeps the flag when what was stored before is read again', async () => {
      const result = { pid: 1, hostname: 'w1@a' };
      const text = metaOf('a', { status: 'STARTED', result, date_done: null });
      deployment.stored.push({ id: 'a', text, isCut: false });
      deployment.broker.reconnect();
      await pass(45_000);
      expect(await flags()).toEqual(['end_unseen']);
      deployment.broker.reconnect();
      await pass(5_000);
      expect(await flags()).toEqual(['end_unseen']);
    });

    it('is not flagged when a message came between the replies', async () => {
      hear('task-started');
      await pass(22_000);
      hear('task-started');
      await pass(12_000);
      expect(await flags()).toEqual([]);
    });

    it('stays lost when another process of its worker does not have it, unless it has a result', async () => {
      hear('task-started');
      hear('task-started', { uuid: 'b' });
      await pass(5_000);
      hear('worker-online', { pid: 2, freq: 600, processed: 0, active: 0 });
      await pass(60_000);
      expect(await flags()).toEqual(['worker_lost']);
      expect((await open()).lost).toMatchObject([{ worker: 'w1@a', count: 2, isWorkerOnline: true }]);
      const before = asked();
      deployment.stored.push({ id: 'a', text: RESULT, isCut: false });
      await pass(600_000);
      expect((await open()).lost).toMatchObject([{ count: 1, examples: ['b'] }]);
      expect(asked() - before).toBeLessThan(8);
    });

    it('makes its worker be asked less and less often while it runs', async () => {
      Object.assign(workers['w1@a'] ?? {}, { active: HOLDS });
      hear('task-started');
      await pass(600_000);
      expect(asked()).toBeLessThan(8);
    });
  });

  describe('since it waits for a retry', () => {
    beforeEach(async () => {
      hear('task-received', { name: 'mail.send', retries: 0 });
      hear('task-started');
      await pass(1);
      hear('task-retried', { exception: "OSError('x')" });
      hear('task-sent', { name: 'mail.send', retries: 1, eta: new Date(Date.now() + 5_000).toISOString() });
    });

    it('has ended unseen when its message is in no queue and no worker has it, twice', async () => {
      expect((await deployment.task('a'))?.state).toBe('RETRY');
      await pass(4_000);
      expect(await flags()).toEqual([]);
      await pass(40_000);
      expect(await flags()).toEqual(['end_unseen']);
      expect([(await open()).running, (await open()).overdue]).toEqual([[], null]);
      deployment.publish('a', ENDED);
      expect(await flags()).toEqual([]);
    });

    it.each<[string, () => void]>([
      ['its message waits, or is held for its eta', queue],
      ['a worker did not answer', () => delete workers['w1@a']],
      ['a worker runs it', () => Object.assign(workers['w1@a'] ?? {}, { active: HOLDS })],
      [
        'its next attempt is heard of',
        () => setTimeout(() => hear('task-received', { name: 'mail.send', retries: 1 }), 30_000),
      ],
    ])('is not flagged when %s', async (_, arrange) => {
      arrange();
      await pass(43_000);
      expect(await flags()).not.toContain('end_unseen');
    });
  });
});

describe('a task that was sent is not flagged where its end would not be known', () => {
  it.each([
    ['no worker sends events', false],
    ['a worker sends none', true],
  ])('%s, and no results can be read', async (_, hasOther) => {
    holdTime(START);
    const { hear, task } = openArrayDeployment({
      workers: { 'w1@a': { active: [], reserved: [], scheduled: [] } },
      foreignBackend: 'rpc',
      hasBackend: false,
    });
    const common = { ...WORKER, timestamp: START / 1000, name: 'mail.send', retries: 0 };
    const beat = { ...common, type: 'worker-heartbeat', freq: 600, active: 0 };
    if (hasOther) hear({ ...common, type: 'task-received', uuid: 'other', hostname: 'w2@a' });
    hear({ ...beat, processed: 0 });
    hear({ ...common, type: 'task-sent', uuid: 'a', queue: 'celery', hostname: 'gen1@vm' });
    await pass(10_000);
    hear({ ...beat, processed: 3, timestamp: START / 1000 + 10 });
    await pass(110_000);
    expect((await task('a'))?.flags).toEqual([]);
  });
});

describe('a task of which nothing more is heard is never flagged where', () => {
  it.each<[string, { queues?: null; control?: null }]>([
    ['queues cannot be read', { queues: null }],
    ['workers cannot be asked', { control: null }],
  ])('%s', async (_, less) => {
    holdTime(START);
    const { hear, task } = openArrayDeployment({
      workers: { 'w1@a': { active: [], reserved: [], scheduled: [] } },
      broker: (broker) => ({ ...broker, ...less }),
    });
    const common = { ...WORKER, timestamp: START / 1000, name: 'mail.send', retries: 0 };
    const retry = { ...common, uuid: 'retried' };
    hear(
      { ...common, type: 'worker-heartbeat', freq: 600 },
      { ...common, type: 'task-sent', uuid: 'sent', queue: 'celery', hostname: 'gen1@vm' },
      { ...common, type: 'task-received', uuid: 'received' },
      { ...retry, type: 'task-received' },
      { ...retry, type: 'task-retried', exception: 'E()', timestamp: START / 1000 + 1 },
    );
    await pass(120_000);
    for (const id of ['sent', 'received', 'retried']) {
      const flags = (await task(id))?.flags ?? [];
      expect(flags.filter((flag) => flag === 'never_received' || flag === 'end_unseen')).toEqual([]);
    }
  });
});

const RESULT = `{"status": "SUCCESS", "result": 1, "task_id": "a", "date_done": "${ENDED.date_done}"}`;
