/** Random readings and moves of queues, told from memory and from a store. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { depthsOfRollups } from '../../../src/history/stored/rollups/rollup-stats.ts';
import { scheduler } from '../../../src/scheduler.ts';
import { depthsOf } from '../../../src/select/queue-depths.ts';
import { statsWindow } from '../../../src/select/stats-steps.ts';
import { MINUTE, newInstance, START } from '../rollups-kit.ts';
import { CONTEXT, query, told } from '../telling.ts';
import type { WithSession } from './same-reads.ts';

const QUEUES = ['orders', 'mail', 'zoo'] as const;

/** What happens in a minute. */
const steps = fc.array(
  fc.record({
    minute: fc.integer({ min: 0, max: 45 }),
    kind: fc.constantFrom('read', 'read', 'sent', 'received', 'started'),
    queue: fc.constantFrom(...QUEUES, undefined),
    waiting: fc.integer({ min: 0, max: 90 }),
    ageMs: fc.constantFrom(null, 0, 5_000, 400_000),
    isAtLeast: fc.boolean(),
  }),
  { maxLength: 80, size: 'max' },
);

/** Expects the same depths of queues, from the beginning of the history on. */
export async function expectSameDepths(withSession: WithSession, numRuns: number): Promise<void> {
  let known = 0;
  const property = fc.asyncProperty(steps, fc.constantFrom(60, 300), (given, stepSeconds) =>
    withSession(async (session) => {
      let now = START;
      const one = newInstance(session, '', 90, () => now);
      for (const [at, step] of given.toSorted((a, b) => a.minute - b.minute).entries()) {
        const { minute, kind, queue, waiting, ageMs, isAtLeast } = step;
        if (now < START + minute * MINUTE) await one.write();
        now = START + minute * MINUTE;
        if (kind !== 'read') {
          one.record(told({ id: `t${at}`, type: kind, time: now, name: 'pay', ...(queue && { queue }) }));
        } else if (queue !== undefined) {
          one.recordQueue(queue, waiting, ageMs === null ? null : now - ageMs, isAtLeast);
        }
      }
      await one.write();
      const asked = { minutes: 60, now: new Date(START + 50 * MINUTE), stepSeconds, filter: query() };
      const expected = await scheduler.run(
        'stats',
        depthsOf(one.queues.samples(), statsWindow(asked)),
        CONTEXT,
      );
      const { depths } = await depthsOfRollups(session.rollups, asked, now, CONTEXT);
      expect(depths).toEqual(expected);
      known += depths.length;
    }),
  );
  await fc.assert(property, { numRuns });
  expect(known).toBeGreaterThan(numRuns / 2);
}
