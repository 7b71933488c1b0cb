import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { MonitorSources } from '../../src/source.ts';
import { createShop } from '../router/shop-sources.ts';

describe('combineSources', () => {
  const sources: MonitorSources = createShop().sources;

  it('refuses what it cannot combine, and says what to write', () => {
    expect(() => combineSources()).toThrow(/combineSources: write one or more sources/);
    for (const given of [null, undefined, 7, 'celery']) {
      expect(() => combineSources(given as never)).toThrow(
        /combineSources: 'sources\[0\]' must be an object/,
      );
    }
    expect(() => combineSources([sources] as never)).toThrow(
      /'sources\[0\]' must be one source, not an array\. Write combineSources\(a, b\)/,
    );
    expect(() => combineSources(sources, { task: sources.tasks } as never)).toThrow(/Did you mean 'tasks'/);
    expect(() => combineSources(sources, { tasks: { name: 'x' } as never })).toThrow(
      /'sources\[1\]\.tasks\.listTasks' must be a function/,
    );
    expect(() => combineSources(sources, sources)).toThrow(TypeError);
    expect(() => combineSources(sources, combineSources(sources))).toThrow(/two sources .* are named 'shop'/);
  });

  it('closes every source, also when one of them throws', async () => {
    const closed: string[] = [];
    const end = (name: string) => ({ close: () => void closed.push(name) });
    const fail = { close: () => Promise.reject(new Error('no')) };
    const failAtOnce = {
      close() {
        throw new RangeError('no');
      },
    };
    await expect(combineSources(end('a'), failAtOnce, end('b')).close?.()).rejects.toThrow(RangeError);
    await expect(combineSources(fail, combineSources(failAtOnce, end('c'))).close?.()).rejects.toThrow(
      AggregateError,
    );
    expect(closed).toEqual(['a', 'b', 'c']);
  });

  it('has figures only when every source has some, and workflows when any has', () => {
    const { getTaskStats: _, getTaskTree: __, ...bare } = createShop().sources.tasks;
    const { tasks } = combineSources(sources, { tasks: { ...bare, name: 'bare' } });
    expect(tasks?.getTaskStats).toBeUndefined();
    expect(tasks?.getTaskTree).toBeTypeOf('function');
  });
});
