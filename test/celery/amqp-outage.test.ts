import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { startTcpProxy } from '../faults/kit/tcp-proxy.ts';
import { amqpPublisher, receivedEvent } from '../helpers/amqp-events.ts';
import { bundleScript, ROOT } from '../helpers/bundle-script.ts';
import { celeryApp, celeryMissing } from '../helpers/celery-app.ts';
import { context, feedOf, stateOf } from '../helpers/celery-events.ts';
import { atProcessEnd } from '../helpers/process-end.ts';
import { type OwnRabbit, rabbitMissing, startRabbit } from '../helpers/rabbitmq.ts';
import { createClient } from '../helpers/redis-client.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { queryOf } from '../helpers/task-query.ts';

const missing = rabbitMissing ?? redisMissing ?? celeryMissing;
const OUTAGE_MS = 60_000;
/** An event is published this often, in milliseconds. */
const EVERY_MS = 25;
const TASKS = 40;

describe.skipIf(missing !== null)(titleUnless(missing, 'outages of RabbitMQ'), { timeout: 900_000 }, () => {
  let rabbit: OwnRabbit;

  beforeAll(async () => {
    rabbit = await startRabbit();
  });

  afterAll(() => rabbit?.close());

  async function cursorOf(sources: ReturnType<typeof celerySources>): Promise<string> {
    const page = { limit: 1, since: null, states: [], workers: [], tasks: [] };
    return (await sources.events.listEvents(page, context)).cursor ?? '';
  }

  /** The queues of monitors, with the messages that wait in them. */
  async function leftovers(): Promise<{ name: string; messages: number }[]> {
    const rows = await rabbit.manage<{ name: string; messages_ready?: number }[]>('GET', 'queues/%2F');
    return rows
      .filter(({ name }) => /^express-task-monitor\..*\.celeryev$/.test(name))
      .map(({ name, messages_ready: messages = 0 }) => ({ name, messages }));
  }

  it.each([
    ['is cut', { refuse: true }],
    ['is silent', { halfOpen: true }],
  ])(`no event is lost while the connection %s for ${OUTAGE_MS / 1000} seconds`, async (_, fault) => {
    const publisher = await amqpPublisher(rabbit.url());
    const proxy = await startTcpProxy(rabbit.port);
    const broker = rabbit.url().replace(`:${rabbit.port}/`, `:${proxy.port}/`);
    const sources = celerySources({ broker, control: false });
    const isUp = (): boolean => sources.events.status?.().ok === true;
    await until(isUp);
    let published = 0;
    const busy = setInterval(() => {
      publisher.publish([receivedEvent(`cut-${published++}`)]);
    }, EVERY_MS);
    onTestFinished(async () => {
      clearInterval(busy);
      await sources.close();
      await publisher.close();
    });
    await until(async () => (await stateOf(sources, 'cut-10')) !== null);
    const before = await cursorOf(sources);
    proxy.set(fault);
    if ('refuse' in fault) proxy.reset();
    await until(() => !isUp(), 30_000);
    const missed = published + OUTAGE_MS / EVERY_MS;
    await until(() => published >= missed, 10 * OUTAGE_MS);
    proxy.set({});
    await until(isUp, 30_000);
    clearInterval(busy);
    publisher.publish([receivedEvent('last')]);
    await publisher.confirmed();
    await until(async () => (await stateOf(sources, 'last')) !== null, 120_000);
    const { total } = await sources.tasks.listTasks(queryOf({ limit: 1 }), context);
    expect(total).toBe(published + 1);
    // That nothing is missing is not known.
    expect(await feedOf(sources, before)).toMatchObject({ gap: true });
  });

  it.each([
    ['killed', () => rabbit.kill()],
    ['stopped', () => rabbit.stop()],
  ])('a broker that is %s and started is a gap, and states are repaired from the backend', async (_, end) => {
    // What an outage before has left would be run here.
    await rabbit.manage('DELETE', 'queues/%2F/celery').catch(() => {});
    const redis = await startRedis();
    const client = await createClient({ url: redis.url() })
      .on('error', () => {})
      .connect();
    const settings = { broker_url: rabbit.url(), result_backend: redis.url(), task_send_sent_event: true };
    const app = celeryApp({ ...settings, task_track_started: true, worker_hijack_root_logger: false });
    const sources = celerySources({ settings, eventQueue: { expires: 60 } });
    onTestFinished(async () => {
      await sources.close();
      await app.close();
      client.destroy();
      await redis.close();
    });
    await until(() => sources.events.status?.().ok === true);
    await app.worker('-n', 'w1@alpha', '-c', '2', '-P', 'prefork');
    await app.send({ name: 'shop.add', args: [1, 2] });
    const tasks = async () => (await sources.tasks.listTasks(queryOf({ limit: 1_000 }), context)).tasks;
    await until(async () => (await tasks()).some(({ state }) => state === 'SUCCESS'));
    await app.send(...Array.from({ length: TASKS }, () => ({ name: 'shop.slow', args: [0.5] })));
    await until(async () => (await tasks()).length === TASKS + 1);
    const before = await cursorOf(sources);
    await end();
    await until(() => sources.events.status?.().ok === false);
    // A broker that is killed loses tasks, too, but not those that were running. No event tells how these ended.
    const stored = async () => await storedStates(client);
    await until(async () => (await stored()).length > 2, 120_000);
    await rabbit.start();
    await until(async () => (await feedOf(sources, before)).gap, 60_000);
    const ended = await stored();
    await until(async () => {
      const states = new Map((await tasks()).map(({ id, state }) => [id, state]));
      return ended.every(({ id, state }) => states.get(id) === state);
    });
    await sources.close();
    expect(await leftovers()).toEqual([]);
  });

  it('monitors and brokers that are killed leave no queue that grows', async () => {
    const publisher = await amqpPublisher(rabbit.url());
    const publish = async (count: number): Promise<void> => {
      for (let id = 0; id < count; id += 1) publisher.publish([receivedEvent(`left-${id}`)]);
      await publisher.confirmed();
    };
    const monitors = await Promise.all(Array.from({ length: 5 }, () => startMonitor(rabbit.url())));
    await until(async () => (await leftovers()).length === 5);
    for (const monitor of monitors) monitor.kill('SIGKILL');
    await publish(3_000);
    await until(async () => (await leftovers()).some(({ messages }) => messages === 1_000));
    expect((await leftovers()).every(({ messages }) => messages <= 1_000)).toBe(true);
    await until(async () => (await leftovers()).length === 0, 60_000);

    const survivor = await startMonitor(rabbit.url());
    await until(async () => (await leftovers()).length === 1);
    await rabbit.kill();
    survivor.kill('SIGKILL');
    await rabbit.start();
    await until(async () => (await leftovers()).length === 0, 60_000);
    await publisher.close();
  });
});

/** What the result backend has. */
async function storedStates(client: {
  keys(pattern: string): Promise<string[]>;
  mGet(keys: string[]): Promise<(string | null)[]>;
}) {
  const keys = await client.keys('celery-task-meta-*');
  const metas = keys.length === 0 ? [] : await client.mGet(keys);
  const parsed = metas.map((meta) => JSON.parse(meta ?? '{}') as { task_id: string; status: string });
  return parsed
    .filter(({ status }) => status === 'SUCCESS')
    .map(({ task_id: id, status: state }) => ({ id, state }));
}

/** A monitor with a small queue in a process of its own. */
async function startMonitor(broker: string): Promise<ChildProcess> {
  const script = `import { celerySources } from './src/celery.ts';
    const sources = celerySources({ broker: ${JSON.stringify(broker)}, eventQueue: { maxLength: 1000, expires: 10 } });
    const wait = setInterval(() => { if (sources.events.status().ok) console.log('up'); }, 50);`;
  const bundled = await bundleScript(script);
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const forget = atProcessEnd(() => child.kill('SIGKILL'));
  child.once('exit', forget);
  child.stdin.end(bundled);
  await once(child.stdout, 'data');
  child.stdout.resume();
  return child;
}
