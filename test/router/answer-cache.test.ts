import { describe, expect, it } from 'vitest';
import { keepAlive } from '../helpers/ask.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { at, createShop } from './shop-sources.ts';

describe('an answer that is asked for again and again', () => {
  it('stays kept while hundreds of others come and go', async () => {
    const shop = createShop();
    const status = () => ({ ok: true, asOf: at(0), revision: 1 });
    const tasks = { ...shop.sources.tasks, status };
    const { get } = await serve(EXPRESS, { sources: { tasks } });
    await get('/api/tasks/');

    for (let other = 0; other < 600; other += 1) {
      await get(`/api/tasks/?name=task-${other}`, { agent: keepAlive, ours: false });
      if (other % 100 === 0) await get('/api/tasks/');
    }
    expect(shop.calls.listTasks).toBe(601);
  });
});
