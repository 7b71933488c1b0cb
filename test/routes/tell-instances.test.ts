import { describe, expect, it, vi } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { backlog, fill, listen, ONE, WAIT } from './tell-kit.ts';

describe.concurrent('onFinding of instances with a store', () => {
  it('is called by one of them, and what was told is known to the one that takes over', async (test) => {
    const store = createArrayStore();
    const first = backlog('jobs', store);
    const one = listen(test, { sources: first });
    await vi.waitFor(() => expect(one.heard).toEqual(ONE), WAIT);
    const holder = () => store.rows('jobs').lease?.holder;
    const before = holder();
    const second = memorySources({ name: 'jobs', store });
    const two = listen(test, { sources: second });
    await one.monitor.close();
    await vi.waitFor(() => expect([undefined, before]).not.toContain(holder()), WAIT);
    second.record({ id: 'mail', state: 'SUCCESS' });
    await vi.waitFor(() => expect(two.heard).not.toEqual([]), WAIT);
    expect(one.heard).toEqual(ONE);
    expect(two.heard).toEqual(['cleared jobs.queue_waiting mail']);
  });

  it('tells of a store that is away: the one that told before goes on', async (test) => {
    const store = createArrayStore();
    const { heard, away } = listen(test, { sources: backlog('jobs', store) });
    await vi.waitFor(() => expect(heard).toEqual(ONE), WAIT);
    await vi.waitFor(() => expect(store.rows('jobs').texts.get('router.notes.0')).toBeDefined(), WAIT);
    store.before = () => {
      throw new Error('The database is away.');
    };
    await vi.waitFor(() => expect(away.at(-1)).toBe('raised jobs'), WAIT);
    expect(heard).toEqual(ONE);
  });

  it('is called by each of them where the store was never reached', async (test) => {
    const store = createArrayStore();
    store.before = () => {
      throw new Error('The database is away.');
    };
    const one = listen(test, { sources: backlog('jobs', store) }, { aloneMs: 100 });
    const two = listen(test, { sources: backlog('jobs', store) }, { aloneMs: 100 });
    const down = ['raised jobs'];
    await vi.waitFor(() => expect([one.away, two.away]).toEqual([down, down]), WAIT);
  });

  it('tells of sources without a store in each of them, beside those with one', async (test) => {
    const store = createArrayStore();
    const kept = [backlog('kept', store), backlog('kept', store)];
    const both = kept.map((queue) => listen(test, { sources: combineSources(queue, backlog('own')) }));
    const count = (line: string) => both.flatMap(({ heard }) => heard).filter((one) => one === line).length;
    await vi.waitFor(
      () =>
        expect([count('raised own.queue_waiting mail'), count('raised kept.queue_waiting mail')]).toEqual([
          2, 1,
        ]),
      WAIT,
    );
    // By the time that something else is told, the first would have been told again.
    if (kept[0]) fill(kept[0], 'images');
    await vi.waitFor(() => expect(count('raised kept.queue_waiting images')).toBe(1), WAIT);
    expect(count('raised kept.queue_waiting mail')).toBe(1);
  });
});
