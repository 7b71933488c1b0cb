import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { combineSources } from '../../src/index.ts';
import type { TasksBody } from '../../src/wire.ts';
import { keepAlive } from '../helpers/ask.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from './host-kit.ts';
import { at, createShop, shopTask } from './shop-sources.ts';

/** How many answers are kept, and how large they may be together. */
const MOST = 500;
const MOST_BYTES = 16 * 1024 * 1024;

/** A shop whose answers stay the same until its revision changes. */
async function openShop() {
  const shop = createShop();
  const source = { revision: 1 };
  const status = () => ({ ok: true, asOf: at(0), revision: source.revision });
  const tasks = { ...shop.sources.tasks, status };
  const { get } = await serve(EXPRESS, { sources: { tasks, redact: false }, limits: { detail: MOST_BYTES } });
  /** Whether the shop had to be asked. */
  const isRead = async (path: string): Promise<boolean> => {
    const calls = () => (shop.calls.listTasks ?? 0) + (shop.calls.getTask ?? 0);
    const before = calls();
    await get(path, { agent: keepAlive, ours: false });
    return calls() > before;
  };
  return { shop, source, isRead };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('answers that are asked for again and again', () => {
  it('stay kept but for those that were used longest ago', async () => {
    // Each second would write them anew.
    vi.useFakeTimers({ toFake: ['Date'] });
    const { source, isRead } = await openShop();
    /** By key, the last used at the end: for which revision it was read. */
    const kept = new Map<number, number>();
    const asked = fc.sample(fc.nat(MOST + 50), { seed: 20_261_121, numRuns: 700 });
    const others = Array.from({ length: MOST - 1 }, (_, index) => index + 2);
    // The first key is used once more after the second one, which alone has to go.
    for (const [step, key] of [0, 0, 1, 0, ...others, 0, ...asked].entries()) {
      if (step === MOST + 100) source.revision = 2;
      const isExpected = kept.get(key) !== source.revision;
      expect([step, await isRead(`/api/tasks/?name=task-${key}`)]).toEqual([step, isExpected]);
      kept.delete(key);
      kept.set(key, source.revision);
      for (const oldest of kept.keys()) if (kept.size > MOST) kept.delete(oldest);
    }
  });

  it('are there once a source of several fails, but for those that were written longest ago', async () => {
    const [east, west] = ['east', 'west'].map((name) => ({ ...createShop(1).sources.tasks, name }));
    if (east === undefined || west === undefined) throw new Error('two shops');
    let isAway = false;
    const listTasks: typeof west.listTasks = (...given) => {
      if (isAway) throw new Error('away');
      return west.listTasks(...given);
    };
    const sources = combineSources({ tasks: east }, { tasks: { ...west, listTasks } });
    const { get } = await serve(EXPRESS, { sources, onError: () => {} });
    // Each shop has its own answers.
    const half = MOST / 2;
    /** How many of the two shops have a row in this answer. */
    const shown = async (key: number): Promise<number> =>
      (await get<TasksBody>(`/api/tasks/?not_name=${key}`, { agent: keepAlive, ours: false })).body.tasks
        .length;
    for (const key of [...Array(half).keys(), 0, half]) expect([key, await shown(key)]).toEqual([key, 2]);
    isAway = true;
    expect([await shown(0), await shown(2), await shown(half), await shown(1)]).toEqual([2, 2, 2, 1]);
  });

  it('hold no more bytes than they may, and nothing that exceeds them by itself', async () => {
    const { shop, isRead } = await openShop();
    // An answer is held as text and as what its tag covers.
    const shares = { a: 0.2, b: 0.2, c: 0.2, whole: 0.55, tiny: 0 };
    shop.tasks = Object.entries(shares).map(([id, share]) =>
      shopTask(1, { id, exception: 'x'.repeat(share * MOST_BYTES) }),
    );
    const reads = async (...ids: string[]) => {
      const read: string[] = [];
      for (const id of ids) if (await isRead(`/api/tasks/${id}/`)) read.push(id);
      return read;
    };
    expect(await reads('a', 'b', 'b', 'a')).toEqual(['a', 'b']);
    expect(await reads('c', 'a', 'c', 'b')).toEqual(['c', 'b']);
    expect(await reads('tiny', 'whole', 'whole', 'tiny', 'c', 'b')).toEqual(['tiny', 'whole', 'whole']);
  });
});
