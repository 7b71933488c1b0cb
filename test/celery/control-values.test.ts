import { expect, it } from 'vitest';
import { context } from '../helpers/celery-events.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import {
  type ArrayDeployment,
  type ArrayDeploymentOptions,
  holdTime,
  openArrayDeployment,
  pass,
} from './array-deployment.ts';
import { type ArrayReply, type ArrayRequest, createArrayMailbox } from './array-mailbox.ts';

type Answers = Readonly<Record<string, unknown>>;

/** Workers that reply with these values, by name and command. What is not listed is an empty object. */
function openWorkers(
  workers: Readonly<Record<string, Answers>>,
  raw: Readonly<Record<string, ArrayReply>> = {},
  options: ArrayDeploymentOptions = {},
) {
  const play = (name: string, { method }: ArrayRequest): ArrayReply =>
    raw[method] ?? { value: method in (workers[name] ?? {}) ? workers[name]?.[method] : {} };
  const names = Object.keys(workers);
  const mailbox = createArrayMailbox(
    Object.fromEntries(names.map((name) => [name, (request: ArrayRequest) => play(name, request)])),
    names.length,
  );
  const deployment = openArrayDeployment({ ...options, broker: (made) => ({ ...made, control: mailbox }) });
  return { ...deployment, requests: mailbox.requests };
}

async function shownOf({ sources }: Pick<ArrayDeployment, 'sources'>, count: number) {
  await until(async () => (await sources.workers.listWorkers(context)).length === count);
  const listed = await sources.workers.listWorkers(context);
  return new Map(listed.map((worker) => [worker.hostname, worker]));
}

const PREFORK = {
  total: { 'lab.slow': 2, 'lab.add': 3 },
  pid: 24773,
  clock: '23',
  uptime: 6,
  pool: { 'max-concurrency': 4, processes: [24828, 24833], writes: { total: 2 } },
};

/** What a worker replies to `stats`, and what is shown of its pool. */
const POOLS: readonly (readonly [unknown, string | null, number | null])[] = [
  [PREFORK, 'prefork', 2],
  [{ pid: 7, pool: { 'max-concurrency': 4, threads: 3 } }, 'threads', 3],
  [{ pid: 7, pool: { processes: [7], 'max-tasks-per-child': null, timeouts: [] } }, 'solo', 1],
  [{ pid: 7, pool: { 'free-threads': 9, 'running-threads': 1 } }, 'eventlet', null],
  [{ pid: 7, pool: { 'max-concurrency': 10 } }, null, null],
  [{ pid: 7, pool: { 'max-concurrency': 2, processes: [8, 9] } }, null, 2],
  [{ pool: { implementation: 'celery.concurrency.prefork:TaskPool' } }, 'prefork', null],
  [{ pool: { implementation: 'celery.concurrency.thread:TaskPool' } }, 'threads', null],
  [{ pool: { implementation: 'celery.concurrency.solo:TaskPool' } }, 'solo', null],
  [{ pool: { implementation: 'celery.concurrency.gevent:TaskPool' } }, 'gevent', null],
  [{ pool: { implementation: 'ours.pool:Pool' } }, 'ours.pool:Pool', null],
  ...[null, 1, 'x', [], {}, { pool: [] }, { pool: { processes: 'x' }, total: [1], pid: 'x' }].map(
    (stats) => [stats, null, null] as const,
  ),
];

it('shows the pool of a worker by what its statistics say, and nothing of statistics that are none', async () => {
  const named = Object.fromEntries(POOLS.map(([stats], at) => [`w${at}@x`, { stats }]));
  const shown = await shownOf(openWorkers(named), POOLS.length);
  const pools = POOLS.map((_, at) => shown.get(`w${at}@x`));
  expect(pools.map((worker) => [worker?.pool ?? null, worker?.poolSize ?? null])).toEqual(
    POOLS.map(([, pool, size]) => [pool, size]),
  );
  const facts = { pid: 24773, uptimeSeconds: 6, processed: 5, concurrency: 4 };
  expect(shown.get('w0@x')).toMatchObject(facts);
});

