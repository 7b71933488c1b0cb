import { afterEach, describe, expect, it } from 'vitest';
import { createCelerySource } from '../../src/sources/celery/celery-source.ts';
import { componentOf } from '../helpers/celery-events.ts';
import { RECORDINGS, untilNow } from '../helpers/celery-recordings.ts';
import { until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';
import { ALL_PARTS, itKeepsTheContractTogether, NOT_SEEDED } from '../testing/contract-parts.ts';
import { createArrayBroker } from './array-broker.ts';
import { createArrayResultBackend } from './array-result-backend.ts';
import { messageOf } from './queues-lab.ts';

const context = { signal: new AbortController().signal, ping: true };

/** Events that were recorded from a Celery deployment. */
const EVENTS = (RECORDINGS[0]?.messages ?? [])
  .filter(({ channel }) => channel.includes('celeryev'))
  .map(({ message }) => JSON.parse(Buffer.from(JSON.parse(message).body, 'base64').toString()));

const META = 'celery-task-meta-';

/** Results that were published in the same deployment. */
const PUBLISHED = (RECORDINGS[0]?.messages ?? [])
  .filter(({ channel }) => channel.startsWith(META))
  .map(({ channel, message }) => ({ id: channel.slice(META.length), text: message, isCut: false }));

/** What its result backend stored, and a result whose task no event and no publication names. */
const STORED = [
  ...new Map(
    (RECORDINGS[0]?.keys ?? [])
      .filter(({ key, value }) => key.startsWith(META) && typeof value === 'string')
      .map(({ key, value }) => [key.slice(META.length), String(value)]),
  ),
  [
    'only-stored',
    '{"status": "SUCCESS", "result": 5, "task_id": "only-stored", "name": "yard.add", "date_done": "2026-11-21T02:00:00"}',
  ],
].map(([id = '', text = '']) => ({ id, text, isCut: false }));

const WAITING = ['first', 'second', 'third'].map((id) => ({ queue: 'later', raw: messageOf(id) }));

const WORKERS = {
  'w1@arrays': {
    ping: { ok: 'pong' },
    conf: {},
    stats: { pid: 7, pool: { 'max-concurrency': 4 }, total: { 'yard.add': 12 } },
    active_queues: [{ name: 'later' }],
    registered: ['yard.add'],
    active: [],
    reserved: [],
  },
};

/** The workers are expected to report for an hour: else the recorded ones would be stale a few seconds later. */
const HOSTS = EVENTS.flat().flatMap(({ type, hostname }) => (type === 'task-sent' ? [] : String(hostname)));
const LASTING = ['w1@arrays', ...new Set(HOSTS)].map((hostname) => ({
  ...{ type: 'worker-heartbeat', hostname, freq: 3_600, timestamp: Date.now() / 1_000 },
  ...{ clock: 1, utcoffset: 0, active: 0, processed: 12 },
}));

/** Failed results are examined for two seconds, and change if they turn out to be consequences. */
const isSettled = ({ text }: { readonly text: string }): boolean => !text.includes('"status": "FAILURE"');

function openSource({ events = EVENTS, published = PUBLISHED, stored = STORED } = {}) {
  const broker = createArrayBroker({ events, waiting: WAITING, workers: WORKERS });
  const backend = createArrayResultBackend({ published, tasks: stored, groups: [] });
  const settings = {};
  const foreign = { foreignBroker: null, foreignBackend: null };
  const sources = createCelerySource({
    ...foreign,
    name: 'celery',
    settings,
    broker,
    backend,
    redbeat: { reader: null, unreadable: null },
    django: null,
    control: true,
    enableEvents: false,
    readResults: true,
    // The recordings are older than a history keeps tasks.
    retention: { taskDays: 36_500 },
    closeConnections: async () => {
      await broker.close();
      await backend.close();
    },
  });
  return { broker, sources };
}

async function isScanned(sources: ReturnType<typeof openSource>['sources']): Promise<boolean> {
  const { config } = await componentOf(sources, 'backend');
  return (config.results as { readonly done: boolean }).done;
}

describe('the Celery source on a broker and a result backend made of arrays', () => {
  let opened: ReturnType<typeof openSource> | null = null;

  function open(): ReturnType<typeof openSource> {
    opened = openSource();
    return opened;
  }

  afterEach(async () => {
    await opened?.sources.close();
    opened = null;
  });

  it('lists every task that was recorded, and behind them those that wait in queues', async () => {
    const { sources } = open();
    const all = await sources.tasks.listTasks(queryOf({ limit: 1000 }), context);
    const ids = all.tasks.map(({ id }) => id);
    for (const { id, celery_event_state: state } of RECORDINGS[0]?.tasks ?? []) {
      if (state !== null) expect(ids).toContain(id);
    }
    expect(ids.slice(-3)).toEqual(['first', 'second', 'third']);
    expect(all.total).toBe(all.tasks.length);
    expect(await sources.tasks.getTask('second', context)).toMatchObject({
      state: 'PENDING',
      queue: 'later',
    });
    const states = new Set(all.tasks.map(({ state }) => state));
    for (const state of ['SUCCESS', 'FAILURE', 'REVOKED', 'PENDING']) expect(states).toContain(state);
  });

  it('shows workflows, the feed and figures', async () => {
    const { sources } = open();
    const feed = await sources.events.listEvents(
      { limit: 1000, since: null, states: [], workers: [], tasks: [] },
      context,
    );
    expect(feed.events.length).toBeGreaterThan(100);
    const child = RECORDINGS[0]?.tasks.find(
      ({ parent, worker_ctx: runs }) => parent !== null && runs.length > 0,
    );
    const tree = await sources.tasks.getTaskTree?.(child?.id ?? '', context);
    expect(tree?.tasks.map(({ id }) => id)).toContain(child?.parent);
  });

  it('shows workers with what only they know, and pings them', async () => {
    const { sources, broker } = open();
    // A read waits for the first answers for half a second only.
    const inspected = async () =>
      (await sources.workers.listWorkers(context)).find(({ hostname }) => hostname === 'w1@arrays');
    await until(async () => (await inspected())?.registeredTasks != null);
    expect(await inspected()).toMatchObject({
      status: 'online',
      pid: 7,
      concurrency: 4,
      queues: ['later'],
      registeredTasks: ['yard.add'],
    });
    expect(broker.asked).toContain('ping');
    const check = await sources.health.checkWorkers?.(context);
    expect(check).toMatchObject({ ok: true, responding: expect.arrayContaining(['w1@arrays']) });
    expect(await sources.health.checkBroker?.(context)).toEqual({ ok: true, error: null });
  });

  it('shows results that were published, and reads those that were only stored', async () => {
    const { sources } = open();
    await until(() => isScanned(sources));
    expect(await sources.tasks.getTask('only-stored', context)).toMatchObject({
      state: 'SUCCESS',
      name: 'yard.add',
      result: '5',
    });
    for (const { id } of PUBLISHED) expect(await sources.tasks.getTask(id, context)).not.toBeNull();
    const { status, config } = await componentOf(sources, 'backend');
    expect({ status, transport: config.transport }).toEqual({ status: 'up', transport: 'arrays' });
    expect(config.results).toMatchObject({ done: true, read: STORED.length, unreadable: 0, error: null });
    expect(await sources.health.checkBackend?.(context)).toEqual({ ok: true, error: null });
  });

  it('shows queues with who consumes them', async () => {
    const { sources } = open();
    await until(async () => {
      await sources.workers.listWorkers(context);
      return (await sources.queues.listQueues(context)).some(({ consumers }) => consumers !== null);
    });
    expect(await sources.queues.listQueues(context)).toEqual([
      { name: 'later', waiting: 3, reserved: 0, consumers: 1, oldestDueAt: null, asOf: expect.any(Date) },
    ]);
    const { status, config } = await componentOf(sources, 'broker');
    expect({ status, transport: config.transport }).toEqual({ status: 'up', transport: 'arrays' });
    expect((await componentOf(sources, 'collector')).config.messages).toBe(EVENTS.length + PUBLISHED.length);
  });
});

describe('the Celery source on a broker and a result backend made of arrays keeps the contract of sources', () => {
  itKeepsTheContractTogether(
    {
      parts: ALL_PARTS,
      async create() {
        const { sources } = openSource({
          events: [...untilNow(EVENTS.flat()), ...LASTING],
          published: PUBLISHED.filter(isSettled),
          stored: STORED.filter(isSettled),
        });
        // Until queues, workers and results have been read once, reading changes what is shown.
        await sources.queues.listQueues(context);
        await sources.workers.listWorkers(context);
        await sources.health.checkWorkers?.(context);
        await until(() => isScanned(sources));
        return { sources };
      },
    },
    NOT_SEEDED,
  );
});
