import {
  type CauseGroups,
  type CausesBefore,
  createCauseGroups,
  createFirstSeen,
} from '../causes/cause-groups.ts';
import { isDone, type Task } from '../model.ts';
import { type Steps, sortInSteps } from '../scheduler.ts';
import type { TaskStats, TaskStatsQuery } from '../source.ts';
import { compareText } from '../values.ts';
import { passesFilters } from './apply-query.ts';
import { countCallers, createFamilyCollector, type SentTask } from './callers.ts';
import {
  addDurations,
  bucketsOf,
  type Durations,
  histogramOf,
  noDurations,
  percentilesOf,
  totalsIn,
} from './durations.ts';
import { failedAt, figuresOf, type TaskFigures } from './task-figures.ts';

/**
 * Answers `getTaskStats` for a source that has all its tasks in memory.
 *
 * @param tasks every task, in any order
 * @param query as given to `getTaskStats`
 */
export function summarizeTasks(tasks: Iterable<Task>, query: TaskStatsQuery): TaskStats {
  const { filter, causes = 0, callers = false } = query;
  const family = createFamilyCollector();
  const seen = createFirstSeen();
  let since = Number.POSITIVE_INFINITY;
  const before: CausesBefore = { firstSeen: seen.firstSeen, since: () => since };
  const statistics = createStatsAccumulator(query, { before });
  for (const task of tasks) {
    if (callers) family.note(task);
    const isMatch = passesFilters(task, filter);
    if (!isMatch && causes === 0) continue;
    const cause = causes === 0 ? null : filter.causeOf(task);
    const figures = figuresOf(task, cause);
    if (figures.timestamp < since) since = figures.timestamp;
    if (cause !== null) seen.note(cause.id, failedAt(figures));
    if (isMatch) statistics.add(figures);
  }
  const stats = finish(statistics.result());
  return callers ? { ...stats, ...finish(countCallers(statistics.counted, family)) } : stats;
}

/** Runs all steps without a pause. */
function finish<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Maximum number of names in the result. */
const MAX_NAMES = 50;
/** Maximum number of states, workers and queues in the result. */
const MAX_LISTED = 1_000;

interface NameFigures {
  readonly name: string;
  count: number;
  failed: number;
  /** Milliseconds since 1970. */
  lastFailedAt: number;
  /** Whether tasks of this name may have been removed. */
  isPart: boolean;
  readonly durations: Durations;
}

interface ChartStep {
  readonly t: Date;
  received: number;
  succeeded: number;
  failed: number;
  /** `null`: a task may have been retried in this step or in another one. */
  retried: number | null;
  /** `null`: percentiles of steps are not requested. */
  readonly durations: Durations | null;
}

/** What the source knows about the window. */
export interface StatsOptions {
  /**
   * Whether everything that happened between these times, in milliseconds since 1970, was observed. In other steps,
   * `received`, `retried` and figures that would be 0 are `null`. Default: everything was observed.
   */
  readonly isWhole?: (from: number, to: number) => boolean;
  /**
   * Whether all tasks of a step that begins then were examined; otherwise all its figures are `null`. Default: all were.
   */
  readonly isExamined?: (from: number) => boolean;
  /** Whether the engine has removed tasks of the window from a queue: their names have no `count`. Default: from none. */
  readonly hasRemoved?: (queue: string | null) => boolean;
  /** Causes before the window. Default: unknown. */
  readonly before?: CausesBefore;
}

const ALL_KNOWN: Required<StatsOptions> = {
  isWhole: () => true,
  isExamined: () => true,
  hasRemoved: () => false,
  before: { firstSeen: () => null, since: () => null },
};

/** Sums over the added tasks. Times in milliseconds since 1970. */
interface Sums extends Required<StatsOptions> {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
  /** The step of a time; -1: it is not in the window. */
  readonly stepOf: (time: number) => number;
  readonly series: readonly ChartStep[];
  /** Of all tasks. */
  readonly durations: Durations;
  readonly states: Map<string, number>;
  readonly names: Map<string, NameFigures>;
  readonly workers: Set<string>;
  readonly queues: Set<string>;
  /** `null`: callers are not requested. */
  readonly counted: SentTask[] | null;
  /** `null`: causes are not requested. */
  readonly causes: CauseGroups | null;
  readonly mostCauses: number;
}

