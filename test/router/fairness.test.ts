/** Clients with the same address, as behind a proxy, take turns. */
import { describe, expect, it, vi } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { type Host, serve, until } from './host-kit.ts';
import { shopTask } from './shop-sources.ts';

const GREEDY_REQUESTS = 10;
/** Large enough for several turns, and small enough that all requests of the greedy client are answered in time. */
const PAGE = {
  tasks: Array.from({ length: 20 }, (_, index) => shopTask(index + 1)),
  next: null,
  total: 20,
};

/** Takes its time for each text. */
function redact(text: string): string {
  const end = performance.now() + 0.25;
  while (performance.now() < end);
  return text;
}

async function served(options: MonitorOptions = {}) {
  const listTasks = vi.fn(() => PAGE);
  const sources = { tasks: { name: 'shop', listTasks, getTask: () => null }, redact };
  const host = await serve(EXPRESS, { sources, ...options });
  return { ...host, listTasks };
}

/** @returns how many of the greedy client's answers had arrived when the other got its only one */
async function answeredBefore(greedy: Awaited<ReturnType<typeof served>>, other: Host): Promise<number> {
  let answered = 0;
  const all = Array.from({ length: GREEDY_REQUESTS }, async (_, index) => {
    const { status } = await greedy.get(`/api/tasks/?q=${index}`, { headers: { 'x-user': 'ann' } });
    expect(status).toBe(200);
    answered += 1;
  });
  await until(() => greedy.listTasks.mock.calls.length === GREEDY_REQUESTS);
  expect((await other.get('/api/tasks/', { headers: { 'x-user': 'bob' } })).status).toBe(200);
  const before = answered;
  await Promise.all(all);
  return before;
}

describe('the work of one client', () => {
  it('does not keep those of another router waiting', async () => {
    expect(await answeredBefore(await served(), await served())).toBeLessThan(GREEDY_REQUESTS);
  });

  it('does not keep another client waiting whom clientKey tells apart', async () => {
    const host = await served({ clientKey: (request) => String(request.headers['x-user']) });
    expect(await answeredBefore(host, host)).toBeLessThan(GREEDY_REQUESTS);
  });

  it('is that of nobody if clientKey throws, and the host is told', async () => {
    const onError = vi.fn();
    const clientKey = (): string => {
      throw new Error('no');
    };
    const { get } = await served({ clientKey, onError });
    expect((await get('/api/tasks/?limit=1')).status).toBe(200);
    const context = { call: 'clientKey', code: null, source: null, suppressed: 0 };
    expect(onError).toHaveBeenCalledWith(new Error('no'), context);
  });
});
