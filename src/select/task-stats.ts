import { isDone, type Task } from '../model.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';
import type { TaskStats, TaskStatsQuery } from '../source.ts';
import { passesFilters } from './task-filter.ts';

const MINUTE_MS = 60_000;
/** Maximum number of names in the result. */
const MAX_NAMES = 50;
/** Maximum number of states, workers and queues in the result. */
const MAX_LISTED = 1_000;
/** Readable chart steps, in seconds; the smallest one with at most 60 steps is used. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800];
const MAX_STEPS = 60;

/** What is summed up of a task. Times in milliseconds since 1970, `NaN` where unknown. */
export interface TaskFigures {
  readonly state: string;
  readonly name: string | null;
  readonly worker: string | null;
  readonly queue: string | null;
  /** Of the last change. */
  readonly timestamp: number;
  readonly sent: number;
  readonly received: number;
  readonly started: number;
  readonly finished: number;
  /** In seconds. */
  readonly runtime: number;
}

interface NameFigures {
  readonly name: string;
  count: number;
  failed: number;
  readonly runtimes: number[];
  readonly waits: number[];
}

interface ChartStep {
  readonly t: Date;
  received: number;
  succeeded: number;
  failed: number;
  retried: number;
}

/** Sums of the tasks that were added. Times in milliseconds since 1970. */
interface Sums {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
  readonly series: ChartStep[];
  readonly states: Map<string, number>;
  readonly names: Map<string, NameFigures>;
  readonly workers: Set<string>;
  readonly queues: Set<string>;
}

/** Sums up tasks one by one, so that a large number can be processed in steps. */
export interface StatsAccumulator {
  /** Counts a task that has passed the filters, unless it is outside the time window. */
  add(task: TaskFigures): void;
  /** Sorts and cuts what was counted. */
  result(): Steps<TaskStats>;
}

/**
 * Creates an accumulator for tasks whose last change is in the time window.
 * - `received`, `succeeded`, `failed`, `retried` of a step: tasks that were received, that ended as SUCCESS
 *   or as FAILURE, and whose last change was a RETRY, in that step
 * - a wait is the time from when a task was sent (where that is not known, received) to its start
 * - percentiles by nearest rank
 */
export function createStatsAccumulator({ minutes, now }: TaskStatsQuery): StatsAccumulator {
  const stepSeconds = STEPS.find((step) => (minutes * 60) / step <= MAX_STEPS) ?? 1_800;
  const stepMs = stepSeconds * 1_000;
  const end = now.getTime();
  const start = end - minutes * MINUTE_MS;
  // Steps begin at round times, so that a chart does not change between two answers.
  const first = Math.floor(start / stepMs) * stepMs;
  const count = Math.floor(end / stepMs) - first / stepMs + 1;
  const series = Array.from({ length: count }, (_, step) => ({
    ...{ t: new Date(first + step * stepMs), received: 0, succeeded: 0, failed: 0, retried: 0 },
  }));
  const sums: Sums = {
    ...{ start, end, stepSeconds, series },
    ...{ states: new Map(), names: new Map(), workers: new Set(), queues: new Set() },
  };
  return {
    add: (task) => addTask(sums, task),
    result: () => resultOf(sums),
  };
}

function addTask(sums: Sums, task: TaskFigures): void {
  const { states, workers, queues } = sums;
  if (!(task.timestamp >= sums.start && task.timestamp <= sums.end)) return;
  states.set(task.state, (states.get(task.state) ?? 0) + 1);
  if (task.worker !== null) workers.add(task.worker);
  if (task.queue !== null) queues.add(task.queue);
  addToSeries(sums, task);
  if (task.name !== null) addToName(sums, task, task.name);
}

function addToSeries(sums: Sums, { state, received, finished, timestamp }: TaskFigures): void {
  const receivedIn = stepAt(sums, received);
  if (receivedIn !== undefined) receivedIn.received++;
  const changedIn = stepAt(sums, isDone(state) && !Number.isNaN(finished) ? finished : timestamp);
  if (changedIn === undefined) return;
  if (state === 'SUCCESS') changedIn.succeeded++;
  else if (state === 'FAILURE') changedIn.failed++;
  else if (state === 'RETRY') changedIn.retried++;
}

function stepAt({ start, end, series, stepSeconds }: Sums, time: number): ChartStep | undefined {
  const first = series[0]?.t.getTime() ?? 0;
  return time >= start && time <= end
    ? series[Math.floor((time - first) / (stepSeconds * 1_000))]
    : undefined;
}

function addToName(
  { names }: Sums,
  { state, sent, received, started, runtime }: TaskFigures,
  name: string,
): void {
  let figures = names.get(name);
  if (figures === undefined) {
    figures = { name, count: 0, failed: 0, runtimes: [], waits: [] };
    names.set(name, figures);
  }
  figures.count++;
  if (state === 'FAILURE') figures.failed++;
  if (!Number.isNaN(runtime)) figures.runtimes.push(runtime);
  const from = Number.isNaN(sent) ? received : sent;
  // Clocks of two machines differ: a start before the sending is not a wait.
  if (started >= from) figures.waits.push((started - from) / 1_000);
}

function* resultOf({ stepSeconds, series, states, names, workers, queues }: Sums): Steps<TaskStats> {
  const byCount = (a: NameFigures, b: NameFigures): number =>
    b.count - a.count || compareText(a.name, b.name);
  const frequent = yield* sortInSteps([...names.values()], byCount, MAX_NAMES);
  const figures: TaskStats['names'][number][] = [];
  for (const { name, count, failed, runtimes, waits } of frequent) {
    figures.push({ name, count, failed, ...percentiles('runtime', runtimes), ...percentiles('wait', waits) });
    yield;
  }
  const byTasks = yield* sortInSteps([...states], ([, a], [, b]) => b - a, MAX_LISTED);
  return {
    stepSeconds,
    series,
    states: Object.fromEntries(byTasks.sort(([a], [b]) => compareText(a, b))),
    names: figures,
    workers: yield* sortInSteps([...workers], compareText, MAX_LISTED),
    queues: yield* sortInSteps([...queues], compareText, MAX_LISTED),
  };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Percentiles<Name extends string> = Record<`${Name}P50` | `${Name}P95`, number | null>;

function percentiles<Name extends string>(name: Name, values: readonly number[]): Percentiles<Name> {
  const sorted = Float64Array.from(values).sort();
  const rank = (share: number): number | null => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
  return { [`${name}P50`]: rank(0.5), [`${name}P95`]: rank(0.95) } as Percentiles<Name>;
}

/** The figures of a task as an object. */
export function figuresOf(task: Task): TaskFigures {
  return {
    state: task.state,
    name: task.name ?? null,
    worker: task.worker ?? null,
    queue: task.queue ?? null,
    timestamp: timeOf(task.timestamp),
    sent: timeOf(task.sent),
    received: timeOf(task.received),
    started: timeOf(task.started),
    finished: timeOf(task.finished),
    runtime: typeof task.runtime === 'number' ? task.runtime : Number.NaN,
  };
}

function timeOf(time: Date | null | undefined): number {
  return time?.getTime() ?? Number.NaN;
}

/**
 * Answers `getTaskStats` for a source that has all its tasks in memory.
 *
 * @param tasks every task, in any order
 * @param query as given to `getTaskStats`
 */
export function summarizeTasks(tasks: Iterable<Task>, query: TaskStatsQuery): TaskStats {
  const statistics = createStatsAccumulator(query);
  for (const task of tasks) if (passesFilters(task, query.filter)) statistics.add(figuresOf(task));
  return finish(statistics.result());
}

/** Runs steps to their end at once. */
function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
