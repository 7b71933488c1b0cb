import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import { type MemoryRecord, type MemorySources, memorySources } from '../../src/memory.ts';
import type { TaskPosition, TaskQuery, TaskSource } from '../../src/source.ts';
import { SORTS } from '../helpers/task-query.ts';
import { CONTEXT, query, T0 } from './telling.ts';

const TASKS = 300;
const PAGE = 20;
const ORDERS = ['desc', 'asc'] as const;
const LISTS = SORTS.flatMap((sort) => ORDERS.map((order) => ({ sort, order })));

const open: MemorySources[] = [];

afterAll(() => Promise.all(open.map((sources) => sources.close())));

/** The list of one instance of a monitor. */
function instanceOf(records: readonly MemoryRecord[], name = 'shop'): TaskSource {
  const sources = memorySources({ name });
  for (const record of records) sources.record(record);
  open.push(sources);
  return sources.tasks;
}

const idOf = (number: number): string => `task-${String(number).padStart(4, '0')}`;
/** In no order of the ids. */
const startOf = (number: number): number => T0 - 3_600_000 + ((number * 389) % TASKS) * 1_000;
const runtimeOf = (number: number): number => ((number * 31) % 97) / 10;
const hasEnded = (number: number): boolean => number % 25 !== 0;

/** What an instance knows that heard every event. */
function eventsOf(number: number): MemoryRecord[] {
  const started = startOf(number);
  const runtime = runtimeOf(number);
  const about = { id: idOf(number), name: `shop.task${number % 7}`, queue: 'celery' };
  const worker = `w${number % 3}@a`;
  return [
    { ...about, state: 'PENDING', timestamp: started - 500 },
    { ...about, worker, state: 'RECEIVED', timestamp: started - 100 },
    { ...about, worker, state: 'STARTED', timestamp: started },
    ...(hasEnded(number)
      ? [{ ...about, worker, state: 'SUCCESS', timestamp: started + runtime * 1_000, runtime }]
      : []),
  ];
}

/** What an instance knows that has only read the ends. */
function resultOf(number: number): MemoryRecord[] {
  const id = idOf(number);
  if (!hasEnded(number)) return [{ id, state: 'STARTED', timestamp: startOf(number) + 3 }];
  // The result is stored a moment before the event is sent, now and then much earlier.
  const early = number % 40 === 1 ? 80_000 : number % 5;
  return [{ id, state: 'SUCCESS', timestamp: startOf(number) + runtimeOf(number) * 1_000 - early }];
}

const NUMBERS = Array.from({ length: TASKS }, (_, number) => number);
const heard = (): TaskSource => instanceOf(NUMBERS.flatMap(eventsOf));

let one: TaskSource;
let other: TaskSource;
/** Knows stored results only, unlike the other two. */
let restarted: TaskSource;

beforeAll(() => {
  one = heard();
  other = heard();
  restarted = instanceOf(NUMBERS.flatMap(resultOf));
});

/** Numbers from 0 to 1 that are the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const travelled = (position: TaskPosition | null): TaskPosition | null =>
  JSON.parse(JSON.stringify(position)) as TaskPosition | null;

interface Walk {
  readonly ids: string[];
  readonly pages: number;
  readonly isExact: boolean;
}

/** Reads a list to its end. @param pick the instance that answers a page */
async function walk(pick: (page: number) => TaskSource, part: Partial<TaskQuery>): Promise<Walk> {
  const ids: string[] = [];
  let after: TaskPosition | null = null;
  let isExact = true;
  for (let page = 0; page < 2_000; page += 1) {
    const answer = await pick(page).listTasks(query({ ...part, after }), CONTEXT);
    ids.push(...answer.tasks.map(({ id }) => id));
    isExact &&= answer.cursorExact !== false;
    after = travelled(answer.next);
    if (after === null) return { ids, pages: page + 1, isExact };
  }
  throw new Error('The walk never ends.');
}

/** Every row once at most from each of so many instances, as each lists in one order. */
function expectBounded({ ids }: Walk, instances: number): void {
  expect(ids.length).toBeLessThanOrEqual(instances * TASKS);
}

