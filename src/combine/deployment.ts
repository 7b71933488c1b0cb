/**
 * Combines what several sources say of their deployments: workers, schedules, queues, components, history figures and
 * checks.
 */

import { DETAIL_OF, isMonitorError } from '../errors.ts';
import type { Component, HealthCheck, WorkerHealthCheck } from '../model.ts';
import { fanOutOf, type Reply } from '../source/combined-part.ts';
import type {
  Awaitable,
  ComponentSource,
  HealthSource,
  HistorySource,
  HistoryStats,
  QueueSource,
  ReadContext,
  ScheduleSource,
  SourcePart,
  WorkerSource,
} from '../source.ts';
import { answerOf, lengthOf, requireAnswer } from './merge-items.ts';

/** A part with a method that lists its items. */
type Lister<Call extends string, Item> = SourcePart & {
  readonly [Name in Call]: (context: ReadContext) => Awaitable<readonly Item[] | null>;
};

/** Reads the items of every part. `null`: no part has a list. Fails when no part has a list and one has failed. */
async function itemsOf<Call extends string, Item>(
  parts: readonly Lister<Call, Item>[],
  context: ReadContext,
  call: Call,
  count: (list: readonly Item[] | null) => number = lengthOf,
  show = (item: Item, _part: SourcePart): Item => item,
): Promise<readonly Item[] | null> {
  const fanOut = fanOutOf(context);
  const replies = await Promise.all(
    parts.map((part) => fanOut.ask({ part, call, read: (own) => part[call](own), count })),
  );
  const lists = replies.map(answerOf);
  if (lists.every((list) => list === null)) {
    requireAnswer(replies.filter((reply) => 'error' in reply));
    return null;
  }
  return parts.flatMap((part, index) =>
    (lists[index] ?? []).map((item) => fanOut.attribute(show(item, part), part)),
  );
}

/** All workers. Workers of the same name in two sources are two workers. */
export function combineWorkers(parts: readonly WorkerSource[]): Omit<WorkerSource, 'name'> {
  return { listWorkers: async (context) => (await itemsOf(parts, context, 'listWorkers')) ?? [] };
}

/** All entries; `null` when no source has a beat. */
export function combineSchedules(parts: readonly ScheduleSource[]): Omit<ScheduleSource, 'name'> {
  const count = (list: unknown): number => (list === null ? 0 : lengthOf(list));
  return { listSchedules: (context) => itemsOf(parts, context, 'listSchedules', count) };
}

/** All queues. Queues of the same name in two sources are two queues. */
export function combineQueues(parts: readonly QueueSource[]): Omit<QueueSource, 'name'> {
  return { listQueues: async (context) => (await itemsOf(parts, context, 'listQueues')) ?? [] };
}

/** All components; each key is prefixed with the name of its source. */
export function combineComponents(parts: readonly ComponentSource[]): Omit<ComponentSource, 'name'> {
  const show = (component: Component, { name }: SourcePart): Component => ({
    ...component,
    key: `${name}.${component.key}`,
  });
  return {
    listComponents: async (context) =>
      (await itemsOf(parts, context, 'listComponents', lengthOf, show)) ?? [],
  };
}

/**
 * The figures of all histories: counts are sums, `since` is the latest (from then on all of them were recording),
 * and the lag is the longest.
 */
export function combineHistory(parts: readonly HistorySource[]): Omit<HistorySource, 'name'> {
  return { getHistoryStats: (context) => sumHistoryStats(parts, context) };
}

