import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { Task } from '../../src/model.ts';
import { isComplete, relationsOf } from '../graph/graph-kit.ts';
import { type CeleryApp, celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context } from '../helpers/celery-events.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { query } from '../history/telling.ts';

const missing = redisMissing ?? celeryMissing;

/** Sends canvases and waits for their ends; prints their ids in the order in which they run. */
const SUBMIT = `
import json, sys, time, shop
from celery import chain, chord

def ids(result):
    found = []
    while result is not None:
        found.insert(0, result.id)
        result = result.parent
    return found

def states(found):
    return [shop.app.AsyncResult(id).state for id in found]

# The steps of a chain are over when its last one is; a body when its header is.
def broken():
    return chain(shop.add.s(1, 1), shop.fail.s(), shop.add.s(2), shop.add.s(3)).apply_async()

sent = dict(chain=broken())
sent['chain'].get(propagate=False, timeout=20)
time.sleep(3)
header = [shop.add.s(1, 1), shop.fail.s('member')]
body = chord(header, shop.total.s()).apply_async()
body.get(propagate=False, timeout=20)
time.sleep(3)
twins = [broken(), broken()]
for twin in twins: twin.get(propagate=False, timeout=20)
time.sleep(0.5)
found = dict(chain=ids(sent['chain']), body=body.id, group=body.parent.id, header=[member.id for member in body.parent.results],
             twins=[ids(twin) for twin in twins])
found['states'] = dict(chain=states(found['chain']), body=states([body.id])[0])
print(json.dumps(found))
`;

interface Sent {
  readonly chain: readonly string[];
  readonly body: string;
  readonly group: string;
  readonly header: readonly string[];
  readonly twins: readonly (readonly string[])[];
  readonly states: { readonly chain: readonly string[]; readonly body: string };
}

describe.skipIf(missing !== null)(
  titleUnless(missing, 'tasks that never ran because another one failed'),
  () => {
    describe.each([false, true])('with result_extended: %s', (extended) => {
      let redis: RedisServer;
      let app: CeleryApp;
      let sources: CelerySources;
      let sent: Sent;
      const settings = (): Record<string, unknown> => ({
        broker_url: redis.url(1),
        result_backend: redis.url(2),
        result_extended: extended,
        worker_hijack_root_logger: false,
      });

      beforeAll(async () => {
        redis = await startRedis();
        app = celeryApp(settings());
        sources = celerySources({ settings: settings() });
        await until(() => sources.tasks.status?.().ok === true);
        await app.worker('-n', 'w1@alpha', '-P', 'prefork', '-c', '3');
        sent = (await app.script('-c', SUBMIT)) as Sent;
        await until(async () => {
          const { tasks } = await sources.tasks.listTasks(query({ limit: 100 }), context);
          // Those of tasks that never ran are marked once it is known.
          return (
            tasks.length === 15 && tasks.filter(({ flags }) => flags?.includes('consequence')).length === 7
          );
        });
      }, 90_000);

      afterAll(async () => {
        await sources?.close();
        await app?.close();
        await redis?.close();
      }, 30_000);

      const all = (ids: readonly string[], from = sources): Promise<(Task | null)[]> =>
        Promise.all(ids.map(async (id) => await from.tasks.getTask(id, context)));

      it('belong to the chain, in its order, with the state that Celery stores', async () => {
        const tasks = await all(sent.chain);
        expect(tasks.map((task) => task?.state)).toEqual(sent.states.chain);
        expect(sent.states.chain).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE']);
        expect(tasks.map((task) => task?.flags)).toEqual([[], [], ['consequence'], ['consequence']]);
        expect(tasks.map((task) => task?.parentId)).toEqual([null, ...sent.chain.slice(0, 3)]);
        const [root] = sent.chain;
        const ofRoot = await sources.tasks.listTasks(query({ rootId: root ?? '' }), context);
        expect(ofRoot.tasks.map(({ id }) => id).sort()).toEqual([...sent.chain].sort());
        const tree = await sources.tasks.getTaskTree?.(root ?? '', context);
        expect(tree?.tasks).toHaveLength(4);
        const relations = tree == null ? [] : relationsOf(tree);
        expect(relations.map(({ parent, child }) => [parent, child]).sort()).toEqual(
          [0, 1, 2].map((at) => sent.chain.slice(at, at + 2)).sort(),
        );
      });

      it('belong to the header of their chord', async () => {
        const [body] = await all([sent.body]);
        expect(body).toMatchObject({ state: sent.states.body, flags: ['consequence'] });
        expect(body?.exception).toContain(`Dependency ${sent.header[1]} raised`);
        const header = await all(sent.header);
        expect(header.map((task) => [task?.groupId, task?.chordId])).toEqual([
          [sent.group, sent.body],
          [sent.group, sent.body],
        ]);
        const tree = await sources.tasks.getTaskTree?.(sent.header[0] ?? '', context);
        expect(tree?.tasks.map(({ id }) => id).sort()).toEqual([sent.body, ...sent.header].sort());
        // Who polls the graph may stop now.
        expect(tree != null && isComplete(tree)).toBe(true);
      });

      it('are known not to have run where nothing shows which failure they are behind', async () => {
        for (const twin of sent.twins) {
          const steps = (await all(twin)).slice(2);
          expect(steps.map((task) => task?.flags)).toEqual([['consequence'], ['consequence']]);
          // Never the wrong one. A message that was read while it waited names the right one.
          const wrong = steps.filter((task, at) => ![null, twin[at + 1]].includes(task?.parentId ?? null));
          expect(wrong).toEqual([]);
        }
      });

      it('are not counted among failures', async () => {
        const asked = { minutes: 60, now: new Date(), filter: query({}) };
        const stats = await sources.tasks.getTaskStats?.(asked, context);
        const failed = (stats?.series ?? []).reduce((sum, step) => sum + (step.failed ?? 0), 0);
        expect(failed).toBe(4);
        expect(stats?.states).toEqual({ SUCCESS: 4, FAILURE: 11 });
        const counts = (await sources.experimental.getActivity?.(context))?.counts;
        const [from, to] = [Date.now() - 3_600_000, Date.now() + 60_000];
        const failures: readonly number[] = (counts?.names() ?? []).map(
          (name: string) => counts?.counts(name, from, to).failed ?? 0,
        );
        // A failure whose result overtook the events of its task is counted without a name.
        const named = failures.reduce((sum, count) => sum + count, 0);
        expect(named).toBeGreaterThan(0);
        expect(named).toBeLessThanOrEqual(4);
      });

      it('are known after a restart as far as what is stored shows it', async () => {
        const later = celerySources({ settings: settings() });
        await until(async () => (await all([sent.body], later))[0] !== null);
        const [[body], steps] = [await all([sent.body], later), (await all(sent.chain, later)).slice(2)];
        expect(body?.flags).toEqual(['consequence']);
        const flags = extended ? ['consequence'] : [];
        expect(steps.map((task) => [task?.state, task?.flags, task?.parentId])).toEqual([
          ['FAILURE', flags, null],
          ['FAILURE', flags, null],
        ]);
        await later.close();
      });
    });
  },
);
