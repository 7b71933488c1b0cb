import { describe, expect, it } from 'vitest';
import type { HeardItem } from '../../src/history/memory/tap.ts';
import { absorb, feedOf, goOn, ids, take } from './heard-feed.ts';
import { T0, told } from './telling.ts';

describe('the heard items of a feed', () => {
  it('are numbered, and read from any number on', () => {
    const feed = feedOf({ maxEvents: 4, clockOffset: () => 500 });
    feed.hear('a', 'b', 'c', 'd', 'e');
    const numbers = (after: number, most?: number) => feed.items(after, most).map(({ number }) => number);
    expect(numbers(0)).toEqual([2, 3, 4, 5]);
    expect([numbers(3), numbers(5), numbers(2, 2)]).toEqual([[4, 5], [], [3, 4]]);
    expect(feed.items(4)).toMatchObject([{ number: 5, item: { taskId: 'e' }, arrivedAt: T0 + 5_500 }]);
    const other = feedOf();
    other.hear('x');
    take(feed, other);
    feed.hear('f');
    expect(numbers(4)).toEqual([5, 6]);
  });

  it('have no secrets', () => {
    const redactor = { text: () => '[redacted]' } as never;
    const feed = feedOf({ redactor });
    feed.history.writer.recordTask(told({ type: 'failed', exception: 'password=abc' }));
    expect(feed.items()[0]?.item.detail).toBe('[redacted]');
  });
});

describe('absorbed items', () => {
  it('are placed by their arrival, each once, and keep their ids', async () => {
    const before = feedOf();
    before.hear('a', 'b', 'c');
    const page = await before.read();
    const feed = feedOf({}, T0 + 60_000);
    feed.hear('x', 'y');
    take(feed, before, before.items(1));
    take(feed, before);
    take(feed, before);
    take(feed, feed);
    const shown = await feed.read();
    expect(ids(shown)).toEqual(['a', 'b', 'c', 'x', 'y']);
    expect(shown.events.slice(2)).toEqual(page.events);
  });

  it('that are hardly late come last, so that readers who follow do not miss them', async () => {
    const [feed, other] = [feedOf(), feedOf()];
    feed.hear('x', 'y', 'z');
    other.hear('a');
    const page = await feed.read();
    take(feed, other);
    expect(ids(await goOn(feed, page))).toEqual(['a']);
    expect(ids(await feed.read())).toEqual(['x', 'y', 'z', 'a']);
  });

  it('drop nothing that is newer', async () => {
    const [feed, other] = [feedOf({ maxEvents: 4 }, T0 + 60_000), feedOf()];
    other.hear('a', 'b', 'c');
    feed.hear('x', 'y', 'z');
    take(feed, other);
    expect(ids(await feed.read())).toEqual(['c', 'x', 'y', 'z']);
    take(feed, other, other.items(0, 2));
    expect(ids(await feed.read())).toEqual(['c', 'x', 'y', 'z']);
    feed.hear('q');
    take(feed, other);
    expect(ids(await feed.read())).toEqual(['x', 'y', 'z', 'q']);
  });

  it('of a hostile origin are left out', async () => {
    const [feed, other] = [feedOf(), feedOf()];
    other.hear('a');
    const [item] = other.items() as [HeardItem];
    for (const instance of ['', 'a.b', 'x'.repeat(33), 'ü']) absorb(feed, instance, [item]);
    for (const number of [0, -1, 1.5, Number.NaN, 2 ** 60]) {
      absorb(feed, 'other', [{ ...item, number }]);
    }
    absorb(feed, 'other', [{ ...item, arrivedAt: Number.NaN }]);
    expect((await feed.read()).events).toEqual([]);
  });
});

