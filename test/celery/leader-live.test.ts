/** Three instances watch a real Celery, while the one that collects is killed twice. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GraphState } from '../../src/client.ts';
import type { EventsBody, GraphBody, TasksBody } from '../../src/wire.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { type MonitorProcess, startMonitor } from '../helpers/monitor-process.ts';
import { type PostgresServer, postgresMissing, startPostgres } from '../helpers/postgres.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { findingsOf, followEvents, followGraph, progressOf, type Takeover } from './stream-follower.ts';

const missing = redisMissing ?? celeryMissing ?? postgresMissing;

/** About 300 events a second. */
const RATE = 75;
const SECONDS = 30;
/** A workflow that goes on until after the last takeover: so many tasks, each of which takes so many seconds. */
const CHAIN = { tasks: 18, seconds: 2.5 };
const KILLS = 2;

interface Submitted {
  readonly id: string;
  readonly state: string;
}

describe.skipIf(missing !== null)(
  titleUnless(missing, 'an instance that collects, killed under load'),
  () => {
    const monitors = new Map<string, MonitorProcess>();
    const folder = mkdtempSync(join(tmpdir(), 'monitor-leader-'));
    let redis: RedisServer;
    let postgres: PostgresServer;
    let database: string;
    let app: CeleryApp;
    let client: ReturnType<typeof createClient>;

    /** Each monitor has a user of its own, so that Redis knows whose connections it has. */
    async function start(user: string): Promise<void> {
      const broker = redis.url(0).replace('redis://', `redis://${user}:secret@`);
      const settings = { broker_url: broker, result_backend: broker };
      monitors.set(user, await startMonitor({ database, collect: true, settings }));
    }

    async function connected(): Promise<string[]> {
      const list = String(await client.sendCommand(['CLIENT', 'LIST']));
      const users = [...list.matchAll(/ user=(m\d)\b/g)].flatMap(([, user]) => user ?? []);
      return [...new Set(users)];
    }

    beforeAll(async () => {
      [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
      database = await postgres.createDatabase('monitor');
      client = createClient({ url: redis.url(0), RESP: 2 });
      await client.connect();
      for (const user of ['m1', 'm2', 'm3', 'm4', 'm5']) {
        await client.sendCommand(['ACL', 'SETUSER', user, 'on', '>secret', '~*', '&*', '+@all']);
      }
      app = celeryApp({
        broker_url: redis.url(0),
        result_backend: redis.url(0),
        task_send_sent_event: true,
        worker_hijack_root_logger: false,
      } as never);
      await Promise.all(['m1', 'm2', 'm3'].map(start));
      monitors.set('only answers', await startMonitor({ database, collect: false }));
      await app.worker('-n', 'w1@alpha', '-P', 'threads', '-c', '4');
      await until(async () => (await connected()).length === 1, 20_000);
    }, 90_000);

    afterAll(async () => {
      await Promise.all([...monitors.values()].map((monitor) => monitor.stop()));
      client?.destroy();
      await app?.close();
      await redis?.close();
      await postgres?.close();
      rmSync(folder, { recursive: true, force: true });
    }, 60_000);

    it('loses nothing, and only one instance is connected at a time', { timeout: 480_000 }, async () => {
      const alive = (): [string, MonitorProcess][] => [...monitors].filter(([, one]) => one.isRunning());
      const takeovers: Takeover[] = [];
      const most = { connected: 0 };
      /** The instances that collected, one after the other. */
      const leaders: string[] = [];
      const feed = followFeed(monitors.get('only answers') as MonitorProcess);
      const streams = new Map([...monitors].map(([user, monitor]) => [user, followEvents(monitor)]));
      const rootFile = join(folder, 'root');
      const chain = app.script('slow_chain.py', String(CHAIN.tasks), String(CHAIN.seconds), rootFile);
      await until(() => existsSync(rootFile) && readFileSync(rootFile, 'utf8') !== '', 20_000);
      const root = readFileSync(rootFile, 'utf8');
      const graphPath = `/api/tasks/${root}/graph/`;
      for (const [, monitor] of monitors)
        await until(async () => (await monitor.get(graphPath)) !== null, 20_000);
      const graphs = new Map([...monitors].map(([user, monitor]) => [user, followGraph(monitor, root)]));
      let isOver = false;

      const watching = (async () => {
        while (!isOver) {
          const users = await connected();
          most.connected = Math.max(most.connected, users.length);
          for (const user of users) if (user !== leaders.at(-1)) leaders.push(user);
          await new Promise((resolve) => setTimeout(resolve, 250));
        }
      })();

      async function killLeader(): Promise<void> {
        const [leader = ''] = await connected();
        const killedAt = performance.now();
        await monitors.get(leader)?.kill();
        await until(async () => (await connected()).some((user) => user !== leader), 30_000);
        takeovers.push({ killedAt, overAt: performance.now() });
      }

      /** Until every instance has shown the workflow go on. */
      async function seeProgress(): Promise<void> {
        const ended = (user: string): number =>
          graphs
            .get(user)
            ?.messages.at(-1)
            ?.body.nodes.filter(({ state }) => state === 'SUCCESS').length ?? 0;
        const before = alive().flatMap(([user]) => (graphs.has(user) ? [[user, ended(user)] as const] : []));
        await until(() => before.every(([user, count]) => ended(user) > count), 120_000);
      }

      const submitting = app.script('steady_submit.py', String(RATE), String(SECONDS)) as Promise<
        Submitted[]
      >;
      await seeProgress();
      await killLeader();
      await start('m4');
      await seeProgress();
      await killLeader();
      await start('m5');
      const submitted = await submitting;
      await chain;

      for (const [user, monitor] of alive()) {
        const wrong = async () => wrongAmong(submitted, await allTasks(monitor));
        await until(async () => (await wrong()).length === 0, 60_000).catch(() => {});
        expect([user, await wrong()]).toEqual([user, []]);
      }
      isOver = true;
      await watching;
      const { items, gaps, repeated } = await feed.end();
      for (const [user, stream] of streams) {
        if (monitors.get(user)?.isRunning() === true) {
          const findings = findingsOf(stream.messages);
          console.log(user, { ...findings, messages: stream.messages.length });
          expect([user, findings]).toMatchObject([user, { repeated: [], missing: [] }]);
          expect(findings.gaps).toBe(leaders.length - 1);
          expect(findings.items).toBeGreaterThan(submitted.length);
        }
        await stream.end();
      }
      for (const [user, stream] of graphs) {
        const monitor = monitors.get(user) as MonitorProcess;
        if (monitor.isRunning()) {
          const shown = () => stream.messages.at(-1)?.body as GraphState;
          await until(() => shown().complete, 30_000).catch(() => {});
          const whole = await monitor.get<GraphBody>(graphPath);
          const states = ({ nodes }: Pick<GraphBody, 'nodes'>) => nodes.map(({ id, state }) => [id, state]);
          expect([user, states(shown())]).toEqual([user, states(whole as GraphBody)]);
          expect(whole?.nodes.map(({ state }) => state)).toEqual(Array(CHAIN.tasks).fill('SUCCESS'));
          const steps = progressOf(stream.messages, takeovers, CHAIN.tasks);
          console.log(user, JSON.stringify(steps));
          expect(steps.map(({ before, after }) => Math.max(0, ...after) > before)).toEqual([true, true]);
        }
        await stream.end();
      }

      const lengths = takeovers.map(({ killedAt, overAt }) => overAt - killedAt);
      console.log({ tasks: submitted.length, takeovers: lengths, most, leaders, items, gaps, repeated });
      expect(most.connected).toBe(1);
      expect(repeated).toBe(0);
      // Nobody heard what happened until another took over, which a leader without CPU also makes happen.
      expect(gaps).toBe(leaders.length - 1);
      expect(gaps).toBeGreaterThanOrEqual(KILLS);
      expect(items).toBeGreaterThan(submitted.length);
    });
  },
);

async function allTasks(monitor: MonitorProcess): Promise<Map<string, string>> {
  const tasks = new Map<string, string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: TasksBody | null = await monitor.get<TasksBody>(`/api/tasks/?limit=1000${after}`);
    if (page === null) return tasks;
    for (const { task_id: id, state } of page.tasks) tasks.set(id, state);
    cursor = page.next_cursor;
  }
  return tasks;
}

function wrongAmong(submitted: readonly Submitted[], tasks: ReadonlyMap<string, string>): unknown[] {
  return submitted
    .filter(({ id, state }) => tasks.get(id) !== state)
    .map(({ id, state }) => [id, state, tasks.get(id)]);
}

/** Follows the feed at an instance that is not killed: each item comes once. */
function followFeed(monitor: MonitorProcess) {
  const seen = new Set<string>();
  const state = { gaps: 0, repeated: 0, isOver: false };
  const following = (async () => {
    let since = '';
    while (!state.isOver) {
      const from = since === '' ? '' : `&since=${encodeURIComponent(since)}`;
      const page = await monitor.get<EventsBody>(`/api/events/latest/?limit=1000${from}`);
      for (const { id } of page?.events ?? []) {
        if (seen.has(id)) state.repeated += 1;
        seen.add(id);
      }
      if (page?.gap === true && since !== '') state.gaps += 1;
      since = page?.cursor ?? since;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  })();
  return {
    async end() {
      state.isOver = true;
      await following;
      return { items: seen.size, gaps: state.gaps, repeated: state.repeated };
    },
  };
}
