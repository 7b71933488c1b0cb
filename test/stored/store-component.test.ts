import { describe, expect, it, vi } from 'vitest';
import { memorySources } from '../../src/memory.ts';
import { createArrayStore } from '../helpers/array-store.ts';

const CONTEXT = { signal: new AbortController().signal };
const WAIT = { timeout: 30_000, interval: 10 };

describe('the component history.store', () => {
  it('shows how the store is doing, and what to do when it is away', async () => {
    const store = createArrayStore();
    let isAway = true;
    store.before = () => {
      const remedy = 'Check that the database runs.';
      if (isAway) throw Object.assign(new Error('refused'), { code: 'unreachable', remedy });
    };
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const sources = memorySources({ store });
    const read = async () => (await sources.components?.listComponents(CONTEXT))?.[0];
    await vi.waitFor(async () => {
      expect(await read()).toMatchObject({
        ...{ key: 'history.store', status: 'down' },
        config: {
          phase: 'opening',
          error: 'refused',
          code: 'unreachable',
          hints: ['Check that the database runs.'],
        },
      });
    }, WAIT);
    expect(warning).toHaveBeenCalledTimes(1);
    expect(warning.mock.calls[0]?.[0]).toContain("The store of source 'memory' cannot be opened: refused");
    warning.mockRestore();
    sources.record({ id: 'a', state: 'SUCCESS', timestamp: new Date() });
    isAway = false;
    await vi.waitFor(async () => {
      expect(await read()).toMatchObject({
        status: 'up',
        config: {
          engine: 'postgres',
          phase: 'ready',
          is_holder: true,
          waiting: 0,
          lost: 0,
          error: null,
          hints: [],
        },
      });
    }, WAIT);
    expect((await read())?.config).toMatchObject({ delay_seconds: 0, last_write: expect.any(String) });
    await sources.close();
    expect(memorySources().components).toBeUndefined();
  });
});
