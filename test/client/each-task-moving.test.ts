import { describe, expect, it } from 'vitest';
import { createMonitorClient, type MonitorClient } from '../../src/client.ts';
import { memorySources } from '../../src/memory.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

const LIMIT = 20;

/** Calls `between` after every {@link LIMIT} tasks. */
async function idsOf(client: MonitorClient, between: () => unknown): Promise<string[]> {
  const ids: string[] = [];
  for await (const task of client.eachTask({ limit: LIMIT })) {
    ids.push(task.task_id);
    if (ids.length % LIMIT === 0) await between();
  }
  return ids;
}

describe('eachTask of tasks that move while it reads', () => {
  it('finds each task of a memory source once', async () => {
    const queue = memorySources();
    const { base } = await serve(EXPRESS, { sources: queue });
    const all = Array.from({ length: 300 }, (_, n) => `t${n}`);
    const start = Date.now() - 600_000;
    for (const [n, id] of all.entries()) {
      queue.record({ id, state: 'PENDING', name: 'job', timestamp: start + n * 100 });
    }
    // The tasks that run are those that a walk, the newest first, comes to last.
    let next = 0;
    const ids = await idsOf(createMonitorClient(base), () => {
      for (const id of all.slice(next, next + 9)) queue.record({ id, state: 'STARTED', name: 'job' });
      next += 9;
    });
    expect(next).toBeGreaterThan(100);
    expect(ids.toSorted()).toEqual(all.toSorted());
  });
});