/**
 * Sums up tasks whose last change is in the time window, one by one, so that a large number can be processed in steps.
 * - `received`, `succeeded`, `failed` of a step: tasks that were received, or ended as SUCCESS or FAILURE, in
 *   that step; `retried`: attempts that ended with a retry in that step
 * - `states` excludes tasks whose end was not seen: their current state is unknown
 * - `failed` of a step and of a name excludes tasks that failed because another one did
 * - a wait is the time from when the last attempt was sent, or from its eta if that was later, to its start;
 *   if it is unknown when the attempt was sent, from when it was received
 * - percentiles by nearest rank; those of a step are of the runs and waits that ended in it
 */
export function createStatsAccumulator(query: TaskStatsQuery, options: StatsOptions) {
  const { start, end, stepSeconds, first, count } = statsWindow(query);
  const stepMs = stepSeconds * 1_000;
  const series = Array.from(
    { length: count },
    (_, step): ChartStep => ({
      t: new Date(first + step * stepMs),
      received: 0,
      succeeded: 0,
      failed: 0,
      retried: 0,
      durations: query.percentiles === true ? noDurations() : null,
    }),
  );
  const mostCauses = query.causes ?? 0;
  const stepOf = (time: number) => (time >= start && time <= end ? Math.floor((time - first) / stepMs) : -1);
  const sums: Sums = {
    ...ALL_KNOWN,
    ...options,
    start,
    end,
    stepSeconds,
    stepOf,
    series,
    durations: noDurations(),
    states: new Map(),
    names: new Map(),
    workers: new Set(),
    queues: new Set(),
    counted: query.callers === true ? [] : null,
    causes: mostCauses > 0 ? createCauseGroups({ start, end, steps: count, stepOf }) : null,
    mostCauses,
  };
  return {
    /** Counts a task that has passed the filters, unless it is outside the time window. */
    add: (task: TaskFigures): void => addTask(sums, task),
    /** The tasks counted so far, if the query requests callers; otherwise empty. */
    counted: (sums.counted ?? []) as readonly SentTask[],
    /** Sorts and cuts the result. */
    result: () => resultOf(sums),
  };
}

function addTask(sums: Sums, task: TaskFigures): void {
  const { states, workers, queues } = sums;
  if (!(task.timestamp >= sums.start && task.timestamp <= sums.end)) return;
  if (!task.isEndUnseen) states.set(task.state, (states.get(task.state) ?? 0) + 1);
  if (task.worker !== null) workers.add(task.worker);
  if (task.queue !== null) queues.add(task.queue);
  addToSeries(sums, task);
  addDurations(sums.durations, task.runtime, task.wait);
  if (task.name !== null) addToName(sums, task, task.name);
  sums.counted?.push({ id: task.id, parentId: task.parentId });
  if (sums.causes !== null && task.cause !== null) addCause(sums.causes, task, task.cause);
}

function addCause(causes: CauseGroups, task: TaskFigures, cause: NonNullable<TaskFigures['cause']>): void {
  const { id, name, worker } = task;
  causes.add({ id, cause, name, worker, time: failedAt(task) });
}

function addToSeries(sums: Sums, task: TaskFigures): void {
  const { state, isConsequence, received, started, finished, timestamp, retriedAt } = task;
  const receivedIn = stepAt(sums, received);
  if (receivedIn !== undefined) receivedIn.received++;
  if (retriedAt === null) addUnknownRetries(sums, task);
  else for (const time of retriedAt) addRetry(stepAt(sums, time));
  const waitedUntil = stepAt(sums, started)?.durations;
  if (waitedUntil) addDurations(waitedUntil, Number.NaN, task.wait);
  const changedIn = stepAt(sums, isDone(state) && !Number.isNaN(finished) ? finished : timestamp);
  if (changedIn === undefined) return;
  if (changedIn.durations !== null) addDurations(changedIn.durations, task.runtime, Number.NaN);
  if (state === 'SUCCESS') changedIn.succeeded++;
  else if (state === 'FAILURE' && !isConsequence) changedIn.failed++;
}

function addUnknownRetries({ series, stepSeconds }: Sums, { sent, timestamp }: TaskFigures): void {
  for (const step of series) {
    const from = step.t.getTime();
    if (from <= timestamp && !(from + stepSeconds * 1_000 <= sent)) step.retried = null;
  }
}

function addRetry(step: ChartStep | undefined): void {
  if (step !== undefined && step.retried !== null) step.retried++;
}

function stepAt({ series, stepOf }: Sums, time: number): ChartStep | undefined {
  return series[stepOf(time)];
}

