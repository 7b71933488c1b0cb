import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withInstanceWalks } from '../../src/history/instance-walks.ts';
import type { TaskPage, TaskPosition, TaskSource } from '../../src/source.ts';
import type { MessagePosition } from '../../src/sources/celery/broker.ts';
import { FIRST_POSITION, indexBehind } from '../../src/sources/celery/queues/waiting-cursor.ts';
import { runs, unsampled } from '../helpers/cases.ts';
import { createClient } from '../helpers/redis-client.ts';
import { type RedisServer, redisMissing, startRedis, titleUnless, until } from '../helpers/redis-server.ts';
import { context, messageOf, openLab, openPoll, queryOf } from './queues-lab.ts';

/** More than are copied, in a queue that is listed last. */
const FILLER = 10_001;

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

  /** The queue `celery`, with ids that count up in run order. */
  async function createQueue(size: number): Promise<{ step(step: Step): Promise<void>; order(): string[] }> {
    let next = 0;
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

  /** Each row that stayed was seen once, none twice, and all in the order in which they run. */
  function expectOnce(seen: readonly string[], before: readonly string[], after: readonly string[]): void {
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(seen.toSorted((a, b) => Number(a) - Number(b)));
    const stayed = before.filter((id) => after.includes(id));
    expect(seen).toEqual(expect.arrayContaining(stayed));
  }

  it('shows each row that stays exactly once, of queues that are too long to copy', async () => {
    // A walk ends at the first of them. The others are only counted: reading them would cost more than the walk.
    await client.lPush('zzz', [...fillers(10), ...Array.from({ length: FILLER }, () => 'x')]);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.integer({ min: 1, max: 7 }),
        steps('push', 'pop'),
        async (size, limit, all) => {
          const queue = await createQueue(size);
          const before = [...queue.order()];
          const lab = openLab(redis.url(), {}, ['zzz']);
          try {
            await lab.queues.ready();
            expect(lab.queues.held()).toBeNull();
            const seen: string[] = [];
            let after: TaskPosition | null = null;
            for (let page = 0; page < 200; page += 1) {
              const { tasks, next } = await lab.tasks.listTasks(queryOf({ limit, after }), context);
              seen.push(...tasks.filter((task) => task.queue === 'celery').map(({ id }) => id));
              if (next === null || tasks.some((task) => task.queue !== 'celery')) break;
              after = next;
              await queue.step(all[page] ?? []);
            }
            expectOnce(seen, before, queue.order());
          } finally {
            await lab.close();
          }
        },
      ),
      { numRuns: runs(60) },
    );
  });

  it('shows each row that stays exactly once, of queues that are copied', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.integer({ min: 1, max: 7 }),
        steps('push', 'pop'),
        async (size, limit, all) => {
          const queue = await createQueue(size);
          const before = [...queue.order()];
          const { poll, close } = openPoll(redis.url());
          try {
            const seen: string[] = [];
            let place: MessagePosition = FIRST_POSITION;
            for (let page = 0; page < 200; page += 1) {
              await poll.look(page * 10_000);
              const { messages } = poll.reading();
              const rows = messages.slice(indexBehind(messages, place)).slice(0, limit);
              seen.push(...rows.map(({ facts }) => facts?.id ?? ''));
              const last = rows.at(-1);
              if (last === undefined) break;
              place = last;
              await queue.step(all[page] ?? []);
            }
            expectOnce(seen, before, queue.order());
          } finally {
            await close();
          }
        },
      ),
      { numRuns: runs(60) },
    );
  });

  unsampled(() => {
    it.each(['timestamp', 'received', 'name', 'state'] as const)(
      'misses no waiting task when instances with different knowledge answer, by %s',
      async (sort) => {
        const queue = await createQueue(90);
        const labs = [openLab(redis.url()), openLab(redis.url())] as const;
        try {
          for (const { queues } of labs) await until(() => queues.held() !== null);
          // One has heard that some of them were sent; the other has only looked at the queue.
          for (const [index, id] of queue.order().entries()) {
            if (index % 3 > 0) continue;
            const time = Date.now() - index * 1_000;
            labs[0].history.writer.recordTask({ id, type: 'sent', origin: 'event', name: 'a.b', time });
          }
          const lists = labs.map(({ tasks, history }) => withInstanceWalks(tasks, history.reader.instance));
          for (const order of ['desc', 'asc'] as const) {
            for (const turns of [1, 2, 3, 5]) {
              const seen: string[] = [];
              let after: TaskPosition | null = null;
              let page = 0;
              do {
                const list = lists[Math.floor(page / turns) % 2] as TaskSource;
                const asked = queryOf({ sort, order, limit: 7, after });
                const answer: TaskPage = await list.listTasks(asked, context);
                seen.push(...answer.tasks.map(({ id }) => id));
                after = answer.next;
                page += 1;
              } while (after !== null && page < 100);
              expect(new Set(seen)).toEqual(new Set(queue.order()));
              expect(seen.length).toBeLessThanOrEqual(2 * 90);
            }
          }
        } finally {
          for (const lab of labs) await lab.close();
        }
      },
    );
  });

  it('keeps its copy true to the queue, also when workers give tasks back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(40), steps('push', 'pop', 'restore'), async (size, all) => {
        const queue = await createQueue(size);
        const { poll, close } = openPoll(redis.url());
        try {
          await poll.look(0);
          for (const [index, step] of all.entries()) {
            await queue.step(step);
            await poll.look((index + 1) * 10_000);
            expect(poll.held()?.messages.map(({ facts }) => facts?.id)).toEqual(queue.order());
            expect(poll.depths()[0]?.waiting ?? 0).toBe(queue.order().length);
          }
        } finally {
          await close();
        }
      }),
      { numRuns: runs(60) },
    );
  });

  it.each([0, FILLER])(
    'takes any cursor, and ends, with %i more messages',
    async (more) => {
      await createQueue(30);
      if (more > 0) await client.lPush('zzz', fillers(more));
      const lab = openLab(redis.url(), {}, ['zzz']);
      try {
        if (more > 0) await lab.queues.ready();
        else await until(() => lab.queues.held() !== null);
        expect(lab.queues.held() === null).toBe(more > 0);
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
            after = (await lab.tasks.listTasks(queryOf({ limit: 1000, after }), context)).next;
            pages += 1;
          }
          expect(pages).toBeLessThan(50);
        });
        await fc.assert(walk, { numRuns: runs(more > 0 ? 25 : 300) });
      } finally {
        await lab.close();
      }
    },
    60_000,
  );
});
