/** The causes of a store made of arrays. */
import type { CauseStore } from '../../src/history/store.ts';
import { storedQuery } from '../stores/samples.ts';
import { call, matching } from './array-parts.ts';
import type { ArrayContext } from './array-store.ts';

type FailureQuery = Parameters<CauseStore['counts']>[0];

/** The causes of an array store, which keeps no sums of tasks that were dropped. */
export function arrayCauses({ store, rows }: ArrayContext): CauseStore {
  const { causes, tasks } = rows;
  const find = ({ from, to, names, queues, workers }: FailureQuery, wanted: readonly string[] | null) => {
    const query = { ...storedQuery(), states: ['FAILURE'], names, queues, workers };
    const window = { since: new Date(from), until: new Date(to) };
    return matching([...tasks.values()], { ...query, ...window }, false).flatMap((task) => {
      const { cause } = task;
      return cause === null || cause === '' || wanted?.includes(cause) === false ? [] : [{ ...task, cause }];
    });
  };
  const sum = <Row extends { readonly count: number }>(
    given: readonly Row[],
    key: (row: Row) => unknown,
  ): Row[] => {
    const sums = new Map<string, Row>();
    for (const row of given) {
      const at = JSON.stringify(key(row));
      const known = sums.get(at);
      sums.set(at, known === undefined ? row : { ...known, count: known.count + row.count });
    }
    return [...sums.values()];
  };
  return {
    note: (given) =>
      call(store, 'causes.note', () => {
        for (const cause of given) {
          const { firstSeen = cause.firstSeen, lastSeen = cause.lastSeen } = causes.get(cause.id) ?? {};
          const times = {
            firstSeen: Math.min(firstSeen, cause.firstSeen),
            lastSeen: Math.max(lastSeen, cause.lastSeen),
          };
          causes.set(cause.id, { ...(causes.get(cause.id) ?? cause), ...times });
        }
      }),
    describe: (ids) => call(store, 'causes.describe', () => ids.flatMap((id) => causes.get(id) ?? [])),
    counts: (query, most) =>
      call(store, 'causes.counts', () =>
        sum(
          find(query, null).map(({ cause }) => ({ cause, count: 1 })),
          ({ cause }) => cause,
        )
          .toSorted((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1))
          .slice(0, most),
      ),
    parts: (query, wanted, most) =>
      call(store, 'causes.parts', () =>
        sum(
          // The newest one comes first.
          find(query, wanted).map(({ cause, name, worker, timestamp, id }) => ({
            ...{ cause, name, worker, count: 1, last: timestamp ?? 0, sample: id },
          })),
          ({ cause, name, worker }) => [cause, name, worker],
        ).slice(0, most),
      ),
    steps: (query, wanted, { first, ms }) =>
      call(store, 'causes.steps', () =>
        sum(
          find(query, wanted).map(({ cause, timestamp }) => ({
            ...{ cause, step: Math.floor(((timestamp ?? 0) - first) / ms), count: 1 },
          })),
          ({ cause, step }) => [cause, step],
        ),
      ),
    dropBefore: (time) =>
      call(store, 'causes.dropBefore', () => {
        for (const [id, { lastSeen }] of causes) if (lastSeen < time) causes.delete(id);
      }),
  };
}
