/** Items of others are added to the feed in slices, while it goes on. */
import { describe, expect, it } from 'vitest';
import { type Feed, feedOf, ids } from './heard-feed.ts';
import { T0 } from './telling.ts';

describe('absorbed items', () => {
  it('are all there at once, and once, whatever happens between two of their slices', async () => {
    const before = [feedOf(), feedOf()] as const;
    const hear = (feed: Feed, name: string) =>
      feed.hear(...Array.from({ length: 400 }, (_, at) => `${name}${at}`));
    for (const [at, feed] of before.entries()) hear(feed, `old${at}-`);
    const heard = new Map(before.map((feed) => [feed.instance, feed.items()]));
    const feed = feedOf({}, T0 + 3_600_000);
    feed.hear('x');
    const works = [feed.access.absorbEvents(heard), feed.access.absorbEvents(heard)];
    const open = new Set(works);
    const sizes = new Set<number>();
    const own = ['x'];
    while (open.size > 0) {
      for (const work of open) if (work.next().done === true) open.delete(work);
      feed.hear(`y${own.length}`);
      own.push(`y${own.length}`);
      const { events } = await feed.read({ limit: 5_000 });
      sizes.add(events.length - own.length);
    }
    const shown = ids(await feed.read({ limit: 5_000 }));
    expect([...sizes]).toEqual([0, 800]);
    expect(shown.slice(-own.length)).toEqual(own);
    expect(shown.slice(0, 4)).toEqual(['old0-0', 'old1-0', 'old0-1', 'old1-1']);
    expect(new Set(shown).size).toBe(shown.length);
  });

  it('are left out once the feed is closed', async () => {
    const [feed, other] = [feedOf(), feedOf()];
    other.hear(...Array.from({ length: 600 }, (_, at) => `t${at}`));
    const work = feed.access.absorbEvents(new Map([[other.instance, other.items()]]));
    work.next();
    feed.history.close();
    while (work.next().done !== true);
    expect((await feed.read()).events).toEqual([]);
  });
});
