/** Combines the workers, schedules, queues, components and history figures of several sources. */
import type { Component, Queue, Schedule, Worker } from '../model.ts';
import { type FanOut, fanOutOf, type Reply } from '../source/combined-part.ts';
import type {
  Awaitable,
  ComponentSource,
  HistorySource,
  HistoryStats,
  QueueSource,
  ReadContext,
  ScheduleSource,
  SourcePart,
  WorkerSource,
} from '../source.ts';
import { answerOf, lengthOf, requireAnswer } from './replies.ts';

/** Reads a list from every part. Fails when all parts fail. */
async function listsOf<Part extends SourcePart, List>(
  parts: readonly Part[],
  context: ReadContext,
  call: string,
  read: (part: Part, context: ReadContext) => Awaitable<List>,
  count: (list: List) => number,
): Promise<{ readonly fanOut: FanOut; readonly replies: readonly Reply<List>[] }> {
  const fanOut = fanOutOf(context);
  const replies = await Promise.all(
    parts.map((part) => fanOut.ask({ part, call, read: (own) => read(part, own), count })),
  );
  requireAnswer(replies);
  return { fanOut, replies };
}

/** All workers, by hostname. Workers of the same name in two sources are two workers. */
export async function listAllWorkers(
  parts: readonly WorkerSource[],
  context: ReadContext,
): Promise<readonly Worker[]> {
  const { fanOut, replies } = await listsOf(
    parts,
    context,
    'listWorkers',
    (part, own) => part.listWorkers(own),
    lengthOf,
  );
  return parts
    .flatMap((part, index) =>
      (answerOf(replies[index]) ?? []).map((worker) => fanOut.attribute(worker, part)),
    )
    .sort((a, b) => compareText(hostnameOf(a), hostnameOf(b)));
}

/** A worker that cannot be read is sorted first; the serializer leaves it out. */
function hostnameOf(worker: Worker): string {
  try {
    return worker.hostname;
  } catch {
    return '';
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** All entries; `null` when no source has a beat. Fails when no source has entries and one has failed. */
export async function listAllSchedules(
  parts: readonly ScheduleSource[],
  context: ReadContext,
): Promise<readonly Schedule[] | null> {
  const { fanOut, replies } = await listsOf<ScheduleSource, readonly Schedule[] | null>(
    parts,
    context,
    'listSchedules',
    (part, own) => part.listSchedules(own),
    (list) => (list === null ? 0 : lengthOf(list)),
  );
  const lists = replies.map(answerOf);
  if (lists.every((list) => list === null)) {
    requireAnswer(replies.filter((reply) => 'error' in reply));
    return null;
  }
  return parts.flatMap((part, index) =>
    (lists[index] ?? []).map((schedule) => fanOut.attribute(schedule, part)),
  );
}

/** All queues. Queues of the same name in two sources are two queues. */
export async function listAllQueues(
  parts: readonly QueueSource[],
  context: ReadContext,
): Promise<readonly Queue[]> {
  const { fanOut, replies } = await listsOf(
    parts,
    context,
    'listQueues',
    (part, own) => part.listQueues(own),
    lengthOf,
  );
  return parts.flatMap((part, index) =>
    (answerOf(replies[index]) ?? []).map((queue) => fanOut.attribute(queue, part)),
  );
}

/** All components; each key is prefixed with the name of its source. */
export async function listAllComponents(
  parts: readonly ComponentSource[],
  context: ReadContext,
): Promise<readonly Component[]> {
  const { replies } = await listsOf(
    parts,
    context,
    'listComponents',
    (part, own) => part.listComponents(own),
    lengthOf,
  );
  return parts.flatMap(({ name }, index) =>
    (answerOf(replies[index]) ?? []).map((component) => ({ ...component, key: `${name}.${component.key}` })),
  );
}

/**
 * The figures of all histories: counts are sums, `since` is the latest (from then on all of them were recording),
 * and the lag is the longest.
 */
export async function getAllHistoryStats(
  parts: readonly HistorySource[],
  context: ReadContext,
): Promise<HistoryStats> {
  const { replies } = await listsOf(
    parts,
    context,
    'getHistoryStats',
    (part, own) => part.getHistoryStats(own),
    (stats) => {
      if (typeof stats?.tasks !== 'number')
        throw new TypeError('getHistoryStats() must return { tasks: number, … }.');
      return 1;
    },
  );
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
