/** Sources that several routers show, and sources that were closed. */
import { describe, expect, it, vi } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { HealthBody, ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { createShop } from './shop-sources.ts';

describe('close()', () => {
  it('leaves sources open that another router shows', async () => {
    const close = vi.fn();
    const queue = memorySources();
    queue.record({ id: 'a', state: 'STARTED' });
    const sources = { ...queue, close };
    const all = combineSources(sources, { workers: createShop().sources.workers });
    const hosts = [
      await serve(EXPRESS, { sources }),
      // The same source in another bundle, and in combinations.
      await serve(EXPRESS, { sources: { ...sources, workers: createShop().sources.workers } }),
      await serve(EXPRESS, { sources: all }),
      await serve(EXPRESS, { sources: { ...all } }),
    ];
    for (const { router } of hosts.slice(0, -1)) {
      await router.close();
      await router.close();
    }
    expect(close).not.toHaveBeenCalled();
    expect((await hosts.at(-1)?.get<TasksBody>('/api/tasks/'))?.body.tasks).toHaveLength(1);
    await hosts.at(-1)?.router.close();
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('closes each object of a class with its own method', async () => {
    class Sources {
      closed = 0;
      close(): void {
        this.closed += 1;
      }
    }
    const [one, two] = [new Sources(), new Sources()];
    const { router } = await serve(EXPRESS, { sources: one });
    await serve(EXPRESS, { sources: two });
    await router.close();
    expect([one.closed, two.closed]).toEqual([1, 0]);
  });

  it('is no empty list when the host itself has closed the sources', async () => {
    const queue = memorySources();
    queue.record({ id: 'a', state: 'STARTED' });
    const { get } = await serve(EXPRESS, { sources: queue });
    expect((await get<TasksBody>('/api/tasks/')).body.tasks).toHaveLength(1);
    queue.close();
    // What was shown before is shown as old, what was not is no answer.
    const last = await get<TasksBody>('/api/tasks/');
    expect(last.body).toMatchObject({ tasks: [{ task_id: 'a' }], sources: [{ ok: false }] });
    for (const path of ['/api/tasks/?limit=2', '/api/tasks/a/', '/api/workers/', '/api/events/latest/']) {
      const { status, body } = await get<ProblemBody>(path);
      expect([path, status, body.code]).toEqual([path, 503, 'source_unavailable']);
    }
    const { status, body } = await get<HealthBody>('/healthcheck');
    expect([status, body.checks.workers]).toMatchObject([
      503,
      { ok: false, error: 'The source was closed.' },
    ]);
  });
});