function addToName({ names, hasRemoved }: Sums, task: TaskFigures, name: string): void {
  let figures = names.get(name);
  if (figures === undefined) {
    figures = { name, count: 0, failed: 0, lastFailedAt: 0, isPart: false, durations: noDurations() };
    names.set(name, figures);
  }
  figures.count++;
  figures.isPart ||= hasRemoved(task.queue);
  if (task.state === 'FAILURE' && !task.isConsequence) {
    figures.failed++;
    figures.lastFailedAt = Math.max(figures.lastFailedAt, failedAt(task));
  }
  addDurations(figures.durations, task.runtime, task.wait);
}

/** The steps, with unknown figures as `null`. */
function* knownSeries({ series, stepSeconds, isWhole, isExamined, end }: Sums): Steps<TaskStats['series']> {
  const known: TaskStats['series'][number][] = [];
  for (const { durations, ...step } of series) {
    const from = step.t.getTime();
    const { succeeded, failed } = isExamined(from) ? step : { succeeded: null, failed: null };
    known.push({
      ...step,
      ...(!isWhole(from, Math.min(end, from + stepSeconds * 1_000)) && {
        received: null,
        succeeded: succeeded || null,
        failed: failed || null,
        retried: null,
      }),
      ...(durations !== null && (yield* percentilesOf(durations))),
    });
    yield;
  }
  return known;
}

function* resultOf(sums: Sums): Steps<TaskStats> {
  const { stepSeconds, durations, states, names, workers, queues } = sums;
  const byCount = (a: NameFigures, b: NameFigures): number =>
    b.count - a.count || compareText(a.name, b.name);
  const frequent = yield* sortInSteps([...names.values()], byCount, MAX_NAMES);
  const figures: TaskStats['names'][number][] = [];
  for (const { name, count: seen, isPart, failed, lastFailedAt: last, durations } of frequent) {
    const count = isPart ? null : seen;
    const { runtimeP50, runtimeP95, waitP50, waitP95 } = yield* percentilesOf(durations);
    const lastFailedAt = failed === 0 ? null : new Date(last);
    figures.push({ name, count, failed, lastFailedAt, runtimeP50, runtimeP95, waitP50, waitP95 });
    yield;
  }
  const byTasks = yield* sortInSteps([...states], ([, a], [, b]) => b - a, MAX_LISTED);
  const series = yield* knownSeries(sums);
  return {
    stepSeconds,
    series,
    totals: { ...totalsIn(series), ...(yield* percentilesOf(durations)) },
    runtimeHistogram: bucketsOf(yield* histogramOf(durations.runtimes)),
    waitHistogram: bucketsOf(yield* histogramOf(durations.waits)),
    states: Object.fromEntries(byTasks.sort(([a], [b]) => compareText(a, b))),
    names: figures,
    workers: yield* sortInSteps([...workers], compareText, MAX_LISTED),
    queues: yield* sortInSteps([...queues], compareText, MAX_LISTED),
    ...(sums.causes !== null && (yield* sums.causes.result(sums.mostCauses, sums.before))),
  };
}

const MINUTE_MS = 60_000;
/** Readable chart steps, in seconds; the smallest one with at most 60 steps is used, beyond a day with at most 90. */
const STEPS = [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800];
const LONG_STEPS = [3_600, 7_200, 14_400, 28_800, 86_400];
const MAX_STEPS = 60;
const MAX_LONG_STEPS = 90;
const DAY_MINUTES = 1_440;

/** A window and its steps. Times in milliseconds since 1970. */
export interface StatsWindow {
  readonly start: number;
  readonly end: number;
  readonly stepSeconds: number;
  /** When the first step begins. */
  readonly first: number;
  /** How many steps there are. */
  readonly count: number;
}

/** @param least shortest possible step, in seconds */
export function statsWindow(
  query: Pick<TaskStatsQuery, 'minutes' | 'now' | 'stepSeconds'>,
  least = 1,
): StatsWindow {
  const { minutes, now, stepSeconds: asked } = query;
  const stepSeconds = Math.max(asked ?? usualStep(minutes), least);
  const stepMs = stepSeconds * 1_000;
  const end = now.getTime();
  const start = end - minutes * MINUTE_MS;
  // Steps begin at round times, so that a chart does not change between two answers.
  const first = Math.floor(start / stepMs) * stepMs;
  const count = Math.floor(end / stepMs) - first / stepMs + 1;
  return { start, end, stepSeconds, first, count };
}

function usualStep(minutes: number): number {
  if (minutes > DAY_MINUTES) {
    return LONG_STEPS.find((step) => (minutes * 60) / step <= MAX_LONG_STEPS) ?? 86_400;
  }
  return STEPS.find((step) => (minutes * 60) / step <= MAX_STEPS) ?? 1_800;
}
