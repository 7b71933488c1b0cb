import { describe, expect, it } from 'vitest';
import { CONTEXT, historyOf, idsOf, page, T0, told } from './telling.ts';

const FAR = Date.UTC(2999, 0, 1);
const DAY = 86_400_000;
/** The time of arrival. */
const NOW = T0 + 60_000;

describe('what cannot be true', () => {
  it('does not stay on top of a list: a time far ahead counts as not reported', async () => {
    const history = historyOf([
      told({ id: 'far', type: 'succeeded', time: FAR }),
      told({ id: 'later', type: 'succeeded', time: NOW + 1 }),
      told({ id: 'ahead', type: 'succeeded', time: NOW + DAY - 1 }),
    ]);
    const { tasks } = await page(history);
    expect(idsOf(tasks)).toEqual(['ahead', 'later', 'far']);
    expect(tasks[2]?.timestamp).toEqual(new Date(NOW));
    const { events } = await history.reader.listEvents(
      { limit: 10, since: null, states: [], workers: [], tasks: [] },
      CONTEXT,
    );
    expect(Math.max(...events.map(({ timestamp }) => Number(timestamp)))).toBeLessThan(NOW + DAY);
  });

  it.each([-5, Number.NaN, Number.POSITIVE_INFINITY, 1e12])(
    'a run time of %d s is left out',
    async (runtime) => {
      const history = historyOf([
        told({ id: 'odd', type: 'succeeded', runtime }),
        told({ id: 'plain', type: 'succeeded', runtime: 3 }),
      ]);
      for (const order of ['asc', 'desc'] as const) {
        const { tasks } = await page(history, { sort: 'runtime', order });
        expect(tasks.map((task) => [task.id, task.runtime])).toEqual([
          ['plain', 3],
          ['odd', null],
        ]);
      }
    },
  );

  it('leaves a worker that once dated a heartbeat far ahead its later ones', async () => {
    const history = historyOf([]);
    const heartbeat = { hostname: 'w@h', type: 'heartbeat', interval: 2 } as const;
    history.writer.recordWorker({ ...heartbeat, time: FAR, active: 1 });
    history.writer.recordWorker({ ...heartbeat, time: NOW + 2_000, active: 2 });
    expect(await history.reader.listWorkers(CONTEXT)).toMatchObject([{ hostname: 'w@h', active: 2 }]);
  });
});
