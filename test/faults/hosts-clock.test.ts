import { connect } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { HealthBody, WorkersBody } from '../../src/wire.ts';
import { until } from '../helpers/redis-server.ts';
import { createShop } from '../router/shop-sources.ts';
import { faultCase } from './kit/fault-case.ts';

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