describe('a walk that one instance answers', () => {
  it.each(LISTS)('repeats nothing and misses nothing, by $sort $order', async (list) => {
    for (const tasks of [one, restarted]) {
      const seen = await walk(() => tasks, { ...list, limit: PAGE });
      expect(seen).toEqual({ ids: expect.any(Array), pages: TASKS / PAGE, isExact: true });
      expect(new Set(seen.ids).size).toBe(TASKS);
    }
  });

  it('misses none in pages that the scan limit shortens', async () => {
    const wanted = NUMBERS.filter((number) => number % 9 === 0).map(idOf);
    const search = ({ id }: { readonly id: string }) => wanted.includes(id);
    const seen = await walk(() => one, { q: 'x', search, limit: 10, scan: 25 });
    expect(seen.ids.toSorted()).toEqual(wanted);
    expect(seen.isExact).toBe(true);
  });

  it('goes on behind the row where a shorter page ends', async () => {
    const page = await one.listTasks(query({ limit: 10 }), CONTEXT);
    const end = page.endAt?.(4);
    const rest = await one.listTasks(query({ limit: 6, after: travelled(end?.next ?? null) }), CONTEXT);
    expect(rest.tasks).toEqual(page.tasks.slice(4));
    expect([end?.cursorExact, rest.cursorExact]).toEqual([undefined, undefined]);
  });
});

describe('a walk that several instances answer', () => {
  it.each(LISTS)('ends, and says that rows may be missing, by $sort $order', async (list) => {
    const random = randomFrom(1);
    const seen = await walk(() => (random() < 0.5 ? one : restarted), { ...list, limit: PAGE });
    expect(seen.isExact).toBe(false);
    expectBounded(seen, 2);
  });

  it.each(LISTS)('misses none where both know the same, by $sort $order', async (list) => {
    const random = randomFrom(2);
    const seen = await walk(() => (random() < 0.5 ? one : other), { ...list, limit: PAGE });
    expect(seen.isExact).toBe(false);
    expect(seen.ids).toEqual((await walk(() => one, { ...list, limit: PAGE })).ids);
  });

  it('says so in a list of several sources', async () => {
    const rest = NUMBERS.map((number) => ({
      ...{ id: `other-${number}`, state: 'PENDING', timestamp: T0 - number * 4_000 },
    }));
    const combined = [one, other].map((tasks) => {
      return combineSources({ tasks }, { tasks: instanceOf(rest, 'second') }).tasks as TaskSource;
    });
    const alone = await walk(() => combined[0] as TaskSource, { limit: PAGE });
    expect(alone.isExact).toBe(true);
    expect(new Set(alone.ids).size).toBe(2 * TASKS);
    const both = await walk((page) => combined[page % 2] as TaskSource, { limit: PAGE });
    expect(both.isExact).toBe(false);
  });

  it('says so from a position of another version on', async () => {
    const first = await one.listTasks(query({ limit: TASKS - 50 }), CONTEXT);
    const { key, id } = first.next as TaskPosition;
    const page = await one.listTasks(query({ limit: 10, after: { key, id } }), CONTEXT);
    const last = await one.listTasks(query({ after: page.next }), CONTEXT);
    expect([first, page, last].map(({ cursorExact }) => cursorExact)).toEqual([undefined, false, false]);
    expect(new Set([first, page, last].flatMap(({ tasks }) => tasks)).size).toBe(TASKS);
  });
});

describe('a made-up position', () => {
  it.each([
    'instance1',
    'instance1{}',
    'instance1[]',
    'instance1[5]',
    'instance1["a",5]',
    'instance1["a","b","c"]',
  ])('is refused: %s', async (mark) => {
    const after = { key: null, id: 'a', mark };
    await expect(async () => one.listTasks(query({ after }), CONTEXT)).rejects.toMatchObject({
      code: 'invalid_parameter',
      faults: [{ parameter: 'cursor' }],
    });
  });
});
