import type { BullMQSources } from '../../src/bullmq.ts';
import type { Task, TaskDetail, TaskTree } from '../../src/model.ts';
import type { TaskPage, TaskPosition, TaskQuery } from '../../src/source.ts';
import { queryOf } from './task-query.ts';

export { queryOf } from './task-query.ts';

/** Never aborted. */
export const context = { signal: new AbortController().signal };

/** Without `endAt`, so that pages can be compared. */
export async function page(
  sources: BullMQSources,
  part: Partial<TaskQuery> = {},
): Promise<Omit<TaskPage, 'endAt'>> {
  const { endAt: _, ...answer } = await sources.tasks.listTasks(queryOf(part), context);
  return answer;
}

/** All rows, page after page; `between` is waited for after each. Places travel as they do in a cursor. */
export async function walk(
  sources: BullMQSources,
  part: Partial<TaskQuery> = {},
  between: (rows: readonly Task[]) => Promise<void> = async () => {},
): Promise<readonly Task[]> {
  const rows: Task[] = [];
  let after: TaskPosition | null = part.after ?? null;
  do {
    const { tasks, next } = await page(sources, { ...part, after });
    rows.push(...tasks);
    after = next && (JSON.parse(JSON.stringify(next)) as TaskPosition);
    await between(tasks);
  } while (after !== null);
  return rows;
}

export async function detail(sources: BullMQSources, id: string): Promise<TaskDetail | null> {
  return sources.tasks.getTask(id, context);
}

export async function tree(sources: BullMQSources, id: string): Promise<TaskTree | null> {
  return (await sources.tasks.getTaskTree?.(id, context)) ?? null;
}

/** Rows that stand in another order than the contract has: by time, ties by id ascending. */
export function misplaced(rows: readonly Task[], order: 'asc' | 'desc' = 'desc'): readonly string[] {
  const sign = order === 'desc' ? 1 : -1;
  return rows.flatMap((row, index) => {
    const before = rows[index - 1];
    const later = (Number(before?.timestamp) - Number(row.timestamp)) * sign;
    return before === undefined || later > 0 || (later === 0 && before.id < row.id) ? [] : [row.id];
  });
}
