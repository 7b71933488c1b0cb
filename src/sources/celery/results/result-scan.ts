/** Reads all stored results in the background, and records those that the history would keep. */
import type { CollectedHistory } from '../../../history/history.ts';
import { type Steps, scheduler } from '../../../scheduler.ts';
import { pause } from '../../../waiting.ts';
import { type Problem, problemOf } from '../hint.ts';
import type { Lineage } from '../lineage/lineage.ts';
import type { StoredResult } from '../protocol/messages.ts';
import { decodeGroup, decodeResult, decodeResultHead, endedAt } from '../protocol/results.ts';
import type { StoredResults, StoredText, StoredValue } from '../result-backend.ts';
import type { KeptTasks } from './kept-tasks.ts';

/** Parts of rest for one part of work of this event loop: reading takes a third of the time. */
const REST_PER_WORK = 2;
/** All in milliseconds. */
const SHORTEST_REST = 1;
const LONGEST_REST = 250;
const FIRST_RETRY = 250;
const LAST_RETRY = 10_000;
/** Unknown errors in a row after which reading is given up. */
const MAX_REFUSALS = 3;
/** The pause before the next scan, as a multiple of the duration of the last one, at most a minute. */
const SPACING = 2;
const LONGEST_SPACING = 60_000;

interface State {
  readonly intake: ResultIntake;
  readonly kept: KeptTasks | null;
  readonly signal: AbortSignal;
  progress: ReturnType<typeof newProgress>;
  isWanted: boolean;
  isRunning: boolean;
}

/**
 * @param kept `null` without a store
 * @param signal ends it
 */
export function createResultScan(intake: ResultIntake, kept: KeptTasks | null, signal: AbortSignal) {
  const progress = newProgress(null);
  const state: State = { intake, kept, signal, progress, isWanted: false, isRunning: false };
  return {
    /** Reads everything; if a scan is running, everything once more afterwards. */
    start() {
      state.isWanted = true;
      if (!state.isRunning) void run(state);
    },
    progress: () => ({ ...state.progress }),
  };
}

async function run(state: State): Promise<void> {
  const { kept, signal } = state;
  state.isRunning = true;
  while (state.isWanted && !signal.aborted) {
    state.isWanted = false;
    await kept?.loaded(signal);
    const since = new Date();
    state.progress = newProgress(since);
    await scanAll(state);
    const finishedAt = new Date();
    state.progress = { ...state.progress, done: true, finishedAt };
    const took = finishedAt.getTime() - since.getTime();
    await pause(Math.min(took * SPACING, LONGEST_SPACING), signal);
  }
  state.isRunning = false;
}

async function scanAll(state: State): Promise<void> {
  const { signal, progress } = state;
  let next: string | null = null;
  let failures = 0;
  do {
    const before = performance.eventLoopUtilization();
    try {
      next = await scanStep(state, next);
      failures = 0;
      progress.problem = null;
      if (next === null) return;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      progress.problem = problemOf(error);
      const { code } = progress.problem;
      if (code === 'NOPERM' || (code === 'UNKNOWN' && failures >= MAX_REFUSALS)) return;
      await pause(Math.min(FIRST_RETRY * 2 ** (failures - 1), LAST_RETRY), signal);
    }
    // The host's own work counts as well: the busier it is, the more time it is left.
    const { active } = performance.eventLoopUtilization(before);
    await pause(Math.min(Math.max(active * REST_PER_WORK, SHORTEST_REST), LONGEST_REST), signal);
  } while (!signal.aborted);
}

/** @returns where the next step begins; `null` when this was the last */
async function scanStep(
  { intake, kept, signal, progress }: State,
  from: string | null,
): Promise<string | null> {
  const { stored, history, lineage } = intake;
  progress.keys ??= await stored.size(signal);
  const { index } = history;
  // Celery never overwrites a stored SUCCESS, so the value of a task known to have succeeded is read only for its name:
  // the event of its end has none, and earlier events may have been missed.
  const select = async (ids: readonly string[]): Promise<readonly string[]> => {
    const wanted = ids.filter((id) => index.stateOf(id) !== 'SUCCESS' || index.lacksName(id));
    return kept === null ? wanted : withoutKept(history, kept, wanted);
  };
  const { next, taskCount, parts } = await stored.scan(from, select, signal);
  let isTooOld = stored.isNewestFirst === true;
  let count = 0;
  for await (const { tasks, groups } of parts) {
    const { kept, unreadable } = await takeResults(intake, tasks);
    progress.kept += kept;
    progress.unreadable += unreadable;
    count += tasks.length;
    if (kept > 0 || unreadable > 0) isTooOld = false;
    for (const group of groups) if (!takeGroup(lineage, group)) progress.unreadable += 1;
  }
  progress.read += taskCount;
  // The history keeps none of these, and all others are older.
  return isTooOld && count > 0 ? null : next;
}

