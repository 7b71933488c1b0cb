/** Refusals of overloads: clients that ask again at once must not keep the host busy with them. */
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ProblemBody } from '../../src/wire.ts';
import { askMany } from '../helpers/ask-many.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

/** How many refusals wait at most. */
const MOST_WAITING = 1_000;

afterEach(() => {
  vi.useRealTimers();
});

const { setTimeout: wait } = globalThis;

/** The time that the monitor knows stands still meanwhile. */
async function reached(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => wait(resolve, 5));
}

/** A monitor whose one read hangs; each further list is refused. */
async function overloaded() {
  const listTasks = vi.fn(() => new Promise<never>(() => {}));
  let arrived = 0;
  const host = await serve(
    EXPRESS,
    { sources: { tasks: { ...createShop().sources.tasks, listTasks } }, limits: { concurrency: 1 } },
    {
      before: (app) =>
        void app.use((_request, _response, next) => {
          arrived += 1;
          next();
        }),
    },
  );
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const first = host.get('/api/tasks/?limit=1');
  await reached(() => listTasks.mock.calls.length === 1);
  onTestFinished(async () => {
    vi.useRealTimers();
    await host.router.close();
    await first;
  });
  return { ...host, listTasks, arrived: () => arrived };
}

describe('a router with too much to do', () => {
  it('answers a client that ignores Retry-After ten times a second at most', async () => {
    const { get, arrived, listTasks } = await overloaded();
    for (const limit of [2, 3, 4, 5]) {
      const before = arrived();
      const answered = vi.fn();
      const asked = get<ProblemBody>(`/api/tasks/?limit=${limit}`);
      void asked.then(answered);
      await reached(() => arrived() > before);
      await vi.advanceTimersByTimeAsync(99);
      // A request that came later is answered before it.
      expect((await get('/canary', { ours: false })).status).toBe(404);
      expect(answered).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      const { status, body, headers } = await asked;
      expect([status, body.code, headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    }
    expect(listTasks).toHaveBeenCalledTimes(1);
  });

  it('refuses at once while a thousand others wait for their refusal', { timeout: 300_000 }, async () => {
    const { base, get, arrived } = await overloaded();
    const paths = Array.from({ length: MOST_WAITING }, (_, at) => `/api/tasks/?limit=7&name=${at}`);
    const before = arrived();
    const waiting = askMany(base, paths, { connections: MOST_WAITING });
    await reached(() => arrived() === before + MOST_WAITING);
    // By now, all that have arrived wait.
    await get('/canary', { ours: false });
    expect((await get('/api/tasks/?limit=8')).status).toBe(503);
    await vi.advanceTimersByTimeAsync(100);
    expect((await waiting).map(({ status }) => status).filter((status) => status !== 503)).toEqual([]);
  });
});
