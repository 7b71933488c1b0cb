import { expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import type { QueueReader, QueueReading } from '../../src/sources/celery/broker.ts';
import { context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { holdTime, openArrayDeployment, pass } from './array-deployment.ts';
import { createArrayMailbox } from './array-mailbox.ts';
import { messageOf, waiting } from './queues-lab.ts';

const NOW = Date.UTC(2026, 10, 24, 12);

it('records how much waits in each queue with every reading, and since when the oldest due task waits', async () => {
  holdTime(NOW);
  const deployment = openArrayDeployment();
  const sent = { type: 'task-sent', hostname: 'c@h', uuid: 'a', name: 'yard.add', queue: 'busy' };
  const eta = new Date(NOW + 3_600_000).toISOString();
  deployment.hear({ ...sent, timestamp: NOW / 1_000 - 60 });
  deployment.waiting.push(
    { queue: 'later', raw: waiting('z', { eta }) },
    { queue: 'busy', raw: messageOf('a') },
    { queue: 'busy', raw: messageOf('b') },
    { queue: 'new', raw: messageOf('c') },
  );
  await pass(60_000);
  const window = { minutes: 3, now: new Date(NOW + 60_000), stepSeconds: 60, filter: queryOf() };
  const { queueDepths = [] } = (await deployment.sources.tasks.getTaskStats?.(window, context)) ?? {};
  const most = (values: readonly (number | null)[]): number =>
    Math.max(...values.map((value) => value ?? -1));
  const found = queueDepths.map(({ queue, waiting, oldestSeconds, oldestAtLeast = false }) => {
    return { queue, waiting: most(waiting), oldest: most(oldestSeconds), oldestAtLeast };
  });
  expect(found).toEqual([
    { queue: 'busy', waiting: 2, oldest: expect.closeTo(118, -1), oldestAtLeast: false },
    { queue: 'later', waiting: 1, oldest: -1, oldestAtLeast: false },
    // Nobody told when it was sent.
    { queue: 'new', waiting: 1, oldest: expect.closeTo(58, -1), oldestAtLeast: true },
  ]);
});

it('redacts a waiting message when it is first shown, and only once', async () => {
  const redactor = createRedactor();
  const deployment = openArrayDeployment({ redactor });
  const kwargsrepr = "{'password': 'hunter2'}";
  deployment.waiting.push({ queue: 'q', raw: waiting('a', { kwargsrepr, stamps: { token: 'hunter2' } }) });
  await until(async () => (await deployment.task('a')) !== null);
  const before = redactor.work.texts;
  for (let reader = 0; reader < 3; reader += 1) {
    const { tasks } = await deployment.sources.tasks.listTasks(queryOf(), context);
    expect(tasks).toMatchObject([{ id: 'a', kwargs: "{'password': '***'}", redacted: true }]);
    expect(JSON.stringify([tasks, await deployment.task('a')])).not.toContain('hunter2');
  }
  expect(redactor.work.texts).toBe(before);
  const open = openArrayDeployment();
  open.waiting.push({ queue: 'q', raw: waiting('a', { kwargsrepr }) });
  await until(async () => (await open.task('a'))?.kwargs === kwargsrepr);
});

const READING: QueueReading = {
  queues: [{ name: 'mail', waiting: 1, reserved: null, consumers: 0 }],
  messages: [],
  isComplete: false,
  ok: true,
  problem: null,
  revision: 1,
};

it('looks for queues that workers consume and clients report, where messages cannot be listed', async () => {
  const asked: (readonly string[])[] = [];
  const queues: QueueReader = {
    listsMessages: false,
    async read(known) {
      asked.push(known);
      return READING;
    },
  };
  const control = createArrayMailbox({
    'w1@x': ({ method }) => ({ value: method === 'active_queues' ? [{ name: 'worked' }] : {} }),
  });
  const { sources, hear } = openArrayDeployment({ broker: (made) => ({ ...made, control, queues }) });
  const timestamp = Date.now() / 1_000;
  for (const uuid of ['a', 'b']) {
    hear({ type: 'task-sent', hostname: 'c@h', uuid, name: 'shop.pay', queue: 'mail', timestamp });
  }
  await until(() => asked.at(-1)?.toSorted().join() === 'mail,worked');
  expect(await sources.queues.listQueues(context)).toMatchObject(READING.queues);
  const { tasks } = await sources.tasks.listTasks(queryOf(), context);
  expect(tasks.map(({ id, state }) => [id, state])).toEqual([
    ['a', 'PENDING'],
    ['b', 'PENDING'],
  ]);
});

it('tells which entry of a schedule sent a waiting task, by its property or header', async () => {
  holdTime(NOW);
  const entry = { task: 'yard.add', schedule: 86_400 };
  const settings = { beat_schedule: { nightly: entry, hourly: entry, never: entry } };
  const deployment = openArrayDeployment({ settings });
  const { properties, ...rest } = JSON.parse(messageOf('a'));
  const named = JSON.stringify({ ...rest, properties: { ...properties, periodic_task_name: 'nightly' } });
  deployment.waiting.push(
    { queue: 'q', raw: named },
    { queue: 'q', raw: waiting('b', { periodic_task_name: 'hourly' }) },
    { queue: 'q', raw: waiting('c', { periodic_task_name: 7 }) },
  );
  await pass(2_000);
  const received = { type: 'task-received', hostname: 'w@h', name: 'yard.add', timestamp: NOW / 1_000 };
  deployment.hear(...['a', 'b', 'c'].map((uuid) => ({ ...received, uuid })));
  await pass(12_000);
  const schedules = (await deployment.schedules()) ?? [];
  const runs = schedules.map(({ name, lastRuns }) => [name, lastRuns?.map(({ taskId }) => taskId) ?? []]);
  expect(runs).toEqual([
    ['hourly', ['b']],
    ['never', []],
    ['nightly', ['a']],
  ]);
});
