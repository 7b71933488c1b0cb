import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { createStoredHistory } from '../../src/history/stored/create-stored-history.ts';
import type { WorkersBody } from '../../src/wire.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { serve } from '../router/host-kit.ts';
import { holdTime, pass } from './array-deployment.ts';
import { type Instance, openInstance as openOne } from './leader-lab.ts';
import { messageOf } from './queues-lab.ts';
import { createSharedHistories, type SharedHistories } from './shared-history.ts';

const context = { signal: new AbortController().signal, ping: false };

const opened: Instance[] = [];

function openInstance(...[shared, collects = true, waiting]: Partial<Parameters<typeof openOne>>): Instance {
  const instance = openOne(shared as SharedHistories, collects, waiting);
  opened.push(instance);
  return instance;
}

function leaderOf(all: readonly Instance[]): Instance | undefined {
  return all.find(({ connections }) => connections.open > 0);
}

async function everyRead(instance: Instance): Promise<Record<string, unknown>> {
  const answers = Object.entries(READS).map(async ([what, read]) => [what, await read(instance)]);
  return Object.fromEntries(await Promise.all(answers)) as Record<string, unknown>;
}

/** Once nothing is read any more that reading itself has caused. */
async function settledReads(instance: Instance): Promise<Record<string, unknown>> {
  let last = await everyRead(instance);
  await until(async () => {
    const before = JSON.stringify(last);
    last = await everyRead(instance);
    return JSON.stringify(last) === before;
  });
  return last;
}

async function leads(instance: Instance): Promise<boolean> {
  const { config } = await componentOf(instance.sources, 'collector');
  return config.leads === true;
}

async function hasReports({ sources }: Instance): Promise<boolean> {
  const list = await sources.tasks.listTasks(queryOf({ limit: 10 }), context);
  const workers = await sources.health.checkWorkers?.(context);
  return list.tasks.length === 5 && workers?.ok === true && sources.tasks.status?.().ok === true;
}

describe('of instances with one store', () => {
  const shared = createSharedHistories();
  const instances: Instance[] = [];

  beforeAll(async () => {
    instances.push(openInstance(shared), openInstance(shared), openInstance(shared, false));
    for (const instance of instances) await until(() => hasReports(instance));
  });

  afterAll(async () => {
    await Promise.all(opened.splice(0).map(({ sources }) => sources.close()));
  });

  const leader = (): Instance => leaderOf(instances) as Instance;
  const others = (): Instance[] => instances.filter((instance) => instance !== leader());

  it('only one instance connects, and all answer alike', async () => {
    expect(await leads(leader())).toBe(true);
    for (const other of others()) {
      expect(other.connections.made).toBe(0);
      expect(await leads(other)).toBe(false);
      await expect.poll(() => everyRead(other), { timeout: 45_000 }).toEqual(await settledReads(leader()));
    }
  });

  it('each instance lists what runs, and those that do not collect know it from the leader', async () => {
    for (const { sources } of instances) {
      // The router would close them with the test.
      const { close: _, ...parts } = sources;
      const host = await serve(EXPRESS, { sources: parts });
      const { body } = await host.get<WorkersBody>('/api/workers/?running=5');
      const [worker] = body.workers;
      expect(worker).toMatchObject({ hostname: 'w1@arrays', running_total: 1, stuck: false });
      expect(worker?.running).toMatchObject([{ task_id: 'runs', name: 'yard.add', stuck: false }]);
      expect(Date.parse(worker?.running?.[0]?.started ?? '')).toBeLessThanOrEqual(Date.now());
      expect(JSON.stringify(body)).not.toContain('hunter2');
      expect(body.unassigned).toEqual([]);
    }
  });

  it('no report has secrets', () => {
    const { texts } = (others()[0] as Instance).history;
    for (const kind of ['status', 'queues', 'waiting', 'schedules', 'components', 'health']) {
      expect(texts.read(`celery-${kind}`)).toEqual(expect.any(String));
      expect(texts.read(`celery-${kind}`)).not.toContain('hunter2');
    }
  });

  it('a leader goes on while the store cannot be reached, and one remains afterwards', async () => {
    const { connections } = leader();
    const { made } = connections;
    onTestFinished(() => shared.reach(true));
    shared.reach(false);
    await until(shared.isLeaseOver);
    expect(connections).toEqual({ made, open: 1 });
    shared.reach(true);
    // Whoever asks first has the lease then.
    await until(
      () =>
        leaderOf(instances) !== undefined &&
        instances.every(({ history, connections: { open } }) => history.status().isHolder === (open === 1)),
    );
  });

  it('a leader that loses its broker gives up, and one that reaches it takes over', async () => {
    const first = leader();
    first.reach.isUp = false;
    await until(() => instances.some((one) => one !== first && one.connections.open > 0));
    expect(first.connections.open).toBe(0);
    expect(await leads(leader())).toBe(true);
    for (const instance of instances) await until(() => hasReports(instance));
    const since = { cursor: 'of the leader before' };
    const query = { limit: 10, since, states: [], workers: [], tasks: [] };
    for (const { sources } of instances) {
      expect(await sources.events.listEvents(query, context)).toMatchObject({ gap: true });
    }
  });

  it('nothing is shown as current while nobody reaches the broker, and all is again once somebody does', async () => {
    for (const one of instances) one.reach.isUp = false;
    const other = instances[2] as Instance;
    await until(() => other.sources.tasks.status?.().ok === false);
    expect(other.sources.tasks.status?.()).toMatchObject({
      error: 'source_unavailable',
      asOf: expect.any(Date),
      reason: expect.stringMatching(/./),
    });
    await until(async () => (await other.sources.health.checkWorkers?.(context))?.ok === false);
    for (const one of instances) one.reach.isUp = true;
    for (const one of instances) await until(() => hasReports(one));
  });

  it('one that only answers needs no broker', async () => {
    const sources = celerySources({ name: 'yard', store: createArrayStore(), collect: false });
    expect(sources.tasks).toMatchObject({ name: 'yard', engine: 'celery' });
    expect(sources.tasks.status?.()).toMatchObject({ ok: false, asOf: null });
    await sources.close();
  });

  it('one that only answers says that nobody has collected yet', async () => {
    const { sources, connections } = openInstance(createSharedHistories(), false);
    expect(sources.tasks.status?.()).toMatchObject({
      ok: false,
      asOf: null,
      reason: 'No instance that collects has reported anything yet.',
    });
    expect(await sources.health.checkBroker?.(context)).toEqual({
      ok: null,
      error: 'No instance that collects has reported anything yet.',
    });
    expect(await componentOf(sources, 'collector')).toMatchObject({ config: { leads: false, leader: null } });
    expect(connections.made).toBe(0);
  });
});