it('names the queues and tasks of a worker, and leaves out what is no name', async () => {
  const registered = ['shop.pay [rate_limit=5/s max_retries=3]', 'shop.add', 'odd [name]', 'shop.add'];
  const queues = [{ name: 'celery', exchange: { name: 'x' } }, { name: 'topicq' }];
  const shown = await shownOf(
    openWorkers({
      'plain@x': { active_queues: queues, registered },
      'odd@x': {
        active_queues: [{ name: 'a' }, { name: 1 }, null, [], 'b', { name: '' }, {}],
        registered: [1, null, 'x'.repeat(2000)],
        stats: { total: { a: 1, b: 'x' } },
      },
      'none@x': { active_queues: 3, registered: {} },
    }),
    3,
  );
  expect(shown.get('plain@x')).toMatchObject({
    queues: ['celery', 'topicq'],
    registeredTasks: ['odd [name]', 'shop.add', 'shop.pay'],
  });
  expect(shown.get('odd@x')).toMatchObject({ queues: ['a'], registeredTasks: [] });
  expect(shown.get('odd@x')?.processed ?? null).toBeNull();
  expect(shown.get('none@x')?.queues ?? null).toBeNull();
  expect(shown.get('none@x')?.registeredTasks ?? null).toBeNull();
});

/** A running task as Celery 5.2 reports it. */
const ITEM = {
  id: '90b10331-f917-421e-a16c-80c4888a54fe',
  name: 'shown name',
  args: "(4, 'act1')",
  kwargs: '{}',
  type: 'lab.slow',
  hostname: 'w1@x',
  time_start: 1795228770.125,
  acknowledged: true,
  delivery_info: { exchange: '', routing_key: 'celery', priority: 0, redelivered: null },
  worker_pid: 24828,
};

it("shows each command's reply where it belongs: what runs as started, what waits in a worker not at all", async () => {
  const moved = { ...ITEM, time_start: 4711.5, delivery_info: { exchange: 'x', routing_key: 'r' }, args: '' };
  const broken = [null, 1, [], {}, { id: 1 }, { id: '' }, { id: 'x'.repeat(513) }, { request: { id: 2 } }];
  holdTime(1795228790_000);
  const { sources, task, requests } = openWorkers({
    'w1@x': {
      stats: PREFORK,
      active_queues: [{ name: 'celery' }],
      registered: ['shop.add'],
      active: [ITEM, { ...moved, id: 'moved' }, ...broken],
      reserved: [{ ...ITEM, id: 'reserved' }],
      scheduled: [{ eta: '2026-11-21T02:40:30+00:00', request: { ...ITEM, id: 'scheduled' } }],
    },
  });
  await pass(2_000);
  void sources.workers.status?.();
  await pass(2_000);
  expect(await sources.workers.listWorkers(context)).toMatchObject([
    { hostname: 'w1@x', pid: 24773, queues: ['celery'], registeredTasks: ['shop.add'] },
  ]);
  const { tasks } = await sources.tasks.listTasks(queryOf(), context);
  expect(tasks.map(({ id }) => id).sort()).toEqual([ITEM.id, 'moved']);
  expect(await task(ITEM.id)).toMatchObject({
    state: 'STARTED',
    started: new Date(1795228770125),
    name: 'lab.slow',
    worker: 'w1@x',
    queue: 'celery',
    args: "(4, 'act1')",
    kwargs: '{}',
  });
  // Neither the time of a machine's own clock nor a routing key is taken for what it is not.
  const { started, queue, args } = (await task('moved')) ?? {};
  expect([started?.getTime() === 4711500, queue ?? null, args ?? null]).toEqual([false, null, null]);
  expect((await sources.history.getHistoryStats(context)).dropped).toBe(broken.length);
  expect(new Set(requests.map(({ method }) => method))).toEqual(
    new Set(['ping', 'conf', 'stats', 'active_queues', 'registered', 'reserved', 'active']),
  );
});

it('moves no start of which an event has told, whichever comes first, nor tells of it twice', async () => {
  const start = 1795228770_500;
  holdTime(start + 20_000);
  const ids = ['before', 'behind'];
  const { task, hear } = openWorkers({ 'w1@x': { active: ids.map((id) => ({ ...ITEM, id })) } });
  const event = { type: 'task-started', hostname: 'w1@x', timestamp: start / 1_000 };
  hear({ ...event, uuid: 'before' });
  await pass(3_000);
  expect((await task('behind'))?.started).toEqual(new Date(1795228770_125));
  hear({ ...event, uuid: 'behind' });
  await pass(1_000);
  for (const id of ids) {
    const { state, started, timeline } = (await task(id)) ?? {};
    expect([id, state, started, timeline?.length]).toEqual([id, 'STARTED', new Date(start), 1]);
  }
});

