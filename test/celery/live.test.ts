import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPosition } from '../../src/source.ts';
import { type CeleryApp, celeryApp, celeryMissing, type Submitted } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';

const missing = redisMissing ?? celeryMissing;

/** Two deployments that differ in all that decides what the traffic looks like. */
const DEPLOYMENTS = [
  {
    title: 'with a key prefix, prefork and threads',
    pool: ['threads', '-c', '4'],
    settings: { broker_transport_options: { global_keyprefix: 'shop:' } },
  },
  {
    title: 'with extended results, one channel for all events, prefork and solo',
    pool: ['solo'],
    settings: {
      result_extended: true,
      event_exchange: 'shopev',
      broker_transport_options: { fanout_patterns: false },
    },
  },
];

describe.skipIf(missing !== null)(titleUnless(missing, 'a running Celery'), () => {
  describe.each(DEPLOYMENTS)('$title', checkDeployment);
});

function checkDeployment(deployment: (typeof DEPLOYMENTS)[number]): void {
  let redis: RedisServer;
  let app: CeleryApp;
  let sources: CelerySources;
  let settings: CelerySettings;
  let submitted: Submitted[];

  beforeAll(async () => {
    redis = await startRedis();
    settings = {
      broker_url: redis.url(1),
      result_backend: redis.url(2),
      ...deployment.settings,
      task_send_sent_event: true,
      task_track_started: true,
      worker_hijack_root_logger: false,
    };
    app = celeryApp(settings);
    // The configuration of the app is all that is needed.
    sources = celerySources({ settings });
    await until(() => sources.tasks.status?.().ok === true);
    await Promise.all([
      app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery,slow'),
      app.worker('-n', 'w2@beta', '-Q', 'heavy', '-P', ...deployment.pool),
    ]);
    submitted = await app.submit();
    // The last reports may still be on their way.
    await until(async () => (await wrong()).length === 0).catch(() => {});
  }, 180_000);

  afterAll(async () => {
    await sources?.close();
    await app?.close();
    await redis?.close();
  }, 30_000);

  /** Every task, by walking the pages. */
  async function allTasks(): Promise<Task[]> {
    const tasks: Task[] = [];
    let after: TaskPosition | null = null;
    do {
      const page = await sources.tasks.listTasks(query({ after }), context);
      tasks.push(...page.tasks);
      after = page.next;
    } while (after !== null);
    return tasks;
  }

  /** Tasks that are not shown as their client knows them. */
  async function wrong(): Promise<string[]> {
    const tasks = await allTasks();
    const seen = new Map(tasks.map((task) => [task.id, task]));
    if (seen.size !== tasks.length) return ['a task is listed twice'];
    return submitted.flatMap(({ id, state, client, ...submission }) => {
      const task = seen.get(id);
      const { name } = submission;
      // Without extended results, only a message that was seen while it waited names a task that never ran.
      const mayLackName = submission.never_ran === true && deployment.settings.result_extended !== true;
      const isNamed = task?.name === name || (mayLackName && (task?.name ?? null) === null);
      if (task?.state === state && isNamed) return [];
      return [`${id} is ${task?.name} ${task?.state}, should be ${name} ${state} (client: ${client})`];
    });
  }

  it('shows each of 500 tasks once, in its true final state', { timeout: 60_000 }, async () => {
    expect(submitted).toHaveLength(500);
    const ids = submitted.map(({ id }) => id);
    expect(new Set(ids).size).toBe(500);
    expect(await wrong()).toEqual([]);
    expect((await allTasks()).map(({ id }) => id).sort()).toEqual(ids.sort());
    const neverRan = submitted.filter((task) => task.never_ran === true).map(({ id }) => id);
    const isConsequence = ({ flags }: Task): boolean => flags?.includes('consequence') === true;
    const consequences = (await allTasks()).filter(isConsequence).map(({ id }) => id);
    expect(consequences.filter((id) => !neverRan.includes(id))).toEqual([]);
    // An extended result shows that no worker has run it; without, it follows only from what was heard.
    if (deployment.settings.result_extended === true) expect(consequences.sort()).toEqual(neverRan.sort());
    // The client's view differs only where the backend is told nothing, or REJECTED has no word there.
    const unknown = submitted.filter(({ state, client, name }) => state !== client && name !== 'shop.silent');
    expect(new Set(unknown.map(({ name }) => name))).toEqual(new Set(['shop.rejected']));
  });

  it('shows how far its tasks have come, by their custom states and events', async () => {
    const tasks = await allTasks();
    const named = (name: string) =>
      tasks.filter((task) => task.name === name).map(({ progress }) => progress);
    const nothing = { current: null, total: null, percent: null, text: null };
    expect(named('shop.progress')).toEqual(Array(15).fill({ ...nothing, current: 2 }));
    expect(named('shop.telling')).toEqual(Array(10).fill({ ...nothing, percent: 50 }));
    expect(new Set(named('shop.add'))).toEqual(new Set([null]));
  });

  it('shows its workers, its parents, and nothing that could not be read', async () => {
    const workers = await sources.workers.listWorkers(context);
    expect(
      workers.map(({ hostname, status, software }) => [hostname, status, software?.split(' ')[0]]),
    ).toEqual([
      ['w1@alpha', 'online', 'py-celery'],
      ['w2@beta', 'online', 'py-celery'],
    ]);
    const seen = new Map((await allTasks()).map((task) => [task.id, task]));
    const links = submitted.filter(({ parent }) => parent !== undefined);
    expect(links.map(({ id }) => seen.get(id)?.parentId ?? null)).toEqual(links.map(({ parent }) => parent));
    expect([...seen.values()].some((task) => task.parentId === task.id)).toBe(false);
    expect((await sources.history.getHistoryStats(context)).dropped).toBe(0);
  });
}
