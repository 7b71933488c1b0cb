/** Tasks and rollups of a store made of arrays. */
import type {
  RollupQuery,
  RollupStore,
  RollupTotal,
  StoredLink,
  StoredQuery,
  StoredRelatives,
  StoredRollup,
  StoredTask,
  TaskStore,
} from '../../src/history/store.ts';
import { passesConditions } from '../../src/select.ts';
import { recordOf } from '../stores/samples.ts';
import type { ArrayContext, ArrayStore } from './array-store.ts';
import { queryOf } from './task-query.ts';

/** Makes a call, with the hooks before and after it. */
export async function call<Result>(store: ArrayStore, name: string, work: () => Result): Promise<Result> {
  store.calls.push(name);
  await store.before?.(name);
  const result = work();
  await store.after?.(name);
  return result;
}

/** The tasks of an array store. */
export function arrayTasks({ store, rows }: ArrayContext): TaskStore {
  const { tasks } = rows;
  const all = (): StoredTask[] => [...tasks.values()];
  const among = (ids: readonly string[]): StoredTask[] => {
    const wanted = new Set(ids);
    return all().filter(({ id }) => wanted.has(id));
  };
  const naming = (link: StoredLink, ids: readonly string[]): StoredTask[] => {
    const wanted = new Set<string | null>(ids);
    return all().filter((task) => task[link] !== null && wanted.has(task[link]));
  };
  const relatives = ({ id, name, rootId, parentId, groupId, chordId }: StoredTask): StoredRelatives => ({
    ...{ id, name, rootId, parentId, groupId, chordId },
  });
  const short = (task: StoredTask): StoredTask => ({ ...task, texts: null });
  return {
    write: (given) =>
      call(store, 'tasks.write', () => {
        const written = new Set<string>();
        for (const task of given) {
          const key = `${task.id} ${task.day}`;
          const known = tasks.get(key);
          if (known !== undefined && known.version !== task.version - 1) continue;
          tasks.set(key, { ...task });
          written.add(task.id);
        }
        return written;
      }),
    find: (ids) => call(store, 'tasks.find', () => among(ids).map(short)),
    read: (ids) => call(store, 'tasks.read', () => among(ids)),
    known: (ids) => call(store, 'tasks.known', () => new Set(among(ids).map(({ id }) => id))),
    relatives: (ids) => call(store, 'tasks.relatives', () => among(ids).map(relatives)),
    linked: (link, ids, most) =>
      call(store, 'tasks.linked', () => naming(link, ids).slice(0, most).map(relatives)),
    linkedIds: (link, ids, most) =>
      call(store, 'tasks.linkedIds', () =>
        naming(link, ids)
          .slice(0, most)
          .map(({ id }) => id),
      ),
    list: (query) =>
      call(store, 'tasks.list', () => matching(all(), query, true).slice(0, query.limit).map(short)),
    records: (query) =>
      call(store, 'tasks.records', () => matching(all(), query, true).slice(0, query.limit).map(recordOf)),
    count: (query, most) =>
      call(store, 'tasks.count', () => Math.min(most, matching(all(), query, false).length)),
    dropBefore: (day, today) =>
      call(store, 'tasks.dropBefore', () => {
        for (const [key, task] of tasks) {
          if (task.day >= day) continue;
          tasks.delete(key);
          if (task.isOpen) tasks.set(`${task.id} ${today}`, { ...task, day: today });
        }
      }),
  };
}

const SORT_FIELDS = {
  timestamp: 'timestamp',
  received: 'received',
  started: 'started',
  finished: 'finished',
  runtime: 'runtime',
  name: 'name',
  state: 'state',
} as const;

/** The values by which conditions are decided. */
const rowOf = ({ id, state, name, worker, queue, runtime }: StoredTask) => ({
  ...{ id, state, name, worker, queue, runtime },
});