it('switches task events on where the host asked for it, also of a worker that comes later', async () => {
  holdTime(Date.now());
  const { hear, requests } = openWorkers({ 'w1@x': {} }, {}, { enableEvents: true });
  const asked = (): number => requests.filter(({ method }) => method === 'enable_events').length;
  await pass(5_000);
  expect(asked()).toBe(1);
  const timestamp = Date.now() / 1_000;
  hear({ type: 'worker-online', hostname: 'w1@x', freq: 2, timestamp, pid: 1, active: 0, processed: 0 });
  await pass(5_000);
  expect(asked()).toBe(2);
});

it('says that replies are not in JSON, and asks such workers nothing but whether they are alive', async () => {
  holdTime(Date.now());
  const pickle = { contentType: 'application/x-python-serialize', body: Buffer.from('80', 'hex') };
  const { sources, component, requests } = openWorkers({ 'w1@x': {} }, { ping: pickle });
  void sources.workers.status?.();
  await pass(3_000);
  const { hints } = (await component('collector')).config;
  expect(String(hints)).toMatch(/Remote control replies of .* are not in JSON/);
  expect(new Set(requests.map(({ method }) => method))).toEqual(new Set(['ping']));
  expect(await sources.health.checkWorkers?.({ ...context, ping: true })).toMatchObject({ ok: true });
});

/** Settings with which a worker may be unable to answer, and what it is asked nevertheless. */
const CONFIGURATIONS: readonly (readonly [unknown, string])[] = [
  [{}, 'stats reserved'],
  [
    { accept_content: ['json'], result_accept_content: ['pickle'], task_serializer: 'json' },
    'stats reserved',
  ],
  [{ accept_content: ['application/json'] }, 'stats reserved'],
  [
    { broker_transport_options: { visibility_timeout: 3600, global_keyprefix: '***', sep: ':' } },
    'stats reserved',
  ],
  [{ broker_transport_options: { priority_steps: [0, 3], sentinel_kwargs: {} } }, 'stats reserved'],
  [
    { broker_use_ssl: { ssl_cert_reqs: 2, ssl_keyfile: '***', ssl_ca_certs: '/etc/ca.pem' } },
    'stats reserved',
  ],
  [{ task_routes: '<function route at 0x7f>', worker_pool: '<class Pool>' }, 'stats reserved'],
  // Arguments of tasks may be no JSON, and those of reserved tasks are not sent as text.
  [{ accept_content: ['json', 'pickle'] }, 'stats'],
  [{ accept_content: ['yaml'] }, 'stats'],
  [{ CELERY_ACCEPT_CONTENT: ['pickle'] }, 'stats'],
  [{ accept_content: 'json' }, 'stats'],
  // Options of the connection may be no JSON: they are a part of the statistics.
  [
    { broker_transport_options: { credential_provider: '<redis.credentials.Provider object at 0x7f>' } },
    'reserved',
  ],
  [{ broker_transport_options: { retry: 'Retry(ExponentialBackoff(), 3)' } }, 'reserved'],
  [{ broker_transport_options: { a: { b: ["b'x'"] } } }, 'reserved'],
  [{ broker_transport_options: { credential_secret: '********' } }, 'reserved'],
  [{ BROKER_TRANSPORT_OPTIONS: { a: '{1, 2}' } }, 'reserved'],
  [{ broker_use_ssl: { context: '<ssl.SSLContext object at 0x7f>' } }, 'reserved'],
  [{ broker_failover_strategy: '<function pick at 0x7f>' }, 'reserved'],
  [null, ''],
  ['x', ''],
  [[], ''],
  [3, ''],
];

it('asks a worker only what its configuration proves that it can answer', async () => {
  holdTime(Date.now());
  const workers = CONFIGURATIONS.map(([conf], at): [string, Answers] => [`w${at}@x`, { conf }]);
  const { sources, requests } = openWorkers(Object.fromEntries(workers));
  void sources.workers.status?.();
  await pass(4_000);
  const asked = (method: string, at: number): boolean =>
    requests.some((request) => request.method === method && request.destination?.includes(`w${at}@x`));
  const found = CONFIGURATIONS.map(([conf], at) => [
    conf,
    [asked('stats', at) ? 'stats' : '', asked('reserved', at) ? 'reserved' : ''].filter(Boolean).join(' '),
  ]);
  expect(found).toEqual(CONFIGURATIONS);
});
