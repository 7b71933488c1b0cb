import { describe, expect, it, onTestFinished } from 'vitest';
import { type CelerySettings, type CelerySources, celerySources } from '../../src/celery.ts';
import { componentOf, context, heartbeat } from '../helpers/celery-events.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';

/** A command as redis-cli reads it: what is in quotes is one word, in which a backslash escapes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/g)].map(
    ([word, quoted]) => quoted?.replace(/\\(.)/g, '$1') ?? word,
  );
}

const PLACES = ['broker', 'collector', 'backend'];

describe.skipIf(redisMissing !== null)(
  titleUnless(redisMissing, 'the hints about rights of a Redis user who has none'),
  () => {
    it.each<
      [
        string,
        { broker: number; backend: number; channel: string; settings: CelerySettings; first: string[] },
      ]
    >([
      [
        'in one database',
        {
          broker: 0,
          channel: '/0.celeryev/worker.heartbeat',
          backend: 0,
          settings: {},
          first: [
            'ACL SETUSER <user> +ping +psubscribe &/0.celeryev/*',
            'ACL SETUSER <user> +ping +psubscribe &celery-task-meta-*',
          ],
        },
      ],
      [
        'in two, with prefixes that Redis would take for patterns',
        {
          broker: 3,
          channel: 'shop*:/3.celeryev',
          backend: 0,
          settings: {
            broker_transport_options: { global_keyprefix: 'shop*:', fanout_patterns: false },
            result_backend_transport_options: { global_keyprefix: '[x]' },
          },
          first: [
            'ACL SETUSER <user> +ping +select +subscribe &shop\\*:/3.celeryev',
            'ACL SETUSER <user> +ping +psubscribe &\\[x\\]_celery-task-meta-*',
          ],
        },
      ],
    ])(
      'name rules %s which, once they are run, leave none',
      async (_, { first, ...deployment }) => {
        const redis = await startRedis();
        onTestFinished(() => redis.close());
        const admin = createClient({ url: redis.url() });
        await admin.connect();
        onTestFinished(() => admin.destroy());
        const acl = (line: string) => admin.sendCommand(wordsOf(line.replace('<user>', 'mon')));
        await acl('ACL SETUSER mon on >pw resetkeys resetchannels -@all');
        const url = (database: number): string => redis.url(database).replace('//', '//mon:pw@');
        // Workers are heard as soon as the user may, so that nothing is looked for elsewhere.
        const worker = setInterval(
          () => void admin.publish(deployment.channel, heartbeat()).catch(() => {}),
          200,
        );
        onTestFinished(() => clearInterval(worker));
        const start = (): CelerySources => {
          const sources = celerySources({
            broker: url(deployment.broker),
            backend: url(deployment.backend),
            settings: deployment.settings,
          });
          onTestFinished(() => sources.close());
          return sources;
        };

        const linesOf = async (sources: CelerySources): Promise<string[]> => {
          // Whoever looks at the page asks for all of these.
          await Promise.allSettled([
            sources.workers.listWorkers(context),
            sources.health.checkWorkers?.({ ...context, ping: true }),
            sources.queues.listQueues(context),
            sources.schedules.listSchedules(context),
          ]);
          const configs = await Promise.all(PLACES.map((key) => componentOf(sources, key)));
          return configs
            .flatMap(({ config }) => config.hints as string[])
            .flatMap((hint) => /ACL SETUSER .*$/.exec(hint)?.[0] ?? []);
        };
        const sources = start();
        const run = new Set<string>();
        await until(async () => {
          for (const line of await linesOf(sources)) {
            if (!run.has(line)) await acl(line);
            run.add(line);
          }
          return run.size >= 5;
        });
        expect([...run].sort()).toEqual(
          expect.arrayContaining([
            'ACL SETUSER <user> %R~* +@read -keys',
            'ACL SETUSER <user> +info',
            ...first,
          ]),
        );
        expect(run.size).toBe(5);
        const allowed = start();
        await until(() => allowed.tasks.status?.().ok === true);
        await until(async () => {
          const { results } = (await componentOf(allowed, 'backend')).config;
          return (results as { readonly done: boolean }).done;
        });
        await until(async () => (await linesOf(allowed)).length === 0);
      },
      180_000,
    );
  },
);

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'the broker on Redis'), () => {
  it('names its server and version, and a queue that another transport has written', async () => {
    // This policy drops keys that expire, as results do, and no queues.
    const redis = await startRedis('--maxmemory-policy', 'volatile-lru');
    onTestFinished(() => redis.close());
    const client = createClient({ url: redis.url() });
    await client.connect();
    onTestFinished(() => client.destroy());
    await client.sendCommand(['ZADD', 'celery', '1', 'message']);
    const sources = celerySources({ broker: redis.url(), control: false });
    onTestFinished(() => sources.close());
    await until(async () => (await componentOf(sources, 'broker')).config.version !== null);
    const info = String(await client.sendCommand(['INFO', 'server']));
    const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
    const expected = valkey === undefined ? /^redis_version:(\S+)/m.exec(info)?.[1] : `valkey ${valkey}`;
    expect((await componentOf(sources, 'broker')).config.version).toBe(expected);
    await sources.queues.listQueues(context);
    expect((await componentOf(sources, 'broker')).config.hints).toEqual([
      "The key of the queue celery holds no list. It was not written by Celery's transport for Redis (kombu), so the tasks " +
        "that wait in it are not shown. Use a transport of kombu's own: broker_url = 'redis://…/0'.",
    ]);
  });
});
