/** What fuzzing has found, each as small as it became. */
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { bullmqSources } from '../../src/bullmq.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import { openArrayDeployment } from '../celery/array-deployment.ts';
import { walk } from '../helpers/bullmq-read.ts';
import { context } from '../helpers/celery-events.ts';
import { cpuMs } from '../helpers/cpu-time.ts';
import { redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { startExporter } from '../metrics/fake-exporter.ts';
import { mount, outcome } from '../metrics/metrics-host.ts';

describe('a history', () => {
  it.each(['', 'x'.repeat(513)])('knows no worker by a name that cannot be shown', async (worker) => {
    const history = createMemoryHistory();
    history.writer.recordTask({ id: 'a', type: 'started', time: null, origin: 'result', worker });
    history.writer.recordWorker({ hostname: worker, type: 'online', time: Date.now() });
    expect(await history.reader.listWorkers(context)).toEqual([]);
    expect((await history.reader.getTask('a', context))?.worker ?? null).toBeNull();
    history.close();
  });
});

describe('a repr', () => {
  it.each(["\\'", '\\"', "'a\\"])(
    'of %j again and again is compared in a time that grows with its length',
    async (bit) => {
      const settings = { beat_schedule: { nightly: { task: 'report', schedule: 30 } } };
      const { hear, schedules } = openArrayDeployment({ control: false, settings });
      const send = (uuid: string, timestamp: number, args: string): void =>
        hear({ type: 'task-sent', uuid, name: 'report', timestamp, args, kwargs: '{}' });
      // Once a run is seen, the arguments of each task are compared.
      await until(async () => {
        for (const seconds of [0, 30]) send(`run ${seconds}`, 1e9 + seconds, '()');
        return (await schedules())?.[0]?.lastRunAt != null;
      });
      const start = cpuMs();
      send('long', 1e9 + 60, bit.repeat(60_000));
      // The aim is 50 ms; trying each quote as a beginning takes minutes.
      expect(cpuMs() - start).toBeLessThan(2_000);
    },
  );
});

describe("an exporter's content type", () => {
  it.each([
    ...[' ', '\t'].map((blank) => [blank, '200 text/plain up 1\n'] as const),
    ...['\v', '\u00a0'].map((blank) => [blank, 'exporter_invalid'] as const),
  ])('after %j makes the answer %j', async (blank, expected) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Type:${blank}text/plain\r\nContent-Length: 5\r\n\r\nup 1\n`;
    const exporter = await startExporter((socket) => socket.end(head, 'latin1'));
    expect(await outcome(await mount(exporter.url))).toBe(expected);
  });
});

describe('a crontab', () => {
  it('may be a list with holes', async () => {
    const hour = new Array<number>(2);
    hour[1] = 2;
    const schedule = { minute: 0, hour };
    const { schedules } = openArrayDeployment({
      control: false,
      settings: { beat_schedule: { nightly: { task: 'report', schedule } } },
    });
    expect(await schedules()).toMatchObject([{ name: 'nightly', nextRunAt: null }]);
  });
});

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, "BullMQ's list"), () => {
  it('has a job without a time once, whatever the size of its pages', async () => {
    const server = await startRedis();
    const redis = new Redis(server.port, '127.0.0.1');
    const sources = bullmqSources({ connection: server.url() });
    try {
      await redis.hset('bull:q:meta', 'version', 'bullmq:6.7.0');
      for (const [id, timestamp] of Object.entries({ a: '', b: '1790000000000', c: '1790000000000' })) {
        await redis.hset(`bull:q:${id}`, { name: 'a', timestamp });
        await redis.lpush('bull:q:wait', id);
      }
      for (const limit of [1, 2, 3]) {
        const rows = await walk(sources, { limit });
        expect([limit, rows.map(({ id }) => id)]).toEqual([limit, ['q:b', 'q:c', 'q:a']]);
      }
    } finally {
      await sources.close();
      redis.disconnect();
      await server.close();
    }
  });
});
