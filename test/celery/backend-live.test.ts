import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import { type CeleryApp, celeryApp, celeryMissing, type Submitted } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { type Monitor, monitorOf } from './backend-redis.ts';

const missing = redisMissing ?? celeryMissing;

/** What each meta holds, and what only extended ones do. */
const ALWAYS = ['result', 'exception', 'traceback', 'parentId', 'groupId'] as const;
const EXTENDED = ['name', 'args', 'kwargs', 'worker', 'retries', 'queue'] as const;

describe.skipIf(missing !== null)(titleUnless(missing, 'a monitor that starts when a run has ended'), () => {
  describe.each([{ extended: true }, { extended: false }])(
    'with result_extended $extended',
    ({ extended }) => {
      let redis: RedisServer;
      let app: CeleryApp;
      let heard: CelerySources;
      let monitor: Monitor;
      let submitted: Submitted[];

      beforeAll(async () => {
        redis = await startRedis();
        const settings = {
          broker_url: redis.url(1),
          result_backend: redis.url(2),
          result_extended: extended,
          task_send_sent_event: true,
          task_track_started: true,
          worker_hijack_root_logger: false,
        };
        app = celeryApp(settings);
        heard = celerySources({ settings });
        await until(() => heard.tasks.status?.().ok === true);
        await Promise.all([
          app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '2', '-Q', 'celery,slow'),
          app.worker('-n', 'w2@beta', '-P', 'threads', '-c', '4', '-Q', 'heavy'),
        ]);
        submitted = await app.submit();
        await app.close();
        monitor = monitorOf(redis.url(2), settings);
        monitor.backend.start();
        await until(() => monitor.backend.progress().done);
      }, 120_000);

      afterAll(async () => {
        await monitor?.close();
        await heard?.close();
        await app?.close();
        await redis?.close();
      }, 30_000);

      it('finds each task in the state that the client reads there', async () => {
        expect(submitted).toHaveLength(500);
        const wrong = submitted.filter(
          ({ id, client }) => (monitor.history.index.stateOf(id) ?? 'PENDING') !== client,
        );
        expect(
          wrong.map(({ id, name, client }) => [name, client, monitor.history.index.stateOf(id)]),
        ).toEqual([]);
        expect(monitor.backend.progress()).toMatchObject({ unreadable: 0, problem: null });
      });

      it('knows of each what those know who listened, as far as it is stored', async () => {
        let compared = 0;
        const differences = async (): Promise<unknown[]> => {
          const found: unknown[] = [];
          compared = 0;
          for (const { id } of submitted) {
            const here = (await monitor.history.reader.getTask(id, context)) as Task | null;
            const there = (await heard.tasks.getTask(id, context)) as Task | null;
            // Of what ended without a word to the backend, it knows an earlier state or nothing.
            if (here === null || here.state !== there?.state) continue;
            compared += 1;
            const apart = Math.abs(Number(here.finished ?? 0) - Number(there.finished ?? 0));
            if (apart > 5_000) found.push([id, 'finished', here.finished, there.finished]);
            for (const field of extended ? [...ALWAYS, ...EXTENDED] : ALWAYS) {
              const [ours, theirs] = [here[field] ?? null, there[field] ?? null];
              // Of a link that never ran only the message of the chain's first task names what is before it.
              if (field === 'parentId' && ours === null && there.worker === null) continue;
              if (ours !== theirs) found.push([there.name, there.state, field, ours, theirs]);
            }
          }
          return found;
        };
        // What was published last may still be on its way to the one that listens.
        await until(async () => (await differences()).length === 0, 10_000).catch(() => {});
        expect(await differences()).toEqual([]);
        expect(compared).toBeGreaterThan(400);
      });

      it('completes a chain from any of its tasks', async () => {
        const fresh = monitorOf(redis.url(2));
        try {
          const end = submitted.find(
            ({ parent, id }) => parent && submitted.every(({ parent: of }) => of !== id),
          ) as Submitted;
          const chain = [end];
          for (let up = end.parent; up; up = chain[0]?.parent) {
            chain.unshift(submitted.find(({ id }) => id === up) as Submitted);
          }
          expect(chain).toHaveLength(3);
          const all = chain.map(({ id }) => id).sort();
          for (const id of all) {
            const idsAround = async () =>
              (await fresh.tasks.getTaskTree(id, context))?.tasks.map((task) => task.id);
            // A read does not wait for Redis for long, which others may keep busy.
            await until(async () => (await idsAround())?.length === all.length).catch(() => {});
            expect((await idsAround())?.sort()).toEqual(all);
          }
        } finally {
          await fresh.close();
        }
      });
    },
  );
});
