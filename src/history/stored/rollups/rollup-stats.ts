/** Statistics made of rollups, for windows in which not all tasks are known any more. */

import { type Steps, scheduler } from '../../../scheduler.ts';
import { UNKNOWN_CALLERS } from '../../../select/callers.ts';
import { percentilesIn, totalsIn } from '../../../select/durations.ts';
import { type StatsWindow, statsWindow } from '../../../select/task-stats.ts';
import type { DurationFigures } from '../../../source/task-stats.ts';
import type { QueueDepths, ReadContext, TaskStats, TaskStatsQuery } from '../../../source.ts';
import { OUTCOMES } from '../../aggregate/cells.ts';
import type {
  RollupLevel,
  RollupQuery,
  RollupSpan,
  RollupStore,
  RollupTotal,
  StoredRollup,
} from '../../rollup-store.ts';
import { addTimes, histogramIn, TIMES, WATCHED } from './rollup-cells.ts';
import {
  createNameSums,
  minutesSince,
  type NameSums,
  type Piece,
  piecesOf,
  readDepths,
  readFolded,
} from './rollup-sums.ts';

/** Most cells that one answer reads of one level and span. */
const MOST_CELLS = 100_000;
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
/** Windows that are longer do not need the latest minutes, in milliseconds. */
const LONG_MS = 3 * DAY_SECONDS * 1_000;

/** Whether counts can answer a query: they are kept by name, queue and worker only. */
export function isCounted({ filter }: TaskStatsQuery): boolean {
  const { states, engineStates, causes, rootId, parentId, groupId, conditions, q, since, until } = filter;
  return (
    states.length + engineStates.length + causes.length + conditions.length === 0 &&
    [rootId, parentId, groupId, q, since, until].every((value) => value === null)
  );
}

/** A query of which parts are read. */
interface Reading {
  readonly store: RollupStore;
  readonly filters: Pick<RollupQuery, 'names' | 'queues' | 'workers'>;
  readonly window: StatsWindow;
  /** Which cells are summed up by step. */
  readonly bySteps: readonly Piece[];
  /** Which cells are summed up over all steps. */
  readonly inAll: readonly Piece[];
}

/**
 * Sums up what was counted in a window, which begins with its first step. Rejects with what the store throws.
 *
 * @param query {@link isCounted}
 * @param now milliseconds since 1970
 */
export async function statsOfRollups(
  store: RollupStore,
  query: TaskStatsQuery,
  now: number,
  context: ReadContext,
): Promise<TaskStats> {
  const reading = await readingOf(store, query, now);
  const [{ series, states }, durations, names, workers, queues, depths] = await Promise.all([
    readSeries(reading),
    query.percentiles === true ? readDurations(reading, context) : null,
    readNames(reading, context),
    readKeys(reading, 3),
    readKeys(reading, 2),
    readDepths(store, reading.bySteps, reading.window, query.filter.queues, context),
  ]);
  const { runtimeHistogram, waitHistogram, ...percentiles } = names.durations();
  return {
    stepSeconds: reading.window.stepSeconds,
    series: durations === null ? series : series.map((step, index) => ({ ...step, ...durations[index] })),
    states,
    totals: { ...totalsIn(series), ...percentiles },
    runtimeHistogram,
    waitHistogram,
    names: names.top(),
    workers: workers ?? names.workers(),
    queues: queues ?? names.queues(),
    ...(query.callers === true && UNKNOWN_CALLERS),
    computedFrom: 'rollups',
    queueDepths: depths,
  };
}

/** The queues of a window whose tasks are all known. Rejects with what the store throws. */
export async function depthsOfRollups(
  store: RollupStore,
  query: TaskStatsQuery,
  now: number,
  context: ReadContext,
): Promise<{ readonly stepSeconds: number; readonly depths: readonly QueueDepths[] }> {
  const { window, bySteps } = await readingOf(store, query, now);
  const depths = await readDepths(store, bySteps, window, query.filter.queues, context);
  return { stepSeconds: window.stepSeconds, depths };
}

async function readingOf(store: RollupStore, query: TaskStatsQuery, now: number): Promise<Reading> {
  const { names, queues, workers } = query.filter;
  const asked = statsWindow(query, 60);
  const hasMinutes = asked.first >= minutesSince(now);
  const window = hasMinutes ? asked : statsWindow(query, HOUR_SECONDS);
  const folded = await readFolded(store, now);
  const { first: from, end, stepSeconds } = window;
  // The end is part of the window.
  const to = end + 1;
  const finest: RollupSpan =
    stepSeconds % DAY_SECONDS === 0 ? 86_400 : stepSeconds % HOUR_SECONDS === 0 ? 3_600 : 60;
  // Steps of 90 minutes begin within hours, whose counts belong to the step in which they begin.
  const bySteps = piecesOf({ from, to }, hasMinutes || finest !== 60 ? finest : 3_600, folded, now);
  // In long windows, names are counted up to the last full hour: the minutes after it are many cells.
  const isLong = to - from > LONG_MS && Number.isFinite(folded.hours);
  const inAll = piecesOf({ from, to: isLong ? Math.min(to, folded.hours) : to }, 86_400, folded, now);
  return { store, filters: { names, queues, workers }, window, bySteps, inAll };
}