describe('servers that only the leader reaches', () => {
  /** An instance that leads and one that follows, by the clock of the test. */
  async function lab() {
    holdTime(Date.parse('2026-11-21T03:00:00Z'));
    const shared = createSharedHistories();
    const [leader, follower] = [openInstance(shared), openInstance(shared, false)];
    onTestFinished(async () => {
      shared.reach(true);
      // It waits for time to pass.
      const closed = Promise.all([leader, follower].map(({ sources }) => sources.close()));
      await pass(10_000);
      await closed;
    });
    await pass(10_000);
    return { shared, leader, follower };
  }

  it('are asked by it a few times a minute, however many follow', async () => {
    const { leader, follower } = await lab();
    expect(await follower.sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
    const asked = (): number => leader.cost.asked.flat().filter((command) => command === 'stats').length;
    const before = { checks: leader.cost.checks, asked: asked() };
    await pass(60_000);
    // Four for the hint about a broker that accepts no writes, and four for those that follow.
    expect(leader.cost.checks - before.checks).toBeLessThanOrEqual(8);
    expect(asked() - before.asked).toBe(1);
    expect(follower.cost).toEqual({ checks: 0, asked: [] });
  });

  it('are not called down by the others when only the store cannot be reached', async () => {
    const { shared, follower } = await lab();
    shared.reach(false);
    await pass(8_000);
    const silent = { ok: null, error: expect.stringContaining('has reported anything for') };
    expect(await follower.sources.health.checkBroker?.(context)).toEqual(silent);
    expect(await follower.sources.health.checkBackend?.(context)).toEqual(silent);
    // Workers are known by what they send, and that is not known now.
    expect(await follower.sources.health.checkWorkers?.(context)).toMatchObject({ ok: false });
    expect(follower.sources.tasks.status?.()).toMatchObject({ ok: false, error: 'source_unavailable' });
  });

  it('are told to be down soon after they are', async () => {
    const { leader, follower } = await lab();
    leader.reach.isUp = false;
    await pass(3_000);
    expect(await follower.sources.health.checkBroker?.(context)).toEqual({
      ok: false,
      error: 'Nothing listens at the address of the broker.',
    });
  });
});

describe('what the leader reports', () => {
  /** Texts that no instance of this version writes. */
  const foreign = [
    ...[
      '',
      'null',
      '[]',
      '{"version":2',
      '{"version":2}',
      '{"version":2,"value":7}',
      '{"version":3,"value":[]}',
    ],
    ...['{"version":1,"value":[7]}', '{"version":1,"value":{"at":"now","tasks":[]}}'],
  ];

  it.each(foreign)('is not read where this version has not written it: %s', async (text) => {
    const store = createArrayStore();
    const { texts } = store.rows('celery');
    for (const kind of ['status', 'queues', 'waiting', 'schedules', 'components', 'health'])
      texts.set(`celery-${kind}`, { text, revision: 1 });
    const sources = celerySources({ store, collect: false });
    onTestFinished(() => sources.close());
    const reason = 'No instance that collects has reported anything yet.';
    await until(() => store.calls.includes('snapshots.read'));
    expect(sources.tasks.status?.()).toMatchObject({ ok: false, reason });
    expect((await sources.tasks.listTasks(queryOf(), context)).tasks).toEqual([]);
  });

  it('has the first of many waiting tasks, with the beginning of long texts', async () => {
    const shared = createSharedHistories();
    const long = messageOf('long', { args: 'x'.repeat(5_000) });
    const many = Array.from({ length: 1_500 }, (_, at) => messageOf(`task-${at}`));
    const waiting = [long, ...many].map((raw) => ({ queue: 'later', raw }));
    const [leading, other] = [openInstance(shared, true, waiting), openInstance(shared, false)];
    onTestFinished(() => Promise.all([leading, other].map(({ sources }) => sources.close())).then(() => {}));
    const listed = async () =>
      (await other.sources.tasks.listTasks(queryOf({ limit: 2_000 }), context)).tasks;
    await until(async () => (await listed()).length > 900);
    expect((await listed()).filter(({ state }) => state === 'PENDING').length).toBeLessThanOrEqual(1_000);
    const shown = await other.sources.tasks.getTask('long', context);
    expect([String(shown?.args).length, shown?.truncated]).toEqual([2_048, ['args']]);
  });
});

describe('the lease of whoever collects', () => {
  it('is taken over within five seconds by another instance, if its holder says nothing more', async () => {
    holdTime(Date.parse('2026-11-21T03:00:00Z'));
    const store = createArrayStore();
    const open = () => {
      const options = { store, source: 'celery', deployment: null, hearing: 'nothing' } as const;
      const history = createStoredHistory({ redactor: null }, { ...options, isReadOnly: false });
      onTestFinished(() => history.close());
      return history;
    };
    const [first, second] = [open(), open()];
    await pass(5_000);
    const holders = () => [first, second].filter((one) => one.status().isHolder === true);
    expect(holders()).toHaveLength(1);
    const [dead] = holders();
    const holder = store.rows('celery').lease?.holder;
    store.refuses = (asking) => asking === holder;
    await pass(5_000);
    expect(holders()).toHaveLength(1);
    expect(holders()).not.toEqual([dead]);
    expect(store.rows('celery').lease?.holder).not.toBe(holder);
  });
});

/** What every instance answers alike. */
const READS: Readonly<Record<string, (instance: Instance) => unknown>> = {
  tasks: async ({ sources }) =>
    (await sources.tasks.listTasks(queryOf({ limit: 10 }), context)).tasks.map(plain),
  total: async ({ sources }) => (await sources.tasks.listTasks(queryOf({ limit: 10 }), context)).total,
  waiting: async ({ sources }) => plain(await sources.tasks.getTask('second', context)),
  tree: async ({ sources }) => plain(await sources.tasks.getTaskTree('second', context)),
  worker: async ({ sources }) => sources.workers.listWorkers(context),
  queues: async ({ sources }) => (await sources.queues.listQueues(context)).map(({ asOf: _, ...row }) => row),
  schedules: async ({ sources }) => sources.schedules.listSchedules(context),
  broker: async ({ sources }) => sources.health.checkBroker?.(context),
  backend: async ({ sources }) => sources.health.checkBackend?.(context),
  checked: async ({ sources }) => sources.health.checkWorkers?.(context),
  components: async ({ sources }) =>
    (await sources.components.listComponents(context)).filter(
      // These two say who leads.
      ({ key }) => key !== 'collector' && key !== 'history.store',
    ),
  open: async ({ sources }) => (await sources.experimental.getActivity(context)).open.waiting,
  blind: async ({ sources }) => (await sources.experimental.getActivity(context)).blind,
};

/** Getters become fields. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('an instance with collect: false', () => {
  it.skipIf(redisMissing)(titleUnless(redisMissing, 'answers beside one with the default'), async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const store = createArrayStore();
    const collecting = celerySources({ broker: redis.url(0), store });
    const answering = celerySources({ store, collect: false });
    onTestFinished(() => Promise.all([collecting.close(), answering.close()]).then(() => {}));
    await until(() => collecting.tasks.status?.().ok === true && store.rows('celery').lease !== null);
    await expect.poll(() => answering.tasks.status?.().ok, { timeout: 30_000 }).toBe(true);
  });
});
