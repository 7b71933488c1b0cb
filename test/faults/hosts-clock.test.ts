import { connect } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import { celerySources } from '../../src/celery.ts';
import { memorySources } from '../../src/memory.ts';
import type { HealthBody, SchedulesBody, WorkersBody } from '../../src/wire.ts';
import { redisMissing, until } from '../helpers/redis-server.ts';
import { createShop } from '../router/shop-sources.ts';
import { faultCase } from './kit/fault-case.ts';
import { redisFor } from './kit/redis-sources.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 21, 12);

faultCase(75, 'the clock jumps an hour back and forth', async (bench) => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON });
  onTestFinished(() => void vi.useRealTimers());
  const queue = memorySources();
  queue.record({ id: 'a', state: 'STARTED', worker: 'w1' });
  queue.recordWorker({ hostname: 'w1' });
  const checkBroker = vi.fn(() => ({ ok: true }));
  const sources = { ...queue, health: { name: 'memory', checkBroker } };
  const host = await bench.serve({ sources, health: { reuseMs: 50 } });
  const paths = ['/api/tasks/?stats=60', '/api/tasks/a/', '/api/workers/', '/api/events/latest/'];
  for (const jump of [0, -HOUR, HOUR, -HOUR, 0]) {
    vi.setSystemTime(NOON + jump);
    for (const path of paths) await bench.expectAnswer(host, path, { status: 200, aimMs: 50 });
    const [worker] = (await host.get<WorkersBody>('/api/workers/')).body.workers;
    expect(worker?.last_seen_seconds).toBeGreaterThanOrEqual(0);
    // What is reused is reused by a clock that does not jump: a result of "the future" is not kept for ever.
    const before = checkBroker.mock.calls.length;
    await until(async () => {
      expect((await host.get<HealthBody>('/healthcheck?checks=broker')).body.ok).toBe(true);
      return checkBroker.mock.calls.length > before;
    });
    queue.record({ id: `at ${jump}`, state: 'SUCCESS' });
  }
});

faultCase(
  75,
  'schedules fall on leap days, into the hour that a clock leaves out, or are never due',
  async (bench) => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON });
    onTestFinished(() => void vi.useRealTimers());
    const redis = await redisFor();
    const entry = (schedule: string) => ({ task: 'a', schedule });
    const settings = {
      timezone: 'Europe/Prague',
      beat_schedule: {
        leap: entry('<crontab: 0 0 29 2 * (m/h/dM/MY/d)>'),
        spring: entry('<crontab: 30 2 28 3 * (m/h/dM/MY/d)>'),
        never: entry('<crontab: 0 0 31 2 * (m/h/dM/MY/d)>'),
        both: entry('<crontab: 0 0 13 * 5 (m/h/dM/MY/d)>'),
      },
    };
    const host = await bench.serve({
      sources: celerySources({ broker: redis.url(), settings, control: false }),
    });
    const path = '/api/beat/schedules/';
    await until(async () => (await host.get(path)).status === 200);
    const { body } = await bench.expectAnswer<SchedulesBody>(host, path, { status: 200, aimMs: 100 });
    const next = Object.fromEntries(body.schedules.map(({ name, next_run_at: at }) => [name, at]));
    expect(next.leap).toBe('2028-02-28T23:00:00.000Z');
    expect(next.never).toBeNull();
    // Half past two is left out on that day; what is told is some moment of it, or of a later year.
    expect(Date.parse(String(next.spring))).toBeGreaterThan(NOON);
    // Both of day and weekday have to hold, as in Celery.
    expect(next.both).toBe('2027-08-12T22:00:00.000Z');
  },
  { missing: redisMissing },
);

faultCase(76, 'two hundred clients never finish their requests', async (bench) => {
  const shop = createShop();
  const host = await bench.serve({ sources: shop.sources });
  const { port } = new URL(host.url);
  const sockets = Array.from({ length: 200 }, (_, index) => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    const head = `GET /monitor/api/tasks/?limit=${index} HTTP/1.1\r\nHost: a\r\n`;
    // Half of them send a head without an end, the others a body that never comes.
    socket.write(index % 2 === 0 ? head : `${head}Content-Length: 1000000\r\nExpect: nothing\r\n`);
    return socket;
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const calls = { ...shop.calls };
  for (let index = 0; index < 50; index += 1) {
    for (const socket of sockets) socket.write(`X-${index}: a\r\n`);
    await bench.expectAnswer(host, '/api/workers/', { status: 200, aimMs: 50 });
  }
  // Nothing was begun for any of them.
  expect({ ...shop.calls, listWorkers: 0 }).toEqual({ ...calls, listWorkers: 0 });
});
