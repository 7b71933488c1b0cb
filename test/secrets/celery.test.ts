import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CelerySources, celerySources } from '../../src/celery.ts';
import type { MonitorSources } from '../../src/index.ts';
import { sample } from '../helpers/cases.ts';
import { componentOf, eventMessage } from '../helpers/celery-events.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { type Host, serve } from '../router/host-kit.ts';
import { CUT_TEXTS, leakIn, WHOLE_TEXTS } from './corpus/index.ts';
import { leakFinder } from './leaks.ts';
import { listAll, PLAIN_TEXTS, readEach, readRoutes, routedBy } from './places.ts';

const SECRETS = sample([...WHOLE_TEXTS, ...CUT_TEXTS.filter(({ text }) => text.includes('...'))]);

/** Celery's repr of a text within a dict: it escapes quotes, and no backslashes. */
const saferepr = (text: string): string => `{'note': '${text.replaceAll("'", "\\'")}'}`;

/** What a client and a worker say of a task that has this text everywhere, and fails. */
function eventsOf(uuid: string, text: string): object[] {
  const timestamp = Date.now() / 1000;
  const common = { uuid, hostname: 'w1@alpha', pid: 1, timestamp, root_id: 'root' };
  return [
    {
      ...common,
      type: 'task-sent',
      name: 'shop.pay',
      args: `('${text.replaceAll("'", "\\'")}',)`,
      kwargs: saferepr(text),
    },
    { ...common, type: 'task-received', name: 'shop.pay', args: text, kwargs: saferepr(text) },
    { ...common, type: 'task-retried', exception: `ValueError('${text}')`, traceback: text },
    {
      ...common,
      type: 'task-failed',
      exception: `ValueError(${JSON.stringify(text)})`,
      traceback: `Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    f()\nValueError: ${text}\n`,
    },
    { ...common, uuid: `${uuid}-done`, type: 'task-received', name: 'shop.pay', args: '()', kwargs: '{}' },
    { ...common, uuid: `${uuid}-done`, type: 'task-succeeded', result: text, runtime: 1 },
  ];
}

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'of what Celery says of its tasks,'),
  { timeout: 180_000 },
  () => {
    let redis: RedisServer;
    let sources: CelerySources;
    /** The same, with the redaction of the source off. */
    let plain: CelerySources;

    beforeAll(async () => {
      redis = await startRedis();
      const publisher = createClient({ url: redis.url() });
      await publisher.connect();
      sources = celerySources({ broker: redis.url() });
      plain = celerySources({ broker: redis.url(), redact: false });
      const both = [sources, plain];
      await until(() => both.every(({ tasks }) => tasks.status?.().ok === true));
      const texts = [...SECRETS.map(({ text }) => text), ...PLAIN_TEXTS];
      const messages = texts.map((text, index) => eventMessage(eventsOf(`task-${index}`, text)));
      for (const message of messages) await publisher.publish('/0.celeryev/task.multi', message);
      for (const each of both) {
        await until(async () => (await componentOf(each, 'collector')).config.messages === messages.length);
      }
      publisher.destroy();
    });

    afterAll(async () => {
      await Promise.all([sources?.close(), plain?.close()]);
      await redis?.close();
    });

    const host = (given: MonitorSources = sources): Promise<Host> =>
      // The sources outlive each host.
      serve(EXPRESS, { sources: { ...given, close: () => {} } });

    it.each([
      ['', () => sources],
      [' that the source alone redacts', () => routedBy(false, sources)],
      [' that the router alone redacts', () => routedBy({}, plain)],
    ])('no secret is on any route or stream%s', async (_, given) => {
      const leaksIn = leakFinder(SECRETS);
      const served = await host(given());
      const list = await listAll(served);
      expect(list.tasks.length).toBe(2 * (SECRETS.length + PLAIN_TEXTS.length));
      expect(leaksIn(list.text)).toEqual([]);
      for (const [path, text] of await readRoutes(served, 'task-0')) expect(leaksIn(text), path).toEqual([]);
      const rows = SECRETS.map((entry, index) => ({ entry, path: `/api/tasks/task-${index}/` }));
      const leaks: string[] = [];
      await readEach(served, rows, ({ entry }, { text }) => {
        if (leakIn(text, entry) !== null) leaks.push(`${entry.rest}\n${text}`);
      });
      expect(leaks).toEqual([]);
    });

    it('what is harmless is as it was', async () => {
      const { tasks } = await listAll(await host());
      const raw = await listAll(await host(plain));
      const untouched = new Map(raw.tasks.map((task) => [task.task_id, task]));
      for (const task of tasks) {
        const index = Number(/\d+/.exec(task.task_id)?.[0]);
        if (index >= SECRETS.length) expect(task).toEqual(untouched.get(task.task_id));
      }
    });

    it('every secret is seen when the redaction is off, which proves that these tests can fail', async () => {
      const { tasks } = await listAll(await host(plain));
      const shown = new Map(tasks.map((task) => [task.task_id, JSON.stringify(task)]));
      for (const [index, entry] of SECRETS.entries()) {
        expect(leakIn(shown.get(`task-${index}`) ?? '', entry), entry.rest).not.toBeNull();
      }
    });
  },
);