describe('a cursor of the feed', () => {
  it('of this instance goes on exactly, whatever is absorbed meanwhile', async () => {
    const before = feedOf();
    before.hear('a', 'b');
    const feed = feedOf({}, T0 + 60_000);
    const empty = await feed.read();
    feed.hear('x');
    const first = await feed.read();
    take(feed, before);
    feed.hear('y');
    expect(ids(await goOn(feed, first))).toEqual(['y']);
    expect(ids(await goOn(feed, empty))).toEqual(['x', 'y']);
    for (const page of [first, empty]) expect((await goOn(feed, page)).gap).toBe(false);
    const whole = await feed.read();
    expect(await goOn(feed, whole)).toEqual({ events: [], cursor: whole.cursor, gap: false });
    // Behind an absorbed item, too.
    const [, , , old] = whole.events;
    expect(old?.taskId).toBe('a');
    const at = (await feed.read({ since: { time: new Date(T0) }, limit: 1 })).cursor;
    expect(ids(await feed.read({ since: { cursor: at } }))).toEqual(['b', 'x', 'y']);
  });

  it('of another instance goes on behind its item, if that is held', async () => {
    const leader = feedOf();
    leader.hear('a', 'b');
    const cursor = await leader.read();
    leader.hear('c');
    const follower = feedOf();
    take(follower, leader);
    const own = await goOn(follower, cursor);
    expect([ids(own), own.gap]).toEqual([['c'], false]);
    // The next leader, and its items.
    const next = feedOf({}, T0 + 20_000);
    take(next, leader);
    next.access.absorbCoverage(T0, T0 + 20_000);
    next.hear('d');
    const after = await goOn(next, cursor);
    expect([ids(after), after.gap]).toEqual([['c', 'd'], false]);
    take(follower, next);
    expect(ids(await goOn(follower, own))).toEqual(['d']);
    expect(ids(await goOn(next, await follower.read()))).toEqual([]);
  });

  it('of a process before says that what happened during the restart was missed', async () => {
    const before = feedOf();
    before.hear('a', 'b');
    const cursor = await before.read();
    const feed = feedOf({}, T0 + 60_000);
    take(feed, before);
    feed.access.absorbCoverage(T0, T0 + 2_000);
    feed.hear('x');
    const page = await goOn(feed, cursor);
    expect([ids(page), page.gap]).toEqual([['x'], true]);
    feed.access.absorbCoverage(T0 + 1_000, T0 + 60_001);
    expect((await goOn(feed, cursor)).gap).toBe(false);
    expect((await feed.read({ limit: 3 })).gap).toBe(false);
  });

  it('whose item was never kept goes on behind the last one before it', async () => {
    const killed = feedOf();
    killed.hear('a', 'b');
    const items = killed.items();
    killed.hear('c');
    const cursor = await killed.read();
    const feed = feedOf();
    take(feed, killed, items);
    feed.at(4_000);
    feed.hear('d');
    expect(ids(await goOn(feed, cursor))).toEqual(['d']);
  });

  it('that cannot be placed goes on some seconds before, as far as the feed reaches', async () => {
    const unknown = feedOf();
    unknown.hear('p', 'q', 'r', 's', 't', 'u', 'v');
    const cursor = await unknown.read();
    const feed = feedOf();
    feed.hear('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
    const page = await goOn(feed, cursor);
    expect([ids(page), page.gap]).toEqual([['b', 'c', 'd', 'e', 'f', 'g', 'h'], false]);
    const small = feedOf({ maxEvents: 3 });
    small.hear('a', 'b', 'c', 'd');
    const lost = await goOn(small, cursor);
    expect([ids(lost), lost.gap]).toEqual([['b', 'c', 'd'], true]);
    const late = feedOf({}, T0 + 6_000);
    late.hear('x');
    expect((await goOn(late, cursor)).gap).toBe(true);
  });

  it('goes by the clock of the database', async () => {
    const ahead = feedOf({ clockOffset: () => -3_600_000 }, T0 + 3_600_000);
    ahead.hear('p', 'q');
    const feed = feedOf();
    take(feed, ahead);
    feed.at(10_000);
    feed.hear('x');
    const { events } = await feed.read();
    expect(events.map(({ arrived }) => (arrived as Date).getTime() - T0)).toEqual([11_000, 2_000, 1_000]);
  });

  it('is short, and one that was made up answers a gap', async () => {
    const feed = feedOf();
    feed.hear('a', 'b');
    absorb(feed, 'i'.repeat(32), [{ ...(feed.items()[0] as HeardItem), number: 2 ** 52 }]);
    const { cursor } = await feed.read();
    expect(cursor.length).toBeLessThanOrEqual(120);
    const own = feed.instance;
    const made = [
      ...['', '.', '...', 'x', `${own}.1`, `${own}.2`, '0123456789ab.1', `${own}..9.${'z'.repeat(11)}`],
      ...[`${own}..99.0`, `${own}..-1.0`, `${own}.x.1.0`, `${own}..1.0.0`, `x.y.1.${'z'.repeat(8)}`],
      ...['x.y.1.0', 'x..zzzzzzzzzzz.-1', `${'y'.repeat(33)}..1.0`, `${own}..1e3.0`, '\0', '💥'],
    ];
    for (const text of made) {
      const page = await feed.read({ since: { cursor: text } });
      expect([text, page.gap, page.events.length]).toEqual([text, true, 3]);
    }
  });
});
