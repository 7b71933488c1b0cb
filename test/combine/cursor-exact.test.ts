import { describe, expect, it } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TaskPage, TaskQuery } from '../../src/source.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';
import { createShop, type Shop } from '../router/shop-sources.ts';

/** A shop of another name. @param change what it answers in place of its pages */
function branch(
  name: string,
  count: number,
  change: (page: TaskPage, query: TaskQuery) => TaskPage = (page) => page,
): Shop['sources'] {
  const shop = createShop(count);
  shop.tasks = shop.tasks.map((task) => ({ ...task, id: `${name}-${task.id}` }));
  const { tasks } = shop.sources;
  return Object.fromEntries(
    Object.entries({
      ...shop.sources,
      tasks: {
        ...tasks,
        listTasks: async (query: TaskQuery, context: never) =>
          change(await tasks.listTasks(query, context), query),
      },
    }).map(([kind, part]) => [kind, { ...part, name }]),
  ) as unknown as Shop['sources'];
}

describe('a list of two sources', () => {
  it('says from then on that a walk is not exact, when one of them says so of a page', async () => {
    const east = branch('east', 1, (page, { limit }) => ({ ...page, cursorExact: limit === 0 }));
    const { get } = await serve(EXPRESS, { sources: combineSources(east, branch('west', 30)) });
    let path = '/api/tasks/?limit=12';
    const pages: TasksBody[] = [];
    do {
      pages.push((await get<TasksBody>(path)).body);
      path = `/api/tasks/?limit=12&cursor=${pages.at(-1)?.next_cursor}`;
    } while (pages.at(-1)?.next_cursor !== null);
    expect(pages.flatMap((page) => page.tasks)).toHaveLength(31);
    expect(pages.map(({ cursor_exact: isExact }) => isExact)).toEqual([false, false, false]);
    expect((await get<TasksBody>('/api/tasks/?limit=0&stats=5')).body.cursor_exact).toBe(true);
  });

  it.each([
    ['of many characters', 'x'.repeat(5_000)],
    ['of characters of three bytes', '界'.repeat(2_000)],
    ['of characters that JSON escapes', '\u0000'.repeat(900)],
  ])('says that a walk is not exact when its cursor has no room for a position %s', async (_, mark) => {
    const west = branch('west', 3, (page) => ({ ...page, next: page.next && { ...page.next, mark } }));
    const { get } = await serve(EXPRESS, { sources: combineSources(branch('east', 3), west) });
    const first = (await get<TasksBody>('/api/tasks/?limit=2')).body;
    const rest = (await get<TasksBody>(`/api/tasks/?cursor=${first.next_cursor}`)).body;
    expect([first.cursor_exact, rest.cursor_exact]).toEqual([false, false]);
    expect([...first.tasks, ...rest.tasks]).toHaveLength(6);
  });

  it.each([
    ['knows its positions within a page', true],
    ['knows only the one after it', false],
  ])('says whether a walk is exact where a source whose positions have marks %s', async (_, isExact) => {
    const marked = (page: TaskPage, count: number) => {
      const row = page.tasks[count - 1];
      const key = row?.timestamp?.getTime() ?? null;
      return { next: row === undefined ? null : { key, id: row.id, mark: `after ${row.id}` } };
    };
    const west = branch('west', 3, (page) => ({
      ...page,
      ...(page.next && marked(page, page.tasks.length)),
      ...(isExact && { endAt: (count: number) => marked(page, count) }),
    }));
    const { get } = await serve(EXPRESS, { sources: combineSources(branch('east', 3), west) });
    const first = (await get<TasksBody>('/api/tasks/?limit=2')).body;
    const rest = (await get<TasksBody>(`/api/tasks/?cursor=${first.next_cursor}`)).body;
    expect([first.cursor_exact, rest.cursor_exact]).toEqual([isExact, isExact]);
    expect([...first.tasks, ...rest.tasks]).toHaveLength(6);
  });

  it('has room for the position of a row with the longest id', async () => {
    const west = branch('west', 3, (page) => ({
      ...page,
      tasks: page.tasks.map((task) => ({ ...task, id: task.id.padEnd(512, '\u0001') })),
      next: page.next && { ...page.next, mark: 'x'.repeat(4_000) },
    }));
    const { get } = await serve(EXPRESS, { sources: combineSources(branch('east', 3), west) });
    const first = (await get<TasksBody>('/api/tasks/?limit=2')).body;
    const rest = (await get<TasksBody>(`/api/tasks/?cursor=${first.next_cursor}`)).body;
    expect([...first.tasks, ...rest.tasks]).toHaveLength(6);
  });
});

describe('a list of one source', () => {
  it('keeps marks of 5,000 bytes, and refuses a longer one, of which it tells the host', async () => {
    const marks: (string | undefined)[] = [];
    let mark = 'x'.repeat(5_000 - 2);
    const shop = branch('east', 3, (page, { after }) => {
      marks.push(after?.mark);
      return { ...page, next: page.next && { ...page.next, mark } };
    });
    const told: unknown[] = [];
    const onError = (error: unknown): void => void told.push(error);
    const { get } = await serve(EXPRESS, { sources: shop, onError });
    const { body } = await get<TasksBody>('/api/tasks/?limit=2');
    await get<TasksBody>(`/api/tasks/?limit=2&cursor=${body.next_cursor}`);
    expect(marks.at(-1)).toBe(mark);
    mark = '界'.repeat(3_000);
    const refused = await get<ProblemBody>('/api/tasks/?limit=1');
    expect([refused.status, refused.body.code]).toEqual([502, 'source_invalid']);
    expect(String(told.at(-1))).toMatch(/a position of at most 5,000 bytes/);
  });
});
