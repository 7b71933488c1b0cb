import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TaskPosition } from '../../src/source.ts';
import { runs } from '../helpers/cases.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless } from '../helpers/redis-server.ts';
import { context, type Lab, messageOf, openLab, queryOf } from './queues-lab.ts';

/** More than are listed, in a queue that is listed last. */
const FILLER = 1_101;

const fillers = (length: number): string[] =>
  Array.from({ length }, (_, index) => messageOf(`filler-${index}`));

/** What others do to the queue between two pages. */
type Step = readonly (readonly ['push' | 'pop' | 'restore', number])[];

const steps = (...kinds: ('push' | 'pop' | 'restore')[]): fc.Arbitrary<Step[]> =>
  fc.array(fc.array(fc.tuple(fc.constantFrom(...kinds), fc.integer({ min: 1, max: 12 })), { maxLength: 3 }), {
    maxLength: 12,
  });

describe.skipIf(redisMissing !== null)(titleUnless(redisMissing, 'paging while others push and pop'), () => {
  let redis: RedisServer;
  let client: ReturnType<typeof createClient>;

  // One for each test: a test that was given up still pushes and pops for a while.
  beforeEach(async () => {
    redis = await startRedis();
    client = createClient({ url: redis.url() });
    await client.connect();
  });

  afterEach(async () => {
    client?.destroy();
    await redis?.close();
  });

  let next = 0;

  /** The queue `celery`, with ids that count up in run order. */
  async function createQueue(size: number): Promise<{ step(step: Step): Promise<void>; order(): string[] }> {
    let waiting: string[] = [];
    const taken: string[] = [];
    const push = async (count: number): Promise<void> => {
      const ids = Array.from({ length: count }, () => String(next++));
      waiting.push(...ids);
      if (ids.length > 0)
        await client.lPush(
          'celery',
          ids.map((id) => messageOf(id)),
        );
    };
    await client.del('celery');
    await push(size);
    return {
      order: () => waiting,
      async step(step) {
        for (const [kind, count] of step) {
          if (kind === 'push') await push(count);
          else if (kind === 'pop') {
            taken.push(...waiting.slice(0, count));
            waiting = waiting.slice(count);
            await client.rPopCount('celery', count);
          } else {
            const id = taken.pop();
            if (id === undefined) continue;
            waiting.unshift(id);
            await client.rPush('celery', messageOf(id));
          }
        }
      },
    };
  }

  /** Lets the source read the queues whenever the test says so, instead of once a second. */
  function holdReadings({ sources }: Lab): { read(): Promise<void> } {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const asOf = () => sources.queues.status?.().asOf?.getTime();
    return {
      async read() {
        const before = asOf();
        // A reading within the millisecond of the last one would look like it.
        while (Date.now() === before) await new Promise((resolve) => setImmediate(resolve));
        sources.tasks.status?.();
        await vi.advanceTimersByTimeAsync(1_000);
        while (asOf() === before) await new Promise((resolve) => setImmediate(resolve));
      },
    };
  }

  /** Each row that stayed was seen once, none twice, and all in the order in which they run. */
  function expectOnce(seen: readonly string[], before: readonly string[], after: readonly string[]): void {
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(seen.toSorted((a, b) => Number(a) - Number(b)));
    const stayed = before.filter((id) => after.includes(id));
    expect(seen).toEqual(expect.arrayContaining(stayed));
  }

  it.each([
    ['listed whole', 0],
    ['not listed whole', FILLER],
  ])('shows each row that stays exactly once, of queues that are %s', async (_, more) => {
    // A walk ends at the first of them. The others are only counted: reading them would cost more than the walk.
    if (more > 0) await client.lPush('zzz', [...fillers(10), ...Array.from({ length: more }, () => 'x')]);
    const lab = await openLab(redis.url(), { queues: ['zzz'] });
    const { read } = holdReadings(lab);
    const walk = fc.asyncProperty(
      fc.nat(60),
      fc.integer({ min: 1, max: 7 }),
      steps('push', 'pop'),
      async (size, limit, all) => {
        const queue = await createQueue(size);
        const before = [...queue.order()];
        await read();
        await read();
        const seen: string[] = [];
        let after: TaskPosition | null = null;
        for (let page = 0; page < 200; page += 1) {
          const {
            tasks,
            next: position,
            total,
          } = await lab.tasks.listTasks(queryOf({ limit, after }), context);
          expect(total === null).toBe(more > 0);
          seen.push(...tasks.filter((task) => task.queue === 'celery').map(({ id }) => id));
          if (position === null || tasks.some((task) => task.queue !== 'celery')) break;
          after = position;
          const step = all[page];
          if (step === undefined) continue;
          await queue.step(step);
          await read();
        }
        expectOnce(seen, before, queue.order());
      },
    );
    await fc.assert(walk, { numRuns: runs(60) });
  });

  it('keeps its list true to the queue, also when workers give tasks back', async () => {
    const lab = await openLab(redis.url());
    const { read } = holdReadings(lab);
    const follow = fc.asyncProperty(fc.nat(40), steps('push', 'pop', 'restore'), async (size, all) => {
      const queue = await createQueue(size);
      for (const step of [[], ...all]) {
        await queue.step(step);
        // A reading may have been under way.
        await read();
        await read();
        const { tasks, total } = await lab.tasks.listTasks(queryOf({ limit: 1_000 }), context);
        expect(tasks.map(({ id }) => id)).toEqual(queue.order());
        expect(total).toBe(queue.order().length);
        expect((await lab.queues())[0]?.waiting ?? 0).toBe(queue.order().length);
      }
    });
    await fc.assert(follow, { numRuns: runs(60) });
  });

  it.each([0, FILLER])('takes any cursor, and ends, with %i more messages', async (more) => {
    await createQueue(30);
    if (more > 0) await client.lPush('zzz', fillers(more));
    const { tasks } = await openLab(redis.url(), { queues: ['zzz'] });
    const mark = fc.oneof(
      fc.string(),
      fc.json().map((text) => `waiting${text}`),
      fc
        .tuple(fc.string(), fc.maxSafeInteger(), fc.maxSafeInteger(), fc.string())
        .map((parts) => `waiting${JSON.stringify(parts)}`),
      fc
        .tuple(fc.constantFrom('celery', 'zzz'), fc.nat(4), fc.nat(40), fc.string())
        .map((parts) => `waiting${JSON.stringify(parts)}`),
      fc.tuple(fc.string(), fc.string()).map((parts) => `waiting${JSON.stringify(parts)}`),
    );
    const walk = fc.asyncProperty(mark, async (mark) => {
      let after: TaskPosition | null = { key: null, id: '', mark };
      let pages = 0;
      while (after !== null && pages < 50) {
        after = (await tasks.listTasks(queryOf({ limit: 1000, after }), context)).next;
        pages += 1;
      }
      expect(pages).toBeLessThan(50);
    });
    await fc.assert(walk, { numRuns: runs(more > 0 ? 25 : 300) });
  });
});
