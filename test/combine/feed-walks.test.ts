import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TaskEvent } from '../../src/model.ts';
import type { EventsBody } from '../../src/wire.ts';
import { runs, seedOf } from '../helpers/cases.ts';
import { T0 } from '../history/telling.ts';
import { breakable, breakBy, eventSource, openClients } from './combine-kit.ts';

const RUNS = { seed: seedOf(20_261_121), numRuns: runs(150) };

const event = fc.record({ gap: fc.nat(3), state: fc.constantFrom('SUCCESS', 'FAILURE') });
const partsOfEvents = fc.array(fc.array(event, { maxLength: 25 }), { minLength: 2, maxLength: 4 });

function feedsOf(all: readonly (readonly { gap: number; state: string }[])[]) {
  return all.map((items) => {
    let at = T0;
    return items.map(({ gap, state }, index): TaskEvent => {
      at += gap * 1_000;
      return { id: `${index}`, type: 'task-changed', state, timestamp: new Date(at) };
    });
  });
}

/** A moment before every event. */
const BEGIN = new Date(T0 - 1).toISOString();
const idsOf = (page: EventsBody | null): string[] => page?.events.map(({ id }) => id) ?? [];

describe('a combined feed', () => {
  const plans = fc.array(fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), { maxLength: 8 });

  it('goes on from its cursors with every item once, those of each part in its order, whoever fails', async () => {
    const clientOf = await openClients();
    await fc.assert(
      fc.asyncProperty(partsOfEvents, fc.integer({ min: 1, max: 9 }), plans, async (given, limit, plan) => {
        const feeds = feedsOf(given);
        const parts = feeds.map((items, index) => breakable(eventSource(`p${index}`, items)));
        const read = clientOf(combineSources(...parts.map(({ part }) => ({ events: part }))));
        const ids: string[] = [];
        let since = BEGIN;
        for (let step = 0; ; step += 1) {
          breakBy(parts, plan[step]);
          const page: EventsBody | null = await read('/api/events/latest/', { limit, since });
          if (page === null) {
            expect(plan[step]).toContain(true);
            continue;
          }
          ids.push(...idsOf(page).toReversed());
          since = page.cursor;
          if (page.events.length === 0 && step >= plan.length) break;
        }
        const expected = feeds.map((items, part) => items.map(({ id }) => `p${part}.${id}`));
        expect(ids.toSorted()).toEqual(expected.flat().toSorted());
        for (const [part, own] of expected.entries()) {
          expect(ids.filter((id) => id.startsWith(`p${part}.`))).toEqual(own);
        }
      }),
      RUNS,
    );
  });

  it('is in the order of time when all answer, from either end', async () => {
    const clientOf = await openClients();
    await fc.assert(
      fc.asyncProperty(partsOfEvents, fc.integer({ min: 1, max: 9 }), async (given, limit) => {
        const feeds = feedsOf(given);
        const expected = feeds
          .flatMap((items, part) => items.map((item, index) => ({ item, part, index })))
          .sort(
            (a, b) =>
              Number(a.item.timestamp) - Number(b.item.timestamp) || a.part - b.part || a.index - b.index,
          )
          .map(({ item, part }) => `p${part}.${item.id}`);
        const parts = feeds.map((items, index) => ({ events: eventSource(`p${index}`, items) }));
        const ask = clientOf(combineSources(...parts));
        const read = (asked: object) => ask<EventsBody>('/api/events/latest/', { limit, ...asked });
        const newest = await read({});
        expect(idsOf(newest)).toEqual(expected.toReversed().slice(0, limit));
        expect(idsOf(await read({ since: BEGIN })).toReversed()).toEqual(expected.slice(0, limit));
        expect(await read({ since: newest?.cursor })).toMatchObject({ events: [], cursor: newest?.cursor });
      }),
      RUNS,
    );
  });
});
