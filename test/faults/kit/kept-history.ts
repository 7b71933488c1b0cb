/** What the cases ask of a host whose history is kept in a store. */
import { expect } from 'vitest';
import type { ComponentsBody, TasksBody } from '../../../src/wire.ts';
import type { Host } from '../../router/host-kit.ts';
import type { FaultBench } from './fault-case.ts';

/** Most tasks that memory holds: all others are only in the store. */
export const IN_MEMORY = 200;
/** How many tasks each case records before the fault. */
export const BEFORE = 1_000;
/** How many more at most, and how many milliseconds lie between two of them. */
const MEANWHILE = 600;
const PACE_MS = 10;

/** A host whose tasks `task-0`, `task-1` … are kept in a store. */
export interface KeptHistory {
  readonly host: Pick<Host, 'get'>;
  /** Tasks recorded so far. */
  recorded(): number;
  /** Records so many tasks at once. */
  record(count: number): void;
  /** How many tasks that have ended are stored. */
  stored(): Promise<number>;
}

/** Records tasks until the time is over. */
export async function recordFor(kept: KeptHistory, ms: number): Promise<void> {
  const end = performance.now() + ms;
  for (let done = 0; done < MEANWHILE && performance.now() < end; done++) {
    kept.record(1);
    await new Promise((resolve) => setTimeout(resolve, PACE_MS));
  }
}

/** The figures of the store. */
export async function storeFigures({ host }: KeptHistory): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await host.get<ComponentsBody>('/api/components/');
  const found = Object.entries(body).find(([key]) => key.endsWith('history.store'));
  return found?.[1].config ?? {};
}

/**
 * What has to hold while the store cannot be used: recent tasks are listed at once; older ones are neither denied nor
 * left out silently.
 */
export async function expectOnlyRecent(bench: FaultBench, { host, recorded }: KeptHistory): Promise<void> {
  const newest = recorded() - 1;
  const { body } = await bench.expectAnswer<TasksBody>(host, '/api/tasks/?limit=20', {
    status: 200,
    aimMs: 50,
  });
  expect(body.tasks.map(({ task_id: id }) => id)).toContain(`task-${newest}`);
  await bench.expectAnswer(host, `/api/tasks/task-${newest}/`, { status: 200 });
  // Not asked for before: of what was, the last answer is shown.
  await bench.expectAnswer(host, '/api/tasks/task-7/', { status: [503, 504] });
  const { body: all } = await bench.expectAnswer<TasksBody>(host, '/api/tasks/?limit=1000', {
    status: [200, 503, 504],
  });
  if (all.tasks !== undefined) expect(all.next_cursor).not.toBeNull();
}

/** Walks through all tasks. @returns their numbers */
export async function listAll(bench: FaultBench, { host }: KeptHistory): Promise<Set<number>> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const path: string = `/api/tasks/?limit=500${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { body } = await bench.expectAnswer<TasksBody>(host, path, { status: 200 });
    for (const { task_id: id } of body.tasks) ids.push(id);
    cursor = body.next_cursor;
  } while (cursor !== null);
  const numbers = new Set(ids.map((id) => Number(id.replace('task-', ''))));
  expect(numbers.size).toBe(ids.length);
  return numbers;
}

/** Walks through all tasks, each of which is listed once. */
export async function expectAll(bench: FaultBench, kept: KeptHistory): Promise<void> {
  expect((await listAll(bench, kept)).size).toBe(kept.recorded());
}
