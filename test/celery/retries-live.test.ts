/** Retries of a real Celery, whose attempts overlap in what its workers report. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task, TaskDetail } from '../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';

const missing = redisMissing ?? celeryMissing;
const QUICK = 60;

const DEPLOYMENTS = [
  {
    title: 'prefork, with sent events and extended results',
    pool: ['prefork', '-c', '4'],
    settings: { task_send_sent_event: true, result_extended: true, task_track_started: true },
    hasSent: true,
    losesEvents: false,
  },
  {
    title: 'prefork, without',
    pool: ['prefork', '-c', '4'],
    settings: {},
    hasSent: false,
    losesEvents: false,
  },
  // Celery itself loses events of thread pools (celery#10434): some attempts are never reported to have started.
  {
    title: 'threads, without',
    pool: ['threads', '-c', '4'],
    settings: {},
    hasSent: false,
    losesEvents: true,
  },
];

describe.skipIf(missing !== null)(titleUnless(missing, 'retries of a running Celery'), () => {
  describe.each(DEPLOYMENTS)('$title', checkDeployment);
});

function checkDeployment(deployment: (typeof DEPLOYMENTS)[number]): void {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;
  let settings: CelerySettings;

  const again = (times: number, countdown: number, seconds: number, count: number) =>
    Array.from({ length: count }, () => ({ name: 'shop.again', args: [times, countdown, seconds] }));
  const tasksIn = async (state: string): Promise<readonly Task[]> =>
    (await sources.tasks.listTasks(query({ states: [state], limit: 1000 }), context)).tasks;
  const detailOf = async (id: string): Promise<TaskDetail> => {
    const task = await sources.tasks.getTask(id, context);
    if (task === null) throw new Error(`${id} is not known`);
    return task;
  };

  beforeAll(async () => {
    redis = await startRedis();
    settings = { broker_url: redis.url(0), result_backend: redis.url(0), ...deployment.settings };
    app = celeryApp({ ...settings, worker_hijack_root_logger: false } as CelerySettings);
    sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    await app.worker('-n', 'w1@alpha', '-P', ...deployment.pool);
  }, 60_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
  }, 30_000);

  const alsoWhileTheyRun = deployment.losesEvents ? () => {} : it;
  alsoWhileTheyRun(
    'are STARTED while they run again, and RETRY with their eta while they wait',
    {
      timeout: 60_000,
    },
    async () => {
      await app.send(...again(2, 0, 5, 4), ...again(1, 60, 0, 10));
      const isRunning = ({ state, retries, started }: Task) =>
        state === 'STARTED' && retries === 2 && started !== null;
      await until(async () => (await tasksIn('STARTED')).filter(isRunning).length === 4);
      // The backend has the retry before the worker receives the next attempt, or after.
      const held = async () => (await tasksIn('RETRY')).filter(({ retries }) => retries === 1);
      const isListed = async ({ id }: Task) =>
        (await detailOf(id)).timeline?.some(({ state }) => state === 'RETRY') === true;
      await until(async () => (await held()).length === 10);
      for (const waiting of await held()) {
        await until(() => isListed(waiting));
        expect(waiting).toMatchObject({ retries: 1, started: null, finished: null, flags: [] });
        expect(waiting.eta?.getTime()).toBeGreaterThan(Date.now());
        const { timeline } = await detailOf(waiting.id);
        expect(timeline?.filter(({ state }) => state === 'RETRY')).toHaveLength(1);
      }
      await until(async () => (await tasksIn('SUCCESS')).length === 4);
    },
  );

  it('are each in the timeline once, one attempt after the other', { timeout: 60_000 }, async () => {
    const before = (await tasksIn('SUCCESS')).length;
    await app.send(...again(2, 0, 0, QUICK));
    await until(async () => (await tasksIn('SUCCESS')).length === before + QUICK, 40_000);
    const attempt = [...(deployment.hasSent ? ['PENDING'] : []), 'RECEIVED', 'STARTED'];
    const expected = [...attempt, 'RETRY', ...attempt, 'RETRY', ...attempt, 'SUCCESS'];
    async function wrong(): Promise<string[]> {
      const found: string[] = [];
      for (const { id, retries, timestamp, finished } of await tasksIn('SUCCESS')) {
        const { timeline = [] } = await detailOf(id);
        const states = timeline.map(({ state }) => state);
        const times = timeline.map((entry) => entry.timestamp?.getTime() ?? 0);
        const isComplete = deployment.losesEvents || states.length === expected.length;
        if (!isComplete || !isPartOf(states, expected)) found.push(`${id}: ${states}`);
        if (times.some((time, at) => time < (times[at - 1] ?? 0))) found.push(`${id}: ${times}`);
        if (retries !== 2 || timestamp?.getTime() !== finished?.getTime()) found.push(`${id}: ${retries}`);
      }
      return found;
    }
    // The last reports of a thread pool come up to a second late.
    await until(async () => (await wrong()).length === 0).catch(() => {});
    expect(await wrong()).toEqual([]);
  });
}

/** Whether the items are among the others, in the same order. */
function isPartOf(items: readonly string[], others: readonly string[]): boolean {
  let at = 0;
  for (const other of others) if (items[at] === other) at++;
  return at === items.length;
}
