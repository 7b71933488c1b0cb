/** Rows 15 to 18 and 95: clients that leave, that read slowly, that are very many, or that ask for everything. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, onTestFinished } from 'vitest';
import { askMany } from '../helpers/ask-many.ts';
import { collectGarbage } from '../helpers/collect-garbage.ts';
import { type Host, until } from '../router/host-kit.ts';
import { sourcesWith } from '../router/hostile-values.ts';
import { createShop, shopTask } from '../router/shop-sources.ts';
import { expressCase, type FaultBench, faultCase } from './kit/fault-case.ts';

/** A connection of a client's that has asked and reads nothing. */
async function askAndWait({ base }: Host, path: string): Promise<Socket> {
  const { hostname, port, pathname } = new URL(base);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(`GET ${pathname}${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return socket;
}

const CLIENTS = 1_000;
const AT_ONCE = 50;

expressCase(
  15,
  `${CLIENTS} clients that leave before their answer, and one that stays`,
  async ({ serve, expectAnswer, figure }) => {
    const signals: AbortSignal[] = [];
    let finish: (value: unknown) => void = () => {};
    const sources = sourcesWith('workers', 'listWorkers', (context) => {
      signals.push((context as { signal: AbortSignal }).signal);
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    let open = 0;
    const host = await serve(
      { sources, timeoutMs: 60_000 },
      {
        before: (app) =>
          void app.use('/monitor', (_request, response, next) => {
            open += 1;
            response.on('close', () => {
              open -= 1;
            });
            next();
          }),
      },
    );
    const staying = expectAnswer(host, '/api/workers/', { status: 200, aimMs: 60_000 });
    await until(() => open === 1);
    for (let left = 0; left < CLIENTS; left += AT_ONCE) {
      const sockets = await Promise.all(
        Array.from({ length: AT_ONCE }, () => askAndWait(host, '/api/workers/')),
      );
      // Half of them before the request has arrived, perhaps; half of them for sure while it waits.
      if (left % (2 * AT_ONCE) === 0) await until(() => open === AT_ONCE + 1);
      for (const socket of sockets) socket.resetAndDestroy();
      await until(() => open <= 1);
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    finish([]);
    await staying;

    // Now nobody stays.
    const last = await askAndWait(host, '/api/workers/');
    // What some of the others sent may still be read by now, and is given up at once.
    const others = () => signals.slice(1).map(({ aborted }) => aborted);
    await until(() => others().includes(false));
    last.destroy();
    await until(() => open === 0 && !others().includes(false));
    expect(signals[0]?.aborted).toBe(false);
    figure('clients', CLIENTS);
  },
);

/** A host whose list of tasks takes 4 MB. */
async function serveLarge({ serve }: FaultBench) {
  const args = 'x'.repeat(4_000);
  const tasks = Array.from({ length: 1_000 }, (_, index) => Object.freeze({ ...shopTask(index), args }));
  const shop = createShop();
  shop.status = { ok: true, asOf: new Date(), revision: 1 };
  const listTasks = () => ({ tasks, next: null, total: 1_000 });
  const source = { ...shop.sources.tasks, listTasks };
  return { host: await serve({ sources: { tasks: source }, limits: { preview: 4_096 }, timeoutMs: 60_000 }) };
}
const LARGE = '/api/tasks/?limit=1000';

expressCase(15, 'clients that leave within their answer', async (bench) => {
  const { host } = await serveLarge(bench);
  await bench.expectAnswer(host, LARGE, { status: 200 });
  for (let round = 0; round < 10; round += 1) {
    const sockets = await Promise.all(Array.from({ length: 10 }, () => askAndWait(host, LARGE)));
    for (const [index, socket] of sockets.entries()) {
      socket.once('data', () => (index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy())).resume();
    }
    await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, 'close')));
  }
  await bench.expectAnswer(host, LARGE, { status: 200 });
});

const READERS = 100;
const MB = 1024 * 1024;

faultCase(16, `${READERS} readers that stop within a body of 4 MB`, async (bench) => {
  const { host } = await serveLarge(bench);
  const { bytes } = await bench.expectAnswer(host, LARGE, { status: 200 });
  expect(bytes.length).toBeGreaterThan(4_000_000);
  const before = held();
  const sockets = await Promise.all(Array.from({ length: READERS }, () => askAndWait(host, LARGE)));
  // They have all been answered, as far as their connections take it.
  await Promise.all(sockets.map((socket) => once(socket.resume(), 'data').then(() => socket.pause())));
  const more = Math.round((held() - before) / MB);
  bench.figure('held more', `${more} MB`);
  // A copy for each would be 400 MB. What the clients of this same process have read is part of it.
  expect(more).toBeLessThan(80);
  await bench.expectAnswer(host, '/api/workers/', { status: [200, 501] });
});

/** Bytes that this process holds, after what nobody needs has gone. */
function held(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const PAGES = [
  '/api/tasks/',
  '/api/workers/',
  '/api/events/latest/',
  '/api/beat/schedules/',
  '/api/tasks/?limit=5',
];

const IDS = 1_500;

faultCase(18, `${IDS} different ids, each of a task of 64 kB`, async ({ serve, figure }) => {
  const shop = createShop();
  shop.status = { ok: true, asOf: new Date(), revision: 1 };
  const getTask = (id: string) => ({
    ...shopTask(1),
    id,
    // Not one text that they share.
    args: `${id} ${'x'.repeat(32_000)}`,
    result: Buffer.alloc(32_000, id).toString('latin1'),
    children: [],
    timeline: [],
  });
  const getTaskTree = (id: string) => ({ rootId: id, tasks: [getTask(id)] });
  const tasks = { ...shop.sources.tasks, getTask, getTaskTree };
  const host = await serve({ sources: { tasks }, timeoutMs: 60_000 });
  const paths = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `/api/tasks/id-${from + index}/`);
  await askMany(host.base, paths(0, 100));
  const before = held();
  const answers = await askMany(host.base, paths(100, IDS));
  const updates = paths(0, IDS / 2).map((path) => `${path}graph/updates/`);
  answers.push(...(await askMany(host.base, updates)));
  expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  const more = Math.round((held() - before) / MB);
  figure('held more', `${more} MB`);
  // 16 MB of answers and a thousand targets; all of them would be 100 MB.
  expect(more).toBeLessThan(60);
});

const VIEWERS = 64;
const LOOKUP_MS = 20;

expressCase(
  95,
  `${VIEWERS} clients whose sessions are looked up in a slow store, which then hangs`,
  async (bench) => {
    const shop = createShop();
    shop.status = { ok: true, asOf: new Date(), revision: 1 };
    let hangs = false;
    const authorize = () =>
      new Promise<boolean>((resolve) => {
        if (!hangs) setTimeout(resolve, LOOKUP_MS, true);
      });
    const host = await bench.serve({
      sources: shop.sources,
      authorize,
      timeoutMs: 10_000,
      onError: () => {},
    });
    const paths = Array.from({ length: 20 * VIEWERS }, (_, index) => PAGES[index % PAGES.length] ?? '');
    const ask = (count: number) => askMany(host.base, paths.slice(0, count), { connections: VIEWERS });
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const answers = await ask(paths.length);
    delay.disable();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(shop.calls).toEqual({ listTasks: 2, listWorkers: 1, listEvents: 1, listSchedules: 1 });
    const times = answers.map(({ took }) => took).sort((a, b) => a - b);
    bench.figure('p99', `${Math.round(times[Math.floor(0.99 * times.length)] ?? 0)} ms`);
    bench.figure('event loop p99, ms', Math.round(delay.percentile(99) / 1e6));

    hangs = true;
    const refused = await ask(VIEWERS);
    expect(refused.filter(({ status }) => status !== 403)).toEqual([]);
    hangs = false;
    await bench.expectAnswer(host, '/api/tasks/', { status: 200 });
  },
);
