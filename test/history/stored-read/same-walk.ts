/** Compares walks over two lists. */
import { expect } from 'vitest';
import type { HistoryReader } from '../../../src/history/history.ts';
import type { TaskPage, TaskQuery } from '../../../src/source.ts';
import { CONTEXT, query } from '../telling.ts';

async function pagesOf(reader: HistoryReader, part: Partial<TaskQuery>): Promise<TaskPage[]> {
  const pages: TaskPage[] = [];
  for (let after: TaskQuery['after'] = null; pages.length < 100; ) {
    const page: TaskPage = await reader.listTasks(query({ ...part, after }), CONTEXT);
    pages.push(page);
    if (page.next === null) return pages;
    after = page.next;
  }
  throw new Error('the walk does not end');
}

/** Expects the same pages of both, with the same totals where these are known. */
export async function expectSameWalk(
  reader: HistoryReader,
  whole: HistoryReader,
  part: Partial<TaskQuery>,
): Promise<void> {
  const expected = await pagesOf(whole, part);
  const pages = await pagesOf(reader, part);
  const texts = (list: readonly TaskPage[]) =>
    list.map(({ tasks, next }) => ({ next, tasks: tasks.map((task) => JSON.stringify(task)) }));
  expect(texts(pages)).toEqual(texts(expected));
  for (const [at, { total }] of pages.entries()) {
    if (total !== null) expect(total).toBe(expected[at]?.total);
  }
  expect(pages.every(({ cursorExact }) => cursorExact !== false)).toBe(true);
}