/** A stored task about which memory knows nothing has ended: all others are loaded at the start. */
async function withoutKept(
  { index }: CollectedHistory,
  kept: KeptTasks,
  ids: readonly string[],
): Promise<readonly string[]> {
  const stored = await kept.known(ids.filter((id) => index.stateOf(id) === null));
  return ids.filter((id) => !stored.has(id));
}

/** @returns false when it is not readable */
function takeGroup(lineage: Lineage, { text, isCut }: StoredText): boolean {
  const group = isCut ? null : decodeGroup(text);
  if (group !== null) lineage.saved(group);
  return group !== null;
}

/** The progress of reading. */
function newProgress(since: Date | null) {
  return {
    /** Whether everything has been read, or nothing more will be. */
    done: false,
    /** Entries in the backend, those of other apps included; `null` while unknown. */
    keys: null as number | null,
    /** Results of tasks that were found. */
    read: 0,
    /** Results that the history was given. */
    kept: 0,
    /** Values of another serializer, or broken ones. */
    unreadable: 0,
    /** When the scan began; `null` before. */
    since,
    finishedAt: null as Date | null,
    /** The problem that keeps it from continuing, or that ended it. */
    problem: null as Problem | null,
  };
}

/** Parameters of the intake of results. */
export interface ResultIntake {
  readonly history: CollectedHistory;
  readonly lineage: Lineage;
  readonly stored: StoredResults;
  /** Longest text to make of one value, in characters. */
  readonly valueLength: number;
}

/** Receives results that were looked up and that the history would not keep. */
export type Aside = (result: StoredResult) => void;

/** Counts of results that were read. */
interface IntakeCounts {
  /** Results that the history was given. */
  kept: number;
  /** Values of another serializer, or broken ones. */
  unreadable: number;
}

/** Results about which the history is asked at once: to answer, it brings its indexes up to date. */
const AT_ONCE = 50;
/** Results to record without yielding: for most values, a few milliseconds at most. */
const TAKEN_AT_ONCE = 5;

/**
 * Records the results that the history would keep. Yields to the event loop in between.
 *
 * @param aside given for a look-up
 */
export async function takeResults(
  intake: ResultIntake,
  values: readonly StoredValue[],
  aside: Aside | null = null,
): Promise<IntakeCounts> {
  return await scheduler.run('results', takeAll(intake, values, aside));
}

function* takeAll(
  intake: ResultIntake,
  values: readonly StoredValue[],
  aside: Aside | null,
): Steps<IntakeCounts> {
  const { history, lineage } = intake;
  const counts: IntakeCounts = { kept: 0, unreadable: 0 };
  for (let at = 0; at < values.length; at += AT_ONCE) {
    const results: StoredResult[] = [];
    for (const value of values.slice(at, at + AT_ONCE)) {
      if (aside !== null || isPerhapsWanted(intake, value)) {
        const result = decode(intake, value);
        if (result === null) counts.unreadable += 1;
        else results.push(result);
      }
      yield;
    }
    const wanted = results.map(({ change: { id, time, heardAt } }) =>
      isWanted(intake, id, time ?? heardAt ?? Date.now()),
    );
    for (const [index, result] of results.entries()) {
      if (wanted[index] === true) {
        history.writer.recordTask(result.change);
        lineage.stored(result);
        counts.kept += 1;
      } else aside?.(result);
      if (index % TAKEN_AT_ONCE === TAKEN_AT_ONCE - 1) yield;
    }
  }
  return counts;
}

/** Whether the history may want a result, as far as that is known before it is decoded. */
function isPerhapsWanted(intake: ResultIntake, { id, text, isCut }: StoredValue): boolean {
  const time = isCut ? null : endedAt(text);
  return time === null || isWanted(intake, id, time);
}

/** Results of known tasks are always wanted; others when the history would keep the task. */
function isWanted({ history }: ResultIntake, id: string, time: number): boolean {
  return history.index.stateOf(id) !== null || history.index.wouldKeep(time);
}

/** @returns `null` when it is unreadable */
function decode(
  { valueLength }: ResultIntake,
  { id, text, isCut, writtenAt = null }: StoredValue,
): StoredResult | null {
  const result = isCut ? decodeResultHead(text, id) : decodeResult(text, id, valueLength);
  if (result === null) return null;
  const { children, change } = result;
  return { children, change: { ...change, stored: true, heardAt: change.time === null ? writtenAt : null } };
}
