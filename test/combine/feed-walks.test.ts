import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { TaskEventQuery } from '../../src/source.ts';
import { T0 } from '../history/telling.ts';
import { breakable, breakBy, eventSource, readerOf } from './combine-kit.ts';

const RUNS = { seed: 20_261_121, numRuns: 150 };

const event = fc.record({ gap: fc.nat(3), state: fc.constantFrom('SUCCESS', 'FAILURE') });
const partsOfEvents = fc.array(fc.array(event, { maxLength: 25 }), { minLength: 2, maxLength: 4 });

function feedsOf(all: readonly (readonly { gap: number; state: string }[])[]) {
  return all.map((items, part) => {
    let at = T0;
    return items.map(({ gap, state }, index): TaskEvent => {
      at += gap * 1_000;
      return { id: `p${part}-${index}`, type: 'task-changed', state, timestamp: new Date(at) };
    });
  });
}

describe('a combined feed', () => {
  const plans = fc.array(fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), { maxLength: 8 });

  it('goes on from its cursors with every item once, those of each part in its order, whoever fails', async () => {
    await fc.assert(
      fc.asyncProperty(partsOfEvents, fc.integer({ min: 1, max: 9 }), plans, async (given, limit, plan) => {
        const feeds = feedsOf(given);
        const parts = feeds.map((items, index) => breakable(eventSource(`p${index}`, items)));
        const read = readerOf(combineSources(...parts.map(({ part }) => ({ events: part }))));
        const ids: string[] = [];
        let since: TaskEventQuery['since'] = { time: new Date(T0 - 1) };
        for (let step = 0; ; step += 1) {
          breakBy(parts, plan[step]);
          try {
            const { raw } = await read.events({ limit, since });
            ids.push(...raw.events.map(({ id }) => id).toReversed());
            since = { cursor: raw.cursor };
            if (raw.events.length === 0 && step >= plan.length) break;
          } catch {
            expect(plan[step]).toContain(true);
          }
        }
        expect(ids.toSorted()).toEqual(feeds.flatMap((items) => items.map(({ id }) => id)).toSorted());
        for (const [index, items] of feeds.entries()) {
          expect(ids.filter((id) => id.startsWith(`p${index}-`))).toEqual(items.map(({ id }) => id));
        }
      }),
      RUNS,
    );
  });

  it('is in the order of time when all answer, from either end', async () => {
    await fc.assert(
      fc.asyncProperty(partsOfEvents, fc.integer({ min: 1, max: 9 }), async (given, limit) => {
        const feeds = feedsOf(given);
        const expected = feeds
          .flatMap((items, part) => items.map((item, index) => ({ item, part, index })))
          .sort(
            (a, b) =>
              Number(a.item.timestamp) - Number(b.item.timestamp) || a.part - b.part || a.index - b.index,
          )
          .map(({ item }) => item.id);
        const parts = feeds.map((items, index) => ({ events: eventSource(`p${index}`, items) }));
        const read = readerOf(combineSources(...parts));
        const newest = await read.events({ limit });
        expect(newest.raw.events.map(({ id }) => id)).toEqual(expected.toReversed().slice(0, limit));
        const oldest = await read.events({ limit, since: { time: new Date(T0 - 1) } });
        expect(oldest.raw.events.map(({ id }) => id).toReversed()).toEqual(expected.slice(0, limit));
        const none = await read.events({ limit, since: { cursor: newest.raw.cursor } });
        expect(none.raw).toMatchObject({ events: [], cursor: newest.raw.cursor });
      }),
      RUNS,
    );
  });
});
