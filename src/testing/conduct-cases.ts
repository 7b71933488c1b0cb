/** Cases on the behaviour that all parts share: status, aborted reads, concurrent reads, `close()`. */
import type { Awaitable, MonitorSources, ReadContext } from '../source.ts';
import { type Bench, type Checks, NO_SEED, partsOf } from './bench.ts';
import { expectIds, expectRows, idsOf, page, taskQuery } from './listing.ts';
import { lateTask } from './sample-tasks.ts';
import { fail } from './shape.ts';
import { SHAPES } from './shapes.ts';

const NO_TASKS = 'The source has no part tasks.';

type Read = (context: ReadContext) => Awaitable<unknown>;

/** Every read of a source, by part and method, with what it is asked. */
const READS = [
  ['tasks', 'listTasks', () => [taskQuery()]],
  ['tasks', 'getTask', () => ['flow-root']],
  ['tasks', 'getTaskTree', () => ['flow-root']],
  ['tasks', 'getTaskStats', () => [{ minutes: 60, now: new Date(), filter: taskQuery() }]],
  ['workers', 'listWorkers', () => []],
  ['events', 'listEvents', () => [{ limit: 50, since: null, states: [], workers: [], tasks: [] }]],
  ['schedules', 'listSchedules', () => []],
  ['health', 'checkBroker', () => []],
  ['health', 'checkBackend', () => []],
  ['health', 'checkWorkers', () => []],
  ['queues', 'listQueues', () => []],
  ['components', 'listComponents', () => []],
  ['history', 'getHistoryStats', () => []],
] as const;

/** Every read that the source has, by name. */
function readsOf(sources: MonitorSources): readonly (readonly [string, Read])[] {
  return READS.flatMap(([kind, name, asked]) => {
    const part = sources[kind] as Readonly<Record<string, unknown>> | undefined;
    const method = part?.[name];
    if (typeof method !== 'function') return [];
    // `checkWorkers` alone reads more of its context than the signal.
    const read: Read = (context) => Reflect.apply(method, part, [...asked(), { ...context, ping: false }]);
    return [[name, read] as const];
  });
}

/** Waits until a read settles, whether it succeeds or fails. */
async function settled(bench: Bench, what: string, read: () => Awaitable<unknown>): Promise<void> {
  await bench.within(what, async () => {
    try {
      await read();
    } catch {
      // A source may refuse a read that was aborted or started after `close()`.
    }
  });
}

function revisionOf(bench: Bench): string | number | undefined {
  return bench.sources.tasks?.status?.().revision;
}

/** Milliseconds of a call, in the fastest of some rounds: other work on the machine does not count. */
function fastestOf(call: () => unknown): number {
  const rounds = Array.from({ length: 10 }, () => {
    const before = performance.now();
    for (let count = 0; count < 100; count += 1) call();
    return (performance.now() - before) / 100;
  });
  return Math.min(...rounds);
}

/** Cases on every part. */
export const CONDUCT_CHECKS: Checks = {
  'gives each part a valid name': async (bench) => {
    for (const [name, part] of partsOf(bench.sources)) SHAPES.sourceName(part.name, `sources.${name}.name`);
  },

  'reports its status synchronously and does not throw': async (bench) => {
    const parts = partsOf(bench.sources);
    if (parts.every(([, part]) => !part.status)) bench.skip('No part of the source has status().');
    for (const [name, part] of parts) {
      if (!part.status) continue;
      SHAPES.status(part.status(), `sources.${name}.status()`);
      const took = fastestOf(() => part.status?.());
      if (took > 1) fail(`sources.${name}.status()`, 'less than 1 ms a call', `${took} ms`);
    }
  },

  'keeps its revision while nothing changes': async (bench) => {
    const parts = partsOf(bench.sources);
    if (parts.every(([, part]) => part.status?.().revision === undefined)) {
      bench.skip('No part of the source has a revision.');
    }
    for (const [name, part] of parts) {
      const before = part.status?.().revision;
      for (const [, read] of readsOf(bench.sources)) {
        await bench.read('a read', (context) => read(context));
      }
      const after = part.status?.().revision;
      if (after !== before) fail(`revision of sources.${name} after reads alone`, String(before), after);
    }
  },

  'changes its revision when a task is added': async (bench) => {
    if (!bench.sources.tasks) return bench.skip(NO_TASKS);
    if (!bench.seed) return bench.skip(NO_SEED);
    const before = revisionOf(bench);
    if (before === undefined) bench.skip('The part tasks has no revision.');
    await bench.seed([lateTask(bench.openedAt)]);
    const { tasks } = await page(bench, taskQuery());
    if (!tasks.some((task) => task.id === 'late-1'))
      fail('listTasks after late-1 was put in', 'it', tasks.length);
    if (revisionOf(bench) === before) {
      fail('revision of sources.tasks after a task came', `other than ${before}`, before);
    }
  },

  'settles every aborted read and answers the next one': async (bench) => {
    for (const [name, read] of readsOf(bench.sources)) {
      const before = AbortSignal.abort();
      await settled(bench, `${name} with an aborted signal`, () => read({ signal: before }));
      const during = new AbortController();
      await settled(bench, `${name} aborted while it runs`, async () => {
        const answer = read({ signal: during.signal });
        during.abort();
        await answer;
      });
      await bench.read(`${name} after aborted ones`, (context) => read(context));
    }
  },

  'answers concurrent reads like a single one': async (bench) => {
    const reads = readsOf(bench.sources);
    await Promise.all(
      Array.from({ length: 10 }, () =>
        Promise.all(reads.map(([name, read]) => bench.read(name, (context) => read(context)))),
      ),
    );
    if (!bench.sources.tasks) return bench.skip(NO_TASKS);
    const alone = await page(bench, taskQuery({ limit: 50 }));
    const together = await Promise.all(
      Array.from({ length: 20 }, (_, index) => page(bench, taskQuery({ limit: index % 2 === 0 ? 50 : 3 }))),
    );
    for (const [index, { tasks }] of together.entries()) {
      expectRows('concurrent listTasks', tasks, alone.tasks.slice(0, index % 2 === 0 ? 50 : 3));
    }
  },

  'returns independent answers: changing one does not change another': async (bench) => {
    if (!bench.sources.tasks) return bench.skip(NO_TASKS);
    const first = await page(bench, taskQuery({ limit: 5 }));
    const ids = idsOf(first.tasks);
    if (!Object.isFrozen(first.tasks)) (first.tasks as unknown[]).length = 0;
    const second = await page(bench, taskQuery({ limit: 5 }));
    expectIds('listTasks after its last answer was emptied', idsOf(second.tasks), ids);
  },

  'can be closed twice, and status() neither hangs nor throws afterwards': async (bench) => {
    await bench.within('close()', () => bench.sources.close?.());
    await bench.within('the second close()', () => bench.sources.close?.());
    for (const [name, part] of partsOf(bench.sources)) {
      if (part.status) SHAPES.status(part.status(), `sources.${name}.status() after close()`);
    }
    for (const [name, read] of readsOf(bench.sources)) {
      await settled(bench, `${name} after close()`, () => read({ signal: new AbortController().signal }));
    }
  },

  'can be closed during reads': async (bench) => {
    const signal = new AbortController().signal;
    const reads = readsOf(bench.sources).map(([name, read]) => settled(bench, name, () => read({ signal })));
    await bench.within('close()', () => bench.sources.close?.());
    await Promise.all(reads);
  },
};
