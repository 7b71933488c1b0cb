import type { QueueDepths, TaskStats } from '../source.ts';
import type { StatsNameBody, StatsQueueBody, StatsStepBody, TaskStatsBody } from '../wire.ts';
import { isoTime } from './moments.ts';
import { figure, label, labels, MOST_ITEMS, wellFormed, whole } from './scalars.ts';

const MOST_STEPS = 1_500;
const MOST_DEPTHS = 20;
const MOST_NAMES = 50;

type Given<T> = { readonly [Key in keyof T]?: unknown };

/** `null` when the statistics have no valid step length. */
export function statsBody(stats: TaskStats): TaskStatsBody | null {
  const given: Given<TaskStats> = stats;
  const step = figure(given.stepSeconds);
  if (step === null || step <= 0) return null;
  return {
    step_seconds: step,
    series: rows<TaskStats['series'][number], StatsStepBody>(given.series, MOST_STEPS, stepBody),
    states: countsOf(given.states),
    names: rows<TaskStats['names'][number], StatsNameBody>(given.names, MOST_NAMES, nameBody),
    workers: labels(given.workers) ?? [],
    queues: labels(given.queues) ?? [],
    ...storedBody(given),
  };
}

/** The members that only sources with a store have. */
function storedBody({
  computedFrom,
  countedSince,
  queueDepths,
}: Given<TaskStats>): Pick<TaskStatsBody, 'computed_from' | 'counted_since' | 'queue_depths'> {
  if (computedFrom !== 'tasks' && computedFrom !== 'rollups') return {};
  const depths = rows<QueueDepths, StatsQueueBody>(queueDepths, MOST_DEPTHS, depthsBody);
  return {
    computed_from: computedFrom,
    counted_since: isoTime(countedSince),
    ...(queueDepths !== undefined && { queue_depths: depths }),
  };
}

function depthsBody({ queue, waiting, oldestSeconds }: Given<QueueDepths>): StatsQueueBody | null {
  const name = label(queue);
  if (name === null || !Array.isArray(waiting) || !Array.isArray(oldestSeconds)) return null;
  return {
    queue: name,
    waiting: waiting.slice(0, MOST_STEPS).map(whole),
    oldest_seconds: oldestSeconds.slice(0, MOST_STEPS).map(figure),
  };
}

function stepBody({ t, received, succeeded, failed, retried }: Given<TaskStats['series'][number]>) {
  const time = isoTime(t);
  if (time === null) return null;
  return {
    t: time,
    received: whole(received),
    succeeded: whole(succeeded),
    failed: whole(failed),
    retried: whole(retried),
  };
}

function nameBody(given: Given<TaskStats['names'][number]>): StatsNameBody | null {
  const name = label(given.name);
  if (name === null) return null;
  return {
    name,
    count: whole(given.count) ?? 0,
    failed: whole(given.failed) ?? 0,
    runtime_p50: figure(given.runtimeP50),
    runtime_p95: figure(given.runtimeP95),
    wait_p50: figure(given.waitP50),
    wait_p95: figure(given.waitP95),
  };
}

/** States may have any name. `fromEntries` stores `__proto__` as an ordinary member. */
function countsOf(states: unknown): TaskStatsBody['states'] {
  if (typeof states !== 'object' || states === null) return {};
  return Object.fromEntries(
    Object.entries(states)
      .slice(0, MOST_ITEMS)
      .flatMap(([state, count]) => {
        const known = whole(count);
        return known === null ? [] : [[wellFormed(state), known]];
      }),
  );
}

/** Serializes the readable items of a list. */
function rows<Item, Body>(list: unknown, most: number, bodyOf: (item: Given<Item>) => Body | null): Body[] {
  if (!Array.isArray(list)) return [];
  const bodies: Body[] = [];
  for (const item of list.slice(0, most)) {
    const body = typeof item === 'object' && item !== null ? bodyOf(item as Given<Item>) : null;
    if (body !== null) bodies.push(body);
  }
  return bodies;
}
