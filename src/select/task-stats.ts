import { isDone, type Task } from '../model.ts';
import type { TaskStats, TaskStatsQuery } from '../source.ts';
import { passesFilters } from './task-filter.ts';

const MINUTE_MS = 60_000;
/** Maximum number of names in the result. */
const MAX_NAMES = 50;
/** Readable chart steps, in seconds; the smallest one with at most 60 steps is used. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800];
const MAX_STEPS = 60;

interface NameFigures {
  count: number;
  failed: number;
  readonly runtimes: number[];
  readonly waits: number[];
}

/** Sums up tasks one by one, so that a large number can be processed in slices. */
export interface StatsAccumulator {
  /** Counts a task that has passed the filters, unless it is outside the time window. */
  add(task: Task): void;
  result(): TaskStats;
}

type Step = { -readonly [Key in keyof TaskStats['series'][number]]: TaskStats['series'][number][Key] };

interface State {
  /** First and last moment of the time window, in milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
  /** Where the first step begins. */
  readonly firstStep: number;
  readonly series: Step[];
  readonly states: Map<string, number>;
  readonly names: Map<string, NameFigures>;
  readonly workers: Set<string>;
  readonly queues: Set<string>;
}

/**
 * Creates an accumulator for tasks whose last change is in the time window.
 * - `received`, `succeeded`, `failed`, `retried` of a step: tasks that were received, that ended as SUCCESS
 *   or as FAILURE, and whose last change was a RETRY, in that step
 * - a wait is the time from when a task was sent (where that is not known, received) to its start
 * - percentiles by nearest rank
 */
export function createStatsAccumulator({ minutes, now }: TaskStatsQuery): StatsAccumulator {
  const stepMs = (STEPS.find((step) => (minutes * 60) / step <= MAX_STEPS) ?? 1_800) * 1_000;
  const end = now.getTime();
  const start = end - minutes * MINUTE_MS;
  // Steps begin at round times, so that a chart does not change between two answers.
  const firstStep = Math.floor(start / stepMs) * stepMs;
  const count = Math.floor(end / stepMs) - firstStep / stepMs + 1;
  const state: State = {
    start,
    end,
    stepMs,
    firstStep,
    series: Array.from({ length: count }, (_, step) => ({
      t: new Date(firstStep + step * stepMs),
      received: 0,
      succeeded: 0,
      failed: 0,
      retried: 0,
    })),
    states: new Map(),
    names: new Map(),
    workers: new Set(),
    queues: new Set(),
  };
  return { add: (task) => addTask(state, task), result: () => resultOf(state) };
}

function addTask(state: State, task: Task): void {
  const time = task.timestamp?.getTime() ?? Number.NaN;
  if (!(time >= state.start && time <= state.end)) return;
  const { states, workers, queues } = state;
  states.set(task.state, (states.get(task.state) ?? 0) + 1);
  if (task.worker != null) workers.add(task.worker);
  if (task.queue != null) queues.add(task.queue);
  addToSeries(state, task);
  if (task.name != null) addToName(state, task, task.name);
}

function addToSeries(state: State, task: Task): void {
  const received = stepAt(state, task.received);
  if (received !== undefined) received.received++;
  const changed = stepAt(state, isDone(task.state) ? (task.finished ?? task.timestamp) : task.timestamp);
  if (changed === undefined) return;
  if (task.state === 'SUCCESS') changed.succeeded++;
  else if (task.state === 'FAILURE') changed.failed++;
  else if (task.state === 'RETRY') changed.retried++;
}

function stepAt(
  { start, end, stepMs, firstStep, series }: State,
  time: Date | null | undefined,
): Step | undefined {
  const at = time?.getTime() ?? Number.NaN;
  return at >= start && at <= end ? series[Math.floor((at - firstStep) / stepMs)] : undefined;
}

function addToName({ names }: State, task: Task, name: string): void {
  let figures = names.get(name);
  if (figures === undefined) {
    figures = { count: 0, failed: 0, runtimes: [], waits: [] };
    names.set(name, figures);
  }
  figures.count++;
  if (task.state === 'FAILURE') figures.failed++;
  if (typeof task.runtime === 'number') figures.runtimes.push(task.runtime);
  const from = task.sent ?? task.received;
  // Clocks of two machines differ: a start before the sending is not a wait.
  if (from != null && task.started != null && task.started >= from) {
    figures.waits.push((task.started.getTime() - from.getTime()) / 1_000);
  }
}

function resultOf({ stepMs, series, states, names, workers, queues }: State): TaskStats {
  return {
    stepSeconds: stepMs / 1_000,
    series,
    states: Object.fromEntries([...states].sort()),
    names: [...names]
      .sort(([a, left], [b, right]) => right.count - left.count || (a < b ? -1 : 1))
      .slice(0, MAX_NAMES)
      .map(([name, { count, failed, runtimes, waits }]) => ({
        name,
        count,
        failed,
        ...percentiles('runtime', runtimes),
        ...percentiles('wait', waits),
      })),
    workers: [...workers].sort(),
    queues: [...queues].sort(),
  };
}

type Percentiles<Name extends string> = Record<`${Name}P50` | `${Name}P95`, number | null>;

function percentiles<Name extends string>(name: Name, values: readonly number[]): Percentiles<Name> {
  const sorted = Float64Array.from(values).sort();
  const rank = (share: number): number | null => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
  return { [`${name}P50`]: rank(0.5), [`${name}P95`]: rank(0.95) } as Percentiles<Name>;
}

/**
 * Answers `getTaskStats` for a source that has all its tasks in memory.
 *
 * @param tasks every task, in any order
 * @param query as given to `getTaskStats`
 */
export function summarizeTasks(tasks: Iterable<Task>, query: TaskStatsQuery): TaskStats {
  const statistics = createStatsAccumulator(query);
  for (const task of tasks) if (passesFilters(task, query.filter)) statistics.add(task);
  return statistics.result();
}
