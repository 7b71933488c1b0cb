import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLruCache } from '../../src/lru-cache.ts';

describe('the cache', () => {
  it('drops what was used longest ago, by reading or by writing', () => {
    const cache = createLruCache<number>({ entries: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
    cache.set('a', 4);
    cache.set('d', 5);
    expect([cache.get('a'), cache.get('c'), cache.get('d')]).toEqual([4, undefined, 5]);
  });

  it('holds no more bytes than it may, and nothing that exceeds them by itself', () => {
    const cache = createLruCache<string>({ entries: 100, bytes: 10, sizeOf: (text) => text.length });
    cache.set('a', 'aaaa');
    cache.set('b', 'bbbb');
    cache.set('c', 'cccc');
    expect([cache.get('a'), cache.bytes, cache.size]).toEqual([undefined, 8, 2]);
    cache.set('b', 'b'.repeat(11));
    expect([cache.get('b'), cache.bytes, cache.size]).toEqual([undefined, 4, 1]);
    expect([cache.delete('c'), cache.delete('c'), cache.bytes]).toEqual([true, false, 0]);
    cache.set('d', 'd');
    cache.clear();
    expect([cache.get('d'), cache.bytes, cache.size]).toEqual([undefined, 0, 0]);
  });

  it('holds what a list of the last used keys holds, whatever is done to it', () => {
    const step = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.constantFrom(...'abcdefgh'));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = createLruCache<string>({ entries: 3 });
        let keys: string[] = [];
        for (const [kind, key] of steps) {
          const rest = keys.filter((other) => other !== key);
          if (kind === 'delete') {
            cache.delete(key);
            keys = rest;
          } else if (kind === 'set') {
            cache.set(key, key);
            keys = [...rest, key].slice(-3);
          } else if (keys.includes(key)) {
            expect(cache.get(key)).toBe(key);
            keys = [...rest, key];
          } else expect(cache.get(key)).toBeUndefined();
        }
        expect(cache.size).toBe(keys.length);
        for (const key of keys) expect(cache.get(key)).toBe(key);
      }),
    );
  });
});
