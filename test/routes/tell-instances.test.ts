import { beforeEach, describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { backlog, fill, listen, ONE, pass, passUntil, stopClock } from './tell-kit.ts';

beforeEach(stopClock);

describe('onFinding of instances with a store', () => {
  it('is called by one of them, and what was told is known to the one that takes over', async () => {
    const store = createArrayStore();
    const first = backlog('jobs', store);
    const one = listen({ sources: first });
    await passUntil(() => one.heard.length > 0);
    const holder = () => store.rows('jobs').lease?.holder;
    const before = holder();
    const second = memorySources({ name: 'jobs', store });
    const two = listen({ sources: second });
    await one.close();
    await passUntil(() => ![undefined, before].includes(holder()));
    second.record({ id: 'mail', state: 'SUCCESS' });
    // While nothing waits anywhere, nobody knows whether that can be seen.
    fill(second, 'images');
    await passUntil(() => two.heard.length > 1);
    expect(one.heard).toEqual(ONE);
    expect(two.heard.toSorted()).toEqual([
      'cleared jobs.queue_waiting mail',
      'raised jobs.queue_waiting images',
    ]);
  });

  it('tells of a store that is away: the one that told before goes on', async () => {
    const store = createArrayStore();
    const { heard, away } = listen({ sources: backlog('jobs', store) });
    await passUntil(() => heard.length > 0);
    await passUntil(() => store.rows('jobs').texts.has('router.notes.0'));
    store.before = () => {
      throw new Error('The database is away.');
    };
    await passUntil(() => away.at(-1) === 'raised jobs');
    expect(heard).toEqual(ONE);
  });

  it('is called by each of them where the store was never reached', async () => {
    const store = createArrayStore();
    store.before = () => {
      throw new Error('The database is away.');
    };
    const one = listen({ sources: backlog('jobs', store) });
    const two = listen({ sources: backlog('jobs', store) });
    const down = ['raised jobs'];
    await passUntil(() => one.away.length > 0 && two.away.length > 0);
    expect([one.away, two.away]).toEqual([down, down]);
  });

  it('tells of sources without a store in each of them, beside those with one', async () => {
    const store = createArrayStore();
    const kept = [backlog('kept', store), backlog('kept', store)];
    const both = kept.map((queue) => listen({ sources: combineSources(queue, backlog('own')) }));
    const count = (line: string) => both.flatMap(({ heard }) => heard).filter((one) => one === line).length;
    await passUntil(
      () => count('raised own.queue_waiting mail') === 2 && count('raised kept.queue_waiting mail') === 1,
    );
    // By the time that something else is told, the first would have been told again.
    if (kept[0]) fill(kept[0], 'images');
    await passUntil(() => count('raised kept.queue_waiting images') === 1);
    await pass(120_000);
    expect(count('raised kept.queue_waiting mail')).toBe(1);
  });
});
