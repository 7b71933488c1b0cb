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

function expectAll({ ids }: Walk, most: number): void {
  const seen = new Set(ids);
  expect(NUMBERS.filter((number) => !seen.has(idOf(number)))).toEqual([]);
  expect(ids.length).toBeLessThanOrEqual(most);
}

describe('a walk that instances with different knowledge answer', () => {
  it.each(LISTS)('misses no row that both know, by $sort $order', async (list) => {
    for (const seed of [1, 2, 3]) {
      const random = randomFrom(seed);
      const pick = () => (random() < 0.5 ? one : restarted);
      const seen = await walk(pick, { ...list, limit: PAGE });
      expectAll(seen, 2 * TASKS);
      expect(seen.isExact).toBe(true);
    }
  });

  it.each(LISTS)(
    'misses none when the instance is restarted in the middle, by $sort $order',
    async (list) => {
      const once = await walk((page) => (page < 7 ? one : restarted), { ...list, limit: PAGE });
      expectAll(once, 1.5 * TASKS + PAGE);
      const random = randomFrom(4);
      const pick = (page: number) => (random() < 0.5 ? other : page < 10 ? one : restarted);
      expectAll(await walk(pick, { ...list, limit: PAGE }), 3 * TASKS);
    },
  );

  it.each(LISTS)('repeats nothing while one instance answers, by $sort $order', async (list) => {
    for (const tasks of [one, restarted]) {
      const seen = await walk(() => tasks, { ...list, limit: PAGE });
      expectAll(seen, TASKS);
      expect(seen.pages).toBe(TASKS / PAGE);
    }
  });

  it('misses none in pages that the scan limit shortens', async () => {
    const random = randomFrom(5);
    const wanted = NUMBERS.filter((number) => number % 9 === 0).map(idOf);
    const search = ({ id }: { readonly id: string }) => wanted.includes(id);
    const pick = () => (random() < 0.5 ? one : restarted);
    const seen = await walk(pick, { q: 'x', search, limit: 10, scan: 25 });
    expect(new Set(seen.ids)).toEqual(new Set(wanted));
  });

  it('misses none in a list of several sources', async () => {
    const rest = NUMBERS.map((number) => ({
      ...{ id: `other-${number}`, state: 'PENDING', timestamp: T0 - number * 4_000 },
    }));
    const combined = [one, restarted].map((tasks) => {
      return combineSources({ tasks }, { tasks: instanceOf(rest, 'second') }).tasks as TaskSource;
    });
    for (const list of [
      { sort: 'timestamp' },
      { sort: 'started' },
      { sort: 'name', order: 'asc' },
    ] as const) {
      const random = randomFrom(6);
      const pick = () => combined[random() < 0.5 ? 0 : 1] as TaskSource;
      const seen = await walk(pick, { ...list, limit: PAGE });
      expect(new Set(seen.ids).size).toBe(2 * TASKS);
      expect(seen.ids.length).toBeLessThanOrEqual(4 * TASKS);
      expect(seen.isExact).toBe(true);
      const alone = await walk(() => combined[0] as TaskSource, { ...list, limit: PAGE });
      expect(alone.ids).toHaveLength(2 * TASKS);
    }
  });
});

describe('a walk that cannot be exact', () => {
  it('says so and ends, when more instances answer than a cursor has room for', async () => {
    const few = NUMBERS.slice(0, 90);
    const instances = Array.from({ length: 12 }, () => instanceOf(few.flatMap(eventsOf)));
    const seen = await walk((page) => instances[page % 12] as TaskSource, { limit: 5 });
    expect(seen.isExact).toBe(false);
    expect(new Set(seen.ids)).toEqual(new Set(few.map(idOf)));
    expect(seen.ids.length).toBeLessThan(2 * 90);
  });

  it('says so from a position of another version on', async () => {
    const first = await one.listTasks(query({ limit: TASKS - 50 }), CONTEXT);
    const { key, id } = first.next as TaskPosition;
    const page = await one.listTasks(query({ limit: 10, after: { key, id } }), CONTEXT);
    const last = await one.listTasks(query({ after: page.next }), CONTEXT);
    expect([first, page, last].map(({ cursorExact }) => cursorExact)).toEqual([undefined, false, false]);
    expect(new Set([first, page, last].flatMap(({ tasks }) => tasks)).size).toBe(TASKS);
  });

  it.each([
    'instances1',
    'instances1{}',
    'instances1[]',
    'instances1[5]',
    'instances1[["a"]]',
    'instances1[["a",5]]',
    'instances1[["a",0],["a",0]]',
    'instances1[["a",[{},"b"]]]',
    'instances1[["a",0,[1]]]',
    `instances1[["${'a'.repeat(33)}",0]]`,
    `instances1[${Array.from({ length: 9 }, (_, index) => `["${index}",0]`).join()}]`,
  ])('is refused for a made-up position: %s', async (mark) => {
    const after = { key: null, id: 'a', mark };
    await expect(async () => one.listTasks(query({ after }), CONTEXT)).rejects.toMatchObject({
      code: 'invalid_parameter',
      faults: [{ parameter: 'cursor' }],
    });
  });

  it('keeps cursors short enough to be read', async () => {
    const names = (owner: string) =>
      NUMBERS.slice(0, 60).map((number) => ({
        id: `${'日'.repeat(500)}${number}`,
        state: 'PENDING',
        timestamp: T0 + number,
        name: `${'本'.repeat(500)}${number}`,
        queue: owner,
      }));
    const instances = [instanceOf(names('a')), instanceOf(names('b'))] as const;
    let after: TaskPosition | null = null;
    const seen = new Set<string>();
    for (let page = 0; page < 1_000; page += 1) {
      const { tasks, next } = await instances[page % 2 === 0 ? 0 : 1].listTasks(
        query({ sort: 'name', limit: 7, after }),
        CONTEXT,
      );
      for (const { id } of tasks) seen.add(id);
      after = next;
      if (after === null) break;
      expect(Buffer.from(JSON.stringify(after)).toString('base64url').length).toBeLessThan(8_000);
    }
    expect(after).toBeNull();
    expect(seen.size).toBe(60);
  });
});
