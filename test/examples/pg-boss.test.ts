import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { combineSources, summarizeTasks } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type {
  MonitorSources,
  QueueSource,
  TaskPage,
  TaskPosition,
  TaskSource,
  TaskStats,
} from '../../src/source.ts';
import { sourceContract } from '../../src/testing.ts';
import type { ProblemBody, TaskDetailBody, TasksBody } from '../../src/wire.ts';
import { ask } from '../helpers/ask.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { titleUnless } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';
import { serve } from '../router/host-kit.ts';
import { waitFor } from './example-process.ts';

const FOLDER = new URL('../../examples/custom-source/', import.meta.url);

interface PgBossSources extends MonitorSources {
  readonly tasks: TaskSource;
  readonly queues: QueueSource;
  close(): Promise<void>;
}

/** What the example exports. */
interface Source {
  readonly INDEX: string;
  pgBossSources(url: string): PgBossSources;
}

const CONTEXT = { signal: new AbortController().signal };

/** What a source that only lists jobs gives the contract suite nothing for. */
const NOT_CHECKED: Readonly<Record<string, string>> = {
  'tasks: lists every seeded task with its known values': 'The source cannot be seeded.',
  'tasks: hides secrets in tasks that it calls redacted': 'The source cannot be seeded.',
  'tasks: filters by root, parent and group': 'The source can filter by none of them.',
  'tasks: continues after a row at the position that endAt() returns': 'No page of several rows has endAt().',
  'tasks: lists the timeline from the oldest change to the current state': 'No listed task has a timeline.',
  'tasks.stats: says which tasks sent those of a name, and which ones they sent':
    'No listed task has a parent of the same day.',
  'tasks.stats: groups failures by cause, the most frequent first': 'The statistics have no causes.',
  'tasks.stats: lists as many causes as were asked for, and says whether there are others':
    'The statistics have no causes.',
  'source: reports its status synchronously and does not throw': 'No part of the source has status().',
  'source: keeps its revision while nothing changes': 'No part of the source has a revision.',
  'source: changes its revision when a task is added': 'The source cannot be seeded.',
};

