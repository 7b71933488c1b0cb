import { describe, expect, it } from 'vitest';
import { createMonitorClient, type TaskListQuery } from '../../src/client.ts';
import type { TaskBody, TasksBody } from '../../src/wire.ts';

const START = Date.parse('2026-11-21T02:00:00Z');
const PAGE = 10;

/** A list in which two rows move to the front with each page that is read, as jobs do that run. */
function busyList(count: number, hasArrivals = false, isExact = true) {
  const changedAt = new Map(Array.from({ length: count }, (_, n) => [`t${n}`, START - 60_000 + n * 50]));
  const sentAt = new Map([...changedAt.keys()].map((id) => [id, START - 60_000]));
  const asked: URLSearchParams[] = [];

  function readPage(query: URLSearchParams): TasksBody {
    asked.push(query);
    const now = START + asked.length * 1_000;
    const since = new Date(query.get('since') ?? 0).getTime();
    const before = Number(query.get('cursor') ?? Number.POSITIVE_INFINITY);
    const rows = [...changedAt]
      .filter(([, at]) => at >= since && at < before)
      .toSorted(([, a], [, b]) => b - a);
    const page = rows.slice(0, PAGE);
    // The next ones change now, so this walk does not meet them. The change is dated before the answer.
    if (asked.length < 12) {
      for (const [at, [id]] of rows.slice(PAGE, PAGE + 2).entries()) changedAt.set(id, now - 500 + at);
    }
    if (hasArrivals) {
      changedAt.set(`new${asked.length}`, now);
      sentAt.set(`new${asked.length}`, now);
    }
    const tasks = page.map(([id]) => {
      return { task_id: id, source: 's', sent: new Date(sentAt.get(id) ?? 0).toISOString() } as TaskBody;
    });
    const next = rows.length > PAGE ? String(page.at(-1)?.[1]) : null;
    const generated_at = new Date(now).toISOString();
    return { tasks, next_cursor: next, cursor_exact: isExact, generated_at } as TasksBody;
  }

  /** Answers as the route does. */
  const fetchPage: typeof fetch = async (url) =>
    Response.json(readPage(new URL(String(url instanceof Request ? url.url : url)).searchParams));

  return { fetchPage, asked, ids: () => [...changedAt.keys()].toSorted() };
}

async function idsOf(list: ReturnType<typeof busyList>, query: TaskListQuery = {}): Promise<string[]> {
  const ids: string[] = [];
  const client = createMonitorClient('http://monitor.example/', { fetch: list.fetchPage });
  for await (const task of client.eachTask(query)) ids.push(task.task_id);
  return ids;
}

describe('eachTask', () => {
  it('finds every task of a list whose rows move, each once', async () => {
    const list = busyList(200);
    expect((await idsOf(list)).toSorted()).toEqual(list.ids());
    expect(list.asked.at(-1)?.get('since')).toMatch(/^2026-11-21T/);
  });

  it('ends while tasks are sent all the time', async () => {
    const ids = await idsOf(busyList(100, true));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id.startsWith('t')).length).toBe(100);
  });

  it('reads a list of a time that is over once', async () => {
    const list = busyList(20);
    await idsOf(list, { until: new Date(START - 3_600_000) });
    expect(list.asked.some((query) => query.has('since'))).toBe(false);
  });

  it('reads the whole list again if rows may be missing, until it finds no new one', async () => {
    const list = busyList(40, false, false);
    expect((await idsOf(list)).toSorted()).toEqual(list.ids());
    expect(list.asked.filter((query) => !query.has('cursor')).length).toBeGreaterThan(1);
    expect(list.asked.some((query) => query.has('since'))).toBe(false);
  });
});