async function sumHistoryStats(parts: readonly HistorySource[], context: ReadContext): Promise<HistoryStats> {
  const fanOut = fanOutOf(context);
  const replies = await Promise.all(
    parts.map((part) =>
      fanOut.ask({
        part,
        call: 'getHistoryStats',
        read: (own) => part.getHistoryStats(own),
        count(stats) {
          if (typeof stats?.tasks === 'number') return 1;
          throw new TypeError('getHistoryStats() must return { tasks: number, … }.');
        },
      }),
    ),
  );
  requireAnswer(replies);
  const all = replies.flatMap((reply) => answerOf(reply) ?? []);
  const sum = (field: 'tasks' | 'workers' | 'events' | 'evicted' | 'bytes' | 'eventsReceived' | 'dropped') =>
    all.reduce((total, stats) => total + stats[field], 0);
  const since = all.map((stats) => stats.since?.getTime() ?? Number.NaN);
  const lags = all.flatMap(({ lagSeconds }) => lagSeconds ?? []);
  return {
    tasks: sum('tasks'),
    workers: sum('workers'),
    events: sum('events'),
    since: since.some(Number.isNaN) ? null : new Date(Math.max(...since)),
    evicted: sum('evicted'),
    bytes: sum('bytes'),
    eventsReceived: sum('eventsReceived'),
    dropped: sum('dropped'),
    lagSeconds: lags.length === 0 ? null : Math.max(...lags),
  };
}

type Call = 'checkBroker' | 'checkBackend' | 'checkWorkers';

/** The check of one source. */
interface Named<Check> {
  readonly name: string;
  readonly check: Check;
}

/** The checks of a combined part: those that at least one part has. */
export function combineHealth(parts: readonly HealthSource[]): Omit<HealthSource, 'name'> {
  const has = (call: Call): boolean => parts.some((part) => part[call] !== undefined);
  const check = async (call: 'checkBroker' | 'checkBackend', context: ReadContext): Promise<HealthCheck> =>
    worstOf(await checksOf(parts, call, context, (part, own) => part[call]?.(own)));
  return {
    ...(has('checkBroker') && { checkBroker: (context) => check('checkBroker', context) }),
    ...(has('checkBackend') && { checkBackend: (context) => check('checkBackend', context) }),
    ...(has('checkWorkers') && {
      async checkWorkers(context) {
        const { ping } = context;
        const checks = await checksOf(parts, 'checkWorkers', context, (part, own) =>
          part.checkWorkers?.({ signal: own.signal, ping }),
        );
        return { ...worstOf(checks), ...hostnamesOf(checks) };
      },
    }),
  };
}

/** The checks of the parts that have one. */
async function checksOf<Check extends HealthCheck>(
  all: readonly HealthSource[],
  call: Call,
  context: ReadContext,
  read: (part: HealthSource, context: ReadContext) => Awaitable<Check | undefined>,
): Promise<readonly Named<Check | HealthCheck>[]> {
  const fanOut = fanOutOf(context);
  const parts = all.filter((part) => part[call] !== undefined);
  return Promise.all(
    parts.map(async (part) => {
      const reply = await fanOut.ask<Check | undefined>({
        part,
        call,
        mayBeOld: false,
        read: (own) => read(part, own),
        count(check) {
          if (typeof check?.ok !== 'boolean' && check?.ok !== null) {
            throw new TypeError('A check must return { ok: boolean | null }.');
          }
          return 1;
        },
      });
      return { name: part.name, check: checkOf(reply) };
    }),
  );
}

/** A part that could not be read has failed its check. */
function checkOf<Check extends HealthCheck>(reply: Reply<Check | undefined>): Check | HealthCheck {
  if ('error' in reply) {
    const code = isMonitorError(reply.error) ? reply.error.code : 'source_unavailable';
    return { ok: false, error: DETAIL_OF[code] };
  }
  return reply.raw ?? { ok: null };
}

function worstOf(checks: readonly Named<HealthCheck>[]): HealthCheck {
  const failed = checks.filter(({ check }) => check.ok === false);
  if (failed.length === 0) return { ok: checks.some(({ check }) => check.ok) ? true : null, error: null };
  const errors = failed.map(({ name, check }) => `${name}: ${check.error ?? 'The check failed.'}`);
  return { ok: false, error: errors.join(' ') };
}

/** A worker that responds to one source is not missing, even if another source reports it missing. */
function hostnamesOf(
  checks: readonly Named<HealthCheck | WorkerHealthCheck>[],
): Pick<WorkerHealthCheck, 'responding' | 'missing'> {
  const all = checks.flatMap(({ check }) => ('responding' in check ? [check] : []));
  const responding = new Set(all.flatMap((check) => check.responding));
  const missing = new Set(all.flatMap((check) => check.missing).filter((name) => !responding.has(name)));
  return { responding: [...responding].sort(), missing: [...missing].sort() };
}