describe.skipIf(postgresMissing)(titleUnless(postgresMissing, 'the source of pg-boss'), () => {
  let source: Source;
  let server: PostgresServer;
  let boss: PgBoss;

  beforeAll(async () => {
    source = (await import(new URL('pg-boss.mjs', FOLDER).href)) as Source;
    server = await startPostgres();
    boss = new PgBoss({ connectionString: server.url(), supervise: false, schedule: false });
    boss.on('error', () => {});
    await boss.start();
    await server.query(source.INDEX);
    await fill(boss);
  });

  afterAll(async () => {
    await boss?.stop();
    await server?.close();
  });

  const open = () => source.pgBossSources(server.url());
  const cases = sourceContract({
    parts: ['tasks', 'tasks.stats', 'queues', 'health'],
    capabilities: {
      sorts: ['timestamp'],
      filters: ['states', 'names', 'queues', 'since', 'until'],
      search: false,
      total: false,
    },
    create: () => ({ sources: open() }),
  });
  for (const { name, run, skip } of cases) {
    if (skip !== null) continue;
    const expected = NOT_CHECKED[name];
    it(expected === undefined ? name : `${name} (not checked: ${expected})`, async () => {
      let skipped: string | undefined;
      await run({
        skip(reason) {
          skipped = reason;
        },
      });
      expect(skipped).toBe(expected);
    });
  }

  it('is tried by all cases but those of what it cannot do', () => {
    const skipped = cases.filter(({ skip }) => skip !== null).map(({ name }) => name);
    expect(skipped).toEqual([
      'tasks: combines filters: all of them must match',
      'tasks: matches q by search() alone',
      'tasks: pages through filtered rows with a small scan limit',
      'tasks: leaves out what a condition excludes, and keeps what is not known',
      'tasks: lists the failures of a cause, and none of an unknown one',
      'tasks: leaves out the causes that a condition excludes, and keeps tasks without one',
      'tasks: finds texts by their beginning, as it is written',
      'tasks: compares run time, wait and retries, and finds no task where they are not known',
      'tasks: meets all conditions at once, beside filters and texts',
      'tasks.stats: has no other causes than the list is filtered by',
    ]);
  });

  it('shows each state of pg-boss, retries, errors and times', async () => {
    const { tasks, close } = open();
    const all = (await tasks.listTasks(query({ limit: 1_000 }), CONTEXT)).tasks;
    const inState = (state: string) => all.filter((task) => task.state === state);
    const states = ['FAILURE', 'PENDING', 'RETRY', 'REVOKED', 'STARTED', 'SUCCESS'];
    expect([...new Set(all.map(({ state }) => state))].toSorted()).toEqual(states);
    const [failed] = inState('FAILURE');
    expect(failed).toMatchObject({
      name: 'mail',
      queue: 'mail',
      retries: 1,
      kwargs: '{"n": 0, "card_token": "secret"}',
      exception: 'no mailbox',
      traceback: expect.stringContaining('Error: no mailbox\n    at '),
      runtime: expect.any(Number),
    });
    expect(inState('SUCCESS')[0]).toMatchObject({ result: '{"sent": true}', exception: null });
    expect(inState('RETRY')[0]).toMatchObject({
      finished: null,
      exception: 'no answer',
      eta: expect.any(Date),
    });
    expect(
      inState('PENDING')
        .find(({ name }) => name === 'later')
        ?.eta?.getTime(),
    ).toBeGreaterThan(Date.now());
    await close();
  });

  it('sums up what it lists: states, names, the steps of a chart, and run times', async () => {
    const { tasks, close } = open();
    const window = { minutes: 60, now: new Date(), filter: query({ limit: 1_000 }) };
    const stats = (await tasks.getTaskStats?.(window, CONTEXT)) as TaskStats;
    const listed = summarizeTasks((await tasks.listTasks(window.filter, CONTEXT)).tasks, window);
    const countsOf = ({ states, names, series, queues }: TaskStats) => ({
      ...{ states, queues: queues.toSorted() },
      names: names.map(({ name, count, failed }) => ({ name, count, failed })),
      series: series.map(({ t, succeeded, failed }) => ({ t, succeeded, failed })),
    });
    expect(countsOf(stats)).toEqual(countsOf(listed));
    expect(stats.states).toEqual({ FAILURE: 1, PENDING: 61, RETRY: 1, REVOKED: 1, STARTED: 1, SUCCESS: 2 });
    expect(stats.totals).toMatchObject({ received: null, succeeded: 2, failed: 1, retried: null });
    // A Date has no microseconds.
    expect(stats.totals?.runtimeP95).toBeCloseTo(listed.totals?.runtimeP95 ?? Number.NaN, 2);
    const failures = { ...window, filter: query({ names: ['mail'], states: ['FAILURE'] }) };
    expect((await tasks.getTaskStats?.(failures, CONTEXT))?.states).toEqual({ FAILURE: 1 });
    await close();
  });

  it('does not know how many jobs ended before the oldest that are kept', async () => {
    const { tasks, close } = open();
    const window = { minutes: 120, now: new Date(), filter: query({}) };
    await server.query("UPDATE pgboss.queue SET deletion_seconds = 3600 WHERE name = 'mail'");
    const stats = await tasks.getTaskStats?.(window, CONTEXT);
    await server.query("UPDATE pgboss.queue SET deletion_seconds = 604800 WHERE name = 'mail'");
    expect(stats?.series[0]).toMatchObject({ succeeded: null, failed: null });
    expect(stats?.series.at(-1)).toMatchObject({ succeeded: expect.any(Number) });
    expect(stats?.totals).toMatchObject({ succeeded: 2, failed: 1 });
    await close();
  });

  it('pages through jobs of one microsecond and of one millisecond, in both orders', async () => {
    const { tasks, close } = open();
    for (const order of ['asc', 'desc'] as const) {
      const ids: string[] = [];
      let after: TaskPosition | null = null;
      do {
        const page: TaskPage = await tasks.listTasks(
          query({ names: ['bulk'], order, limit: 7, after }),
          CONTEXT,
        );
        ids.push(...page.tasks.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      const all = await server.query<{ id: string }>("SELECT id FROM pgboss.job WHERE name = 'bulk'");
      expect(ids.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
    }
    await close();
  });

  it('reads the index and never the table', async () => {
    await server.query(`INSERT INTO pgboss.job (name, data, state, created_on, completed_on)
      SELECT 'many', '{}', (CASE WHEN n % 5000 = 0 THEN 'failed' ELSE 'completed' END)::pgboss.job_state, at, at
      FROM (SELECT n, now() - n * interval '1 s' AS at FROM generate_series(1, 20000) AS n) AS jobs`);
    await server.query('ANALYZE pgboss.job');
    const before = await rowsRead(server);
    const { tasks, queues, close } = open();
    const { next } = await tasks.listTasks(query({ limit: 50 }), CONTEXT);
    await tasks.listTasks(query({ limit: 50, after: next }), CONTEXT);
    await tasks.listTasks(query({ limit: 50, order: 'asc' }), CONTEXT);
    const failed = await tasks.listTasks(query({ limit: 50, states: ['FAILURE'], names: ['many'] }), CONTEXT);
    expect(failed.tasks).toHaveLength(4);
    expect(await tasks.getTask(failed.tasks[3]?.id ?? '', CONTEXT)).toMatchObject({ state: 'FAILURE' });
    await queues.listQueues(CONTEXT);
    // A connection reports what it has read when it ends.
    await close();
    const after = await waitFor(
      () => rowsRead(server),
      (now) => now > before,
    );
    expect(after - before).toBeLessThan(2_000);
    await server.query("DELETE FROM pgboss.job WHERE name = 'many'");
  });

  it('is listed beside others, whose walk loses nothing', async () => {
    const own = open();
    const memory = memorySources({ name: 'memory' });
    const now = Date.now();
    for (let n = 0; n < 20; n += 1) {
      memory.record({ id: `m${n}`, name: 'mail', state: 'SUCCESS', timestamp: new Date(now - n * 50) });
    }
    const { tasks } = combineSources(own, memory) as Required<MonitorSources>;
    const ids: string[] = [];
    let after: TaskPosition | null = null;
    do {
      const page: TaskPage = await tasks.listTasks(query({ limit: 5, after }), CONTEXT);
      ids.push(...page.tasks.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    const rows = await server.query<{ id: string }>('SELECT id FROM pgboss.job');
    const expected = [...rows.map(({ id }) => id), ...Array.from({ length: 20 }, (_, n) => `m${n}`)];
    expect(ids.toSorted()).toEqual(expected.toSorted());
    await own.close();
    await memory.close();
  });

  it('is shown by a router, without secrets, which says what it cannot do', async () => {
    const { base } = await serve(EXPRESS, { sources: open() });
    const { body: list } = await ask<TasksBody>(base, '/api/tasks/?state=SUCCESS&name=mail&limit=1');
    const id = list.tasks[0]?.task_id ?? '';
    const { body: task } = await ask<TaskDetailBody>(base, `/api/tasks/${id}/`);
    expect(task).toMatchObject({ kwargs: expect.stringContaining('"card_token": "***"'), state: 'SUCCESS' });
    const { body: overview } = await ask<TasksBody>(base, '/api/tasks/?limit=0&stats=60');
    expect(overview.stats?.totals.succeeded).toBeGreaterThan(0);
    const refused = await ask<ProblemBody>(base, '/api/tasks/?q=ann');
    expect(refused.body.errors).toEqual([
      { parameter: 'q', detail: 'The source pg-boss cannot search texts.' },
    ]);
  });
});

/** Puts jobs of every state into the queues. */
async function fill(boss: PgBoss): Promise<void> {
  await boss.createQueue('mail', { retryLimit: 1, retryDelay: 0 });
  await boss.createQueue('call', { retryLimit: 1, retryDelay: 3_600, partition: true });
  await boss.createQueue('later');
  await boss.createQueue('bulk');
  await boss.createQueue('many');
  for (const n of [0, 1, 2]) await boss.send('mail', { n, card_token: 'secret' });
  for (const attempt of [1, 2]) {
    for (const { id, data } of await boss.fetch<{ n: number }>('mail', { batchSize: 3 })) {
      if (data.n === 0) await boss.fail('mail', id, new Error(attempt === 1 ? 'no answer' : 'no mailbox'));
      else await boss.complete('mail', id, { sent: true });
    }
  }
  for (const n of [0, 1]) await boss.send('call', { n });
  const [call] = await boss.fetch('call', { batchSize: 2 });
  await boss.fail('call', call?.id ?? '', new Error('no answer'));
  await boss.send('later', { n: 0 }, { startAfter: 3_600 });
  await boss.cancel('later', (await boss.send('later', { n: 1 })) ?? '');
  // Of one moment, as everything that one statement inserts, and of different ones.
  await boss.insert(
    'bulk',
    Array.from({ length: 30 }, (_, n) => ({ data: { n } })),
  );
  await Promise.all(Array.from({ length: 30 }, (_, n) => boss.send('bulk', { n })));
}

/** Rows of jobs that connections have read, as far as these have reported it. */
async function rowsRead(server: PostgresServer): Promise<number> {
  const [row] = await server.query<{ rows: string }>(
    "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS rows FROM pg_stat_all_tables WHERE schemaname = 'pgboss' AND relname LIKE 'job%'",
  );
  return Number(row?.rows);
}