/** The level on which one row has the counts that pass the filters. */
function levelOf({ names, queues, workers }: Reading['filters']): RollupLevel {
  const filtered = [names, queues, workers].map((texts) => texts.length > 0);
  if (filtered.filter(Boolean).length > 1) return 4;
  return filtered[0] ? 1 : filtered[1] ? 2 : filtered[2] ? 3 : 0;
}

type Series = Pick<TaskStats, 'series' | 'states'>;

async function readSeries(reading: Reading): Promise<Series> {
  const { store, filters, window, bySteps } = reading;
  const level = levelOf(filters);
  const all = { names: [], queues: [], workers: [] };
  const read = async (asked: RollupLevel, by: Reading['filters']) =>
    (await Promise.all(bySteps.map((piece) => store.sums({ ...piece, ...by, level: asked })))).flat();
  const [totals, sums] = await Promise.all([read(0, all), level === 0 ? null : read(level, filters)]);
  const watched = new Float64Array(window.count);
  for (const { start, counts } of totals) {
    const step = stepOf(window, start);
    if (step >= 0) watched[step] = (watched[step] as number) + (counts[WATCHED] ?? 0);
  }
  const steps = Array.from({ length: window.count }, () => ({
    received: 0,
    succeeded: 0,
    failed: 0,
    retried: 0,
  }));
  const ends = { SUCCESS: 0, FAILURE: 0, REVOKED: 0, REJECTED: 0 };
  for (const { start, counts } of sums ?? totals) {
    const step = steps[stepOf(window, start)];
    if (step === undefined) continue;
    const at = (outcome: keyof typeof OUTCOMES): number => counts[OUTCOMES[outcome]] ?? 0;
    step.received += at('received');
    step.succeeded += at('succeeded');
    step.failed += at('failed');
    step.retried += at('retried');
    ends.SUCCESS += at('succeeded');
    ends.FAILURE += at('failed');
    ends.REVOKED += at('revoked');
    ends.REJECTED += at('rejected');
  }
  return {
    states: Object.fromEntries(Object.entries(ends).filter(([, count]) => count > 0)),
    series: steps.map((step, index) => {
      const t = new Date(window.first + index * window.stepSeconds * 1_000);
      if ((watched[index] as number) > 0) return { t, ...step };
      const { received, succeeded, failed, retried } = step;
      return {
        t,
        received: received || null,
        succeeded: succeeded || null,
        failed: failed || null,
        retried: retried || null,
      };
    }),
  };
}

/** Percentiles by step. If too many cells would have to be read, the last steps have none. */
async function readDurations(
  { store, filters, window, bySteps }: Reading,
  context: ReadContext,
): Promise<readonly DurationFigures[]> {
  const level = filters.queues.length + filters.workers.length === 0 ? 1 : 4;
  const cells = await Promise.all(
    bySteps.map((piece) => store.read({ ...piece, ...filters, level }, MOST_CELLS)),
  );
  return await scheduler.run('stats', durationsByStep(window, cells.flat()), context);
}

function* durationsByStep(
  window: StatsWindow,
  cells: readonly StoredRollup[],
): Steps<readonly DurationFigures[]> {
  const sums = Array.from({ length: window.count }, () => new Float64Array(TIMES));
  for (const { start, times } of cells) {
    const step = sums[stepOf(window, start)];
    if (step !== undefined && times !== null) addTimes(step, times);
    yield;
  }
  return sums.map((times) => percentilesIn(histogramIn(times, 'run'), histogramIn(times, 'wait')));
}

/** −1 for a time outside of the window. */
function stepOf({ first, stepSeconds, count }: StatsWindow, time: number): number {
  const step = Math.floor((time - first) / (stepSeconds * 1_000));
  return step >= 0 && step < count ? step : -1;
}

async function readTotals({ store, filters, inAll }: Reading, level: RollupLevel) {
  const read = inAll.map((piece) => store.totals({ ...piece, ...filters, level }, MOST_CELLS));
  return (await Promise.all(read)).flat();
}

async function readNames(reading: Reading, context: ReadContext): Promise<NameSums> {
  // With filters, workers and queues are found in the same cells.
  const totals = await readTotals(reading, levelOf(reading.filters) === 0 ? 1 : 4);
  const sums = createNameSums();
  await scheduler.run('stats', addAll(sums, totals), context);
  return sums;
}

function* addAll(sums: NameSums, totals: readonly RollupTotal[]): Steps<void> {
  for (const total of totals) {
    sums.add(total);
    yield;
  }
}

/**
 * The workers or queues of all tasks. @returns `null`: the filters select tasks, whose workers and queues are in other
 * cells
 */
async function readKeys(reading: Reading, level: 2 | 3): Promise<readonly string[] | null> {
  if (levelOf(reading.filters) !== 0) return null;
  const keys = new Set<string>();
  for (const { queue, worker } of await readTotals(reading, level)) {
    const key = level === 2 ? queue : worker;
    if (!key.startsWith('\0')) keys.add(key);
  }
  return [...keys].sort();
}
