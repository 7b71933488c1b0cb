/** Pages whose rows take long to redact and to write: the host goes on meanwhile. */
import { describe, expect, it } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import type { ProblemBody, TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve, until } from './host-kit.ts';
import { shopTask } from './shop-sources.ts';

const ROWS = 1_000;
/** Time that one text takes. A page has 1,000 rows with two texts each. */
const TEXT_MS = 0.25;

/** A redactor that takes its time, and counts. */
function slowRedactor() {
  const state = { calls: 0 };
  const redact = (text: string): string => {
    state.calls += 1;
    const end = performance.now() + TEXT_MS;
    while (performance.now() < end);
    return text;
  };
  return { state, redact };
}

const PAGE = {
  tasks: Array.from({ length: ROWS }, (_, index) => shopTask(index + 1)),
  next: null,
  total: ROWS,
};

const SOURCES: readonly (readonly [string, NonNullable<MonitorOptions['sources']>])[] = [
  ['synchronous', tasksWith(() => PAGE)],
  ['asynchronous', tasksWith(async () => PAGE)],
];

function tasksWith(listTasks: () => typeof PAGE | Promise<typeof PAGE>) {
  return { tasks: { name: 'shop', listTasks, getTask: () => null } };
}

describe('a long page', () => {
  it.each(SOURCES)('of a %s source is made a few rows at a time', async (_name, sources) => {
    const { state, redact } = slowRedactor();
    const { get } = await serve(EXPRESS, { sources: { ...sources, redact }, timeoutMs: 60_000 });
    const perTurn: number[] = [];
    let seen = 0;
    let isOver = false;
    const look = (): void => {
      perTurn.push(state.calls - seen);
      seen = state.calls;
      if (!isOver) setImmediate(look);
    };
    look();
    const { status, body } = await get<TasksBody>('/api/tasks/?limit=300');
    isOver = true;
    expect([status, body.tasks.length]).toEqual([200, 300]);
    // About ten milliseconds of a turn are ours.
    const aim = 10 / TEXT_MS;
    expect(Math.max(...perTurn)).toBeLessThan(10 * aim);
  });

  it('is sent to a few of those who wait for it at a time', async () => {
    let asked = 0;
    let answer = (_page: typeof PAGE): void => {};
    const read = new Promise<typeof PAGE>((resolve) => {
      answer = resolve;
    });
    let turn = 0;
    const sent = new Map<number, number>();
    const { get } = await serve(
      EXPRESS,
      { sources: tasksWith(() => read) },
      {
        before: (app) =>
          void app.use((_request, response, next) => {
            asked += 1;
            const { end } = response;
            // Copying to the socket takes its time.
            response.end = ((...args: Parameters<typeof end>) => {
              const until = performance.now() + 4;
              while (performance.now() < until);
              sent.set(turn, (sent.get(turn) ?? 0) + 1);
              return end.apply(response, args);
            }) as typeof end;
            next();
          }),
      },
    );
    const clients = Array.from({ length: 40 }, () => get<TasksBody>('/api/tasks/?limit=1000'));
    await until(() => asked === 40);
    const look = (): void => {
      turn += 1;
      if (turn >= 0) setImmediate(look);
    };
    look();
    answer(PAGE);
    for (const { status, body } of await Promise.all(clients)) {
      expect([status, body.tasks.length]).toEqual([200, ROWS]);
    }
    turn = Number.NEGATIVE_INFINITY;
    // About ten milliseconds of a turn are ours.
    expect(Math.max(...sent.values())).toBeLessThanOrEqual(10);
  });

  it.each(SOURCES)('of a %s source is given up when its client leaves', async (_name, sources) => {
    const { state, redact } = slowRedactor();
    const { base, get } = await serve(EXPRESS, { sources: { ...sources, redact } });
    const client = new AbortController();
    const leaving = fetch(`${base}/api/tasks/?limit=${ROWS}`, { signal: client.signal });
    await until(() => state.calls > 0);
    client.abort();
    await expect(leaving).rejects.toThrow();
    await get('/healthcheck');
    const { calls } = state;
    // Had it gone on, a few rows would be made in each turn.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(state.calls).toBe(calls);
    expect(calls).toBeLessThan(ROWS);
  });

  it.each(SOURCES)('of a %s source that is not made in time is refused', async (_name, sources) => {
    const { state, redact } = slowRedactor();
    const { get } = await serve(EXPRESS, { sources: { ...sources, redact }, timeoutMs: 50 });
    const { status, body, headers } = await get<ProblemBody>(`/api/tasks/?limit=${ROWS}`);
    expect([status, body.code, headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    expect(state.calls).toBeLessThan(ROWS);
    // It is our work that was late, not the source: the next request is not refused.
    expect((await get('/api/tasks/?limit=1')).status).toBe(200);
  });
});
