/** Instances that watch one deployment and share a store have one feed, whoever is asked. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { context, received, stateOf } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

/** Long enough for the slowest machine. */
const WAIT_MS = 30_000;

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'instances on one Redis and one store'),
  () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis?.close());

    let databases = 0;
    /** A deployment of its own, and instances that watch it. */
    async function deployment() {
      const broker = redis.url(++databases);
      const channel = `/${databases}.celeryev/task.multi`;
      const store = createArrayStore();
      const client = createClient({ url: broker });
      await client.connect();
      onTestFinished(() => client.close());
      let sent = 0;
      return {
        async start(): Promise<CelerySources> {
          const sources = celerySources({ broker, store, control: false });
          onTestFinished(() => sources.close());
          await until(() => sources.tasks.status?.().ok === true, WAIT_MS);
          return sources;
        },
        /** Workers receive tasks, which all these instances then know. */
        async receive(count: number, ...known: readonly CelerySources[]): Promise<void> {
          for (const to = sent + count; sent < to; sent++)
            await client.publish(channel, received(`t${sent}`));
          const isKnown = async (one: CelerySources): Promise<boolean> =>
            (await stateOf(one, `t${sent - 1}`)) === 'RECEIVED' &&
            (await feedOf(one, null)).events[0]?.taskId === `t${sent - 1}`;
          await until(async () => (await Promise.all(known.map(isKnown))).every(Boolean), WAIT_MS);
        },
      };
    }

    const feedOf = async ({ events }: CelerySources, cursor: string | null) =>
      await events.listEvents(
        { limit: 100, since: cursor === null ? null : { cursor }, states: [], workers: [], tasks: [] },
        context,
      );

    it('shows all of it on each instance', async () => {
      const { start, receive } = await deployment();
      const all = [await start(), await start()];
      await receive(10, ...all);
      for (const sources of all) {
        const { events } = await feedOf(sources, null);
        expect(events.map(({ taskId }) => taskId).reverse()).toEqual(
          Array.from({ length: 10 }, (_, n) => `t${n}`),
        );
      }
    });

    it('has the same statistics, also on one that started later', async () => {
      const { start, receive } = await deployment();
      const first = await start();
      await receive(5, first);
      const second = await start();
      await receive(5, first, second);
      const both = async () => {
        const asked = { minutes: 60, now: new Date(), filter: queryOf({}) };
        return Promise.all([first, second].map(({ tasks }) => tasks.getTaskStats?.(asked, context)));
      };
      const differences = async (): Promise<readonly string[]> => {
        const [one, other] = (await both()).map((stats) => new Map(Object.entries(stats ?? {})));
        return [...(one?.keys() ?? [])].filter(
          (key) => JSON.stringify(one?.get(key)) !== JSON.stringify(other?.get(key)),
        );
      };
      await expect.poll(differences, { timeout: WAIT_MS, interval: 500 }).toEqual([]);
      expect((await both())[0]?.states).toEqual({ RECEIVED: 10 });
    });

    it('names an item of the feed alike, whoever is asked', async () => {
      const { start, receive } = await deployment();
      const all = [await start(), await start()];
      await receive(10, ...all);
      const [one, other] = await Promise.all(
        all.map(async (sources) => (await feedOf(sources, null)).events.map(({ id }) => id)),
      );
      expect(one).toHaveLength(10);
      expect(other).toEqual(one);
    });

    it('goes on behind a cursor, whoever is asked: nothing twice, nothing lost', async () => {
      const { start, receive } = await deployment();
      const [one, other] = [await start(), await start()];
      await receive(1, one, other);
      const seen: (string | null | undefined)[] = [];
      let { cursor } = await feedOf(one, null);
      for (let turn = 0; turn < 6; turn++) {
        await receive(5, one, other);
        const page = await feedOf(turn % 2 === 0 ? other : one, cursor);
        seen.push(...page.events.map(({ taskId }) => taskId).reverse());
        cursor = page.cursor;
      }
      expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => `t${n + 1}`));
    });
  },
);
