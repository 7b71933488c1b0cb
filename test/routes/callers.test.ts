import { describe, expect, it } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

describe('callers', () => {
  it('are the names that sent a task, and callees those that it sent', async () => {
    const sources = memorySources();
    const record = (id: string, name: string | null, parentId: string | null = null): void =>
      sources.record({ id, state: 'SUCCESS', parentId, ...(name !== null && { name }) });
    record('o1', 'order.place');
    record('o2', 'order.place');
    record('r', 'refund');
    record('nameless', null);
    for (const [n, parent] of ['o1', 'o1', 'o2', 'r', 'nameless', 'gone', null].entries()) {
      record(`p${n}`, 'pay', parent);
    }
    for (let n = 0; n < 3; n++) record(`m${n}`, 'mail', 'p1');
    record('l', 'log', 'p6');
    const { get } = await serve(EXPRESS, { sources });
    const read = async (name: string) =>
      (await get<TasksBody>(`/api/tasks/?limit=0&stats=5&stats_callers=true&name=${name}`)).body.stats;
    expect(await read('pay')).toMatchObject({
      callers: [
        { name: 'order.place', count: 3 },
        { name: 'refund', count: 1 },
      ],
      callees: [
        { name: 'mail', count: 3 },
        { name: 'log', count: 1 },
      ],
    });
    expect(await read('order.place')).toMatchObject({ callers: [], callees: [{ name: 'pay', count: 3 }] });
    expect((await get<TasksBody>('/api/tasks/?limit=0&stats=5&name=pay')).body.stats).not.toHaveProperty(
      'callers',
    );
  });

  it('are the 50 most frequent', async () => {
    const sources = memorySources();
    sources.record({ id: 'all', name: 'fan.out', state: 'SUCCESS' });
    for (let n = 0; n < 120; n++) {
      // The last by name comes first.
      const step = 59 - (n % 60);
      if (n >= 60 && step > 9) continue;
      const name = `step.${String(step).padStart(2, '0')}`;
      sources.record({ id: `c${n}`, name, state: 'SUCCESS', parentId: 'all' });
    }
    const { get } = await serve(EXPRESS, { sources });
    const query = 'limit=0&stats=5&stats_callers=true&name=fan.out';
    const { callees } = (await get<TasksBody>(`/api/tasks/?${query}`)).body.stats ?? {};
    expect(callees).toHaveLength(50);
    expect(callees?.[9]).toEqual({ name: 'step.09', count: 2 });
    expect(callees?.[49]).toEqual({ name: 'step.49', count: 1 });
  });
});