/** The tasks of a list in its order; those without a value to sort by come last in both orders. */
export function matching(tasks: StoredTask[], query: StoredQuery, isPaged: boolean): StoredTask[] {
  const { states, names, workers, queues, causes, rootId, parentId, groupId, since, until, after } = query;
  const isAmong = (values: readonly string[], value: string | null): boolean =>
    values.length === 0 || (value !== null && values.includes(value));
  const field = SORT_FIELDS[query.sort];
  const sign = query.order === 'asc' ? 1 : -1;
  const order = (
    a: { readonly key: string | number | null; readonly id: string },
    b: { readonly key: string | number | null; readonly id: string },
  ): number => {
    if (a.key === null || b.key === null) {
      if (a.key !== b.key) return a.key === null ? 1 : -1;
    } else if (a.key !== b.key) return a.key < b.key ? -sign : sign;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  };
  const position = (task: StoredTask) => ({ key: task[field], id: task.id });
  return tasks
    .filter(
      (task) =>
        isAmong(states, task.state) &&
        isAmong(names, task.name) &&
        isAmong(workers, task.worker) &&
        isAmong(queues, task.queue) &&
        isAmong(causes, task.cause) &&
        (rootId === null || task.rootId === rootId) &&
        (parentId === null || task.parentId === parentId) &&
        (groupId === null || task.groupId === groupId) &&
        (since === null || (task.timestamp !== null && task.timestamp >= since.getTime())) &&
        (until === null || (task.timestamp !== null && task.timestamp < until.getTime())) &&
        passesConditions(rowOf(task), queryOf({ conditions: query.conditions })) &&
        (!query.isOpen || task.isOpen) &&
        query.except?.includes(task.id) !== true &&
        (query.hint === null || JSON.stringify(task).toLowerCase().includes(query.hint)) &&
        (!isPaged || after === null || order(position(task), after) > 0),
    )
    .sort((a, b) => order(position(a), position(b)));
}

/** The rollups of an array store. */
export function arrayRollups({ store, rows }: ArrayContext): RollupStore {
  const { rollups } = rows;
  const isAmong = (values: readonly string[], value: string | null): boolean =>
    values.length === 0 || (value !== null && values.includes(value));
  const find = ({ level, span, from, to, names, queues, workers }: RollupQuery): StoredRollup[] =>
    [...rollups.values()].filter(
      (cell) =>
        cell.level === level &&
        cell.span === span &&
        cell.start >= from &&
        cell.start < to &&
        isAmong(names, cell.name) &&
        isAmong(queues, cell.queue) &&
        isAmong(workers, cell.worker),
    );
  const keyOf = ({ span, level, start, writer, name, queue, worker }: StoredRollup): string =>
    JSON.stringify([span, level, start, writer, name, queue, worker]);
  return {
    add: (cells) =>
      call(store, 'rollups.add', () => {
        for (const cell of cells) {
          const known = rollups.get(keyOf(cell));
          if (known !== undefined && known.weight >= cell.weight) continue;
          const counts = cell.counts.map((count, at) => count + (known?.counts[at] ?? 0));
          const times = cell.times === null ? (known?.times ?? null) : (known?.times ?? '') + cell.times;
          rollups.set(keyOf(cell), { ...cell, counts, times });
        }
      }),
    write: (cells) =>
      call(store, 'rollups.write', () => {
        for (const cell of cells) {
          const key = keyOf(cell);
          const known = rollups.get(key);
          if (known === undefined || known.weight <= cell.weight) rollups.set(key, { ...cell });
        }
      }),
    read: (query, most) =>
      call(store, 'rollups.read', () =>
        find(query)
          .toSorted((a, b) => a.start - b.start)
          .slice(0, most),
      ),
    totals: (query, most) =>
      call(store, 'rollups.totals', () => {
        const totals = new Map<string, { -readonly [Field in keyof RollupTotal]: RollupTotal[Field] }>();
        const cells = find(query).toSorted((a, b) => a.start - b.start);
        for (const { name, queue, worker, counts, times } of cells.slice(0, most)) {
          const key = JSON.stringify([name, queue, worker]);
          const known = totals.get(key);
          totals.set(key, {
            ...{ name, queue, worker },
            counts: counts.map((count, at) => count + (known?.counts[at] ?? 0)),
            times: times === null ? (known?.times ?? null) : (known?.times ?? '') + times,
          });
        }
        return [...totals.values()];
      }),
    sums: (query) =>
      call(store, 'rollups.sums', () => {
        const sums = new Map<number, number[]>();
        for (const { start, counts } of find(query)) {
          const known = sums.get(start) ?? [];
          sums.set(
            start,
            counts.map((count, at) => count + (known[at] ?? 0)),
          );
        }
        return [...sums].sort(([a], [b]) => a - b).map(([start, counts]) => ({ start, counts }));
      }),
    byQueue: (query, { first, ms }) =>
      call(store, 'rollups.byQueue', () => {
        const rows = new Map<string, { queue: string; step: number; sums: number[]; peaks: number[] }>();
        for (const { queue, start, counts } of find(query)) {
          const step = Math.floor((start - first) / ms);
          const known = rows.get(`${queue} ${step}`);
          const sums = counts.map((count, at) => count + (known?.sums[at] ?? 0));
          const peaks = counts.map((count, at) => Math.max(count, known?.peaks[at] ?? 0));
          rows.set(`${queue} ${step}`, { queue, step, sums, peaks });
        }
        return [...rows.values()];
      }),
    dropBefore: (span, start) =>
      call(store, 'rollups.dropBefore', () => {
        for (const [key, cell] of rollups) if (cell.span === span && cell.start < start) rollups.delete(key);
      }),
  };
}
