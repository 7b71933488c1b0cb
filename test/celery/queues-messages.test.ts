import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CelerySettings } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { context, type Lab, openLab, queryOf, walkPages } from './queues-lab.ts';

/** What the client knows of a message that it sent. */
interface Sent {
  readonly id: string;
  readonly name: string;
  readonly args: string | null;
  readonly kwargs: string | null;
  readonly queue: string;
  readonly step: number;
  readonly root: string | null;
  readonly parent: string | null;
  readonly group: string | null;
  readonly chord: string | null;
  readonly eta: string | null;
  readonly expires: string | null;
  readonly next: string | null;
  readonly trace: string | null;
}

const missing = redisMissing ?? celeryMissing;

/** What a row must say of a message, where the client knows it. */
function expected(sent: Sent): object {
  return {
    id: sent.id,
    state: 'PENDING',
    timestamp: null,
    worker: null,
    name: sent.name,
    ...(sent.args === null ? {} : { args: sent.args }),
    ...(sent.kwargs === null ? {} : { kwargs: sent.kwargs }),
    queue: sent.queue,
    rootId: sent.root,
    parentId: sent.parent,
    groupId: sent.group,
    chordId: sent.chord === '*' ? expect.stringMatching(/^[0-9a-f-]{36}$/) : sent.chord,
    eta: sent.eta === null ? null : new Date(sent.eta),
    expires: sent.expires === null ? null : new Date(sent.expires),
    retries: 0,
    flags: [],
  };
}

/** The order in which the messages run, queue by queue. */
function inRunOrder(sent: readonly Sent[], steps: readonly number[]): Sent[] {
  const rank = ({ queue, step }: Sent): string => `${queue} ${String(steps.indexOf(step)).padStart(3, '0')}`;
  return sent.toSorted((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}

const DEPLOYMENTS: readonly (readonly [string, CelerySettings, readonly number[]])[] = [
  ['under the default settings', { broker_transport_options: {} }, [0, 3, 6, 9]],
  [
    'under a prefix, with a separator and priorities of their own',
    { broker_transport_options: { global_keyprefix: 'shop:[1]', sep: ':', priority_steps: [0, 1, 2, 5, 9] } },
    [0, 1, 2, 5, 9],
  ],
];

describe.skipIf(missing !== null).each(DEPLOYMENTS)(
  titleUnless(missing, 'messages that real clients sent %s'),
  (_, settings, steps) => {
    let redis: RedisServer;
    let lab: Lab;
    let sent: Sent[];
    let rows: Task[];
    const ends: (() => Promise<void>)[] = [];

    beforeAll(async () => {
      redis = await startRedis();
      const app = celeryApp({ ...settings, broker_url: redis.url(2), result_backend: redis.url(3) });
      sent = (await app.script('queue_fill.py')) as Sent[];
      await app.close();
      lab = await openLab(redis.url(2), { settings }, (end) => void ends.push(end));
      await until(async () => (await lab.queues()).length === 3);
      rows = await walkPages(lab.tasks, { limit: 7 });
    }, 120_000);

    afterAll(async () => {
      for (const end of ends) await end();
      await redis?.close();
    });

    it('are listed once each, next to run first', () => {
      expect(sent.length).toBeGreaterThan(300);
      expect(rows.map(({ id }) => id)).toEqual(inRunOrder(sent, steps).map(({ id }) => id));
    });

    it('are told as the client knows them', () => {
      const byId = new Map(rows.map((row) => [row.id, row]));
      for (const task of sent) {
        const row = byId.get(task.id);
        const told = task.root === null ? { ...row, rootId: null, parentId: null, chordId: null } : row;
        expect(told).toMatchObject(expected(task));
      }
      const maps = rows.filter(({ kind }) => kind === 'map');
      expect(maps.map(({ name }) => name)).toEqual(maps.map(() => 'celery.map'));
      expect(maps).toHaveLength(10);
    });

    it('name the trace in which they were sent, where the sender wrote one', async () => {
      const shown: string[] = [];
      for (const { id, trace } of sent) {
        const traceId = (await lab.tasks.getTask(id, context))?.traceId;
        expect(traceId).toBe(trace);
        if (traceId != null) shown.push(traceId);
      }
      expect(shown).toHaveLength(30);
    });

    it('are counted, queue by queue', async () => {
      const waiting = (queue: string): number => sent.filter((task) => task.queue === queue).length;
      expect(await lab.queues()).toEqual(
        ['celery', 'heavy', 'reports'].map((name) => ({
          name,
          waiting: waiting(name),
          reserved: 0,
          consumers: null,
        })),
      );
      expect(await lab.unreadable()).toBe(0);
      const page = await lab.tasks.listTasks(queryOf(), context);
      expect(page.total).toBe(sent.length);
    });

    it('show the workflow that they belong to', async () => {
      const header = sent.filter(({ chord }) => chord !== null && chord !== '*');
      for (const task of header.slice(0, 4)) {
        const tree = await lab.tasks.getTaskTree?.(task.id, context);
        const members = sent.filter(({ group }) => group === task.group).map(({ id }) => id);
        expect(tree?.tasks.map(({ id }) => id).toSorted()).toEqual(members.toSorted());
        expect(tree?.rootId).toBe(task.id);
      }
      const first = sent.find(({ next, chord }) => next !== null && chord === null) as Sent;
      const tree = await lab.tasks.getTaskTree?.(first.id, context);
      expect(tree?.relations).toContainEqual({ parent: first.id, child: first.next, relation: 'chain' });
      const before = sent.find(({ chord }) => chord === '*') as Sent;
      const row = rows.find(({ id }) => id === before.id);
      const behind = await lab.tasks.getTaskTree?.(before.id, context);
      expect(behind?.relations).toEqual(
        expect.arrayContaining([
          { parent: before.id, child: row?.chordId, relation: 'chord' },
          { parent: row?.chordId, child: before.next, relation: 'chain' },
        ]),
      );
    });

    it('leave nothing in Redis that was not there', async () => {
      const client = createClient({ url: redis.url(2) });
      await client.connect();
      const keys = (await client.keys('*')).filter((key) => !key.includes('_kombu.binding'));
      const stats = await client.info('commandstats');
      client.destroy();
      expect(keys).toHaveLength(steps.length + 2);
      expect(stats).not.toMatch(/cmdstat_(?:set|del|hset|lrem|rpop|expire):/);
    });
  },
);
