/** Which tasks are runs of an entry, by their arguments, queue and time. */
import type { TaskChange } from '../../../history/history.ts';
import { wasCut } from '../protocol/truncation.ts';
import { comparableRepr } from './comparable-repr.ts';
import type { Heard } from './named-runs.ts';
import { resolutionOf, runAfter } from './rule.ts';
import type { StaticEntry } from './static-entry.ts';

/** A task that may have been a run. */
export interface Sighting {
  readonly taskId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** A run. */
export interface Run extends Sighting {
  /** Whether it came when the entry was due. */
  readonly isDue: boolean;
  /** Whether beat itself has reported it: then the next one would be known, too, however busy the workers are. */
  readonly isSent: boolean;
}

/** An entry, and its observed runs. */
export interface Watched {
  readonly entry: StaticEntry;
  /** Comparable; `null` fits all. */
  readonly args: string | null;
  readonly kwargs: string | null;
  /** Newest last. */
  sightings: readonly Sighting[];
  /** Newest first. */
  runs: readonly Run[];
}

/**
 * All in milliseconds: how late beat may be, how far clocks may differ, and for how long a run shows that beat is
 * running.
 */
const LATE = 5000;
const EARLY = 1000;
const LATELY = 3_600_000;
const MINUTE = 60_000;
const MOST_SIGHTINGS = 32;
/** Most runs of an entry that are remembered. */
const MOST_RUNS = 20;
/** Most entries with the same task and arguments: looking for the due times of each takes some time. */
const MOST_ALIKE = 20;

/** Of a stored entry, other facts change whenever it has run. */
export function isUnchanged(before: StaticEntry, entry: StaticEntry): boolean {
  return (
    before === entry ||
    (before.rule.text === entry.rule.text && SAME.every((member) => before[member] === entry[member]))
  );
}

const SAME = ['task', 'args', 'kwargs', 'queue', 'timezone'] as const;

/** An entry without observed runs. */
export function watchedOf(entry: StaticEntry): Watched {
  const args = wantedOf(entry.shownArgs ?? entry.args);
  const kwargs = wantedOf(entry.shownKwargs ?? entry.kwargs);
  return { entry, args, kwargs, sightings: [], runs: [] };
}

/** The text that workers write instead of a secret. */
const HIDDEN = "'********'";

function wantedOf(repr: string): string | null {
  return repr.includes(HIDDEN) ? null : comparableRepr(repr);
}

/** The entries with the arguments and the queue of a task; none if too many have them. */
export function takersOf(group: readonly Watched[], { queue, ...change }: TaskChange): readonly Watched[] {
  const [args, kwargs] = [sentOf(change.args), sentOf(change.kwargs)];
  const alike = group.filter(
    (watched) =>
      hasTimes(watched.entry) &&
      (watched.entry.queue === null || typeof queue !== 'string' || queue === watched.entry.queue) &&
      isSame(watched.args, args) &&
      isSame(watched.kwargs, kwargs),
  );
  return alike.length > MOST_ALIKE ? [] : alike;
}

/** Whether its rule says when it is due. */
function hasTimes({ rule }: StaticEntry): boolean {
  return rule.crontab !== null || rule.every !== null;
}

function sentOf(repr: string | null | undefined): string | null {
  return typeof repr !== 'string' || wasCut(repr) ? null : comparableRepr(repr);
}

function isSame(wanted: string | null, sent: string | null): boolean {
  return wanted === null || sent === null || wanted === sent;
}

/**
 * Counts a task as a run if it fits only one entry.
 *
 * @param takers the entries that it may be a run of
 * @param isNamed whether it is a run of the only taker for certain, even if that was not due
 */
export function takeIn(takers: readonly Watched[], { isSent, ...heard }: Heard, isNamed: boolean): void {
  const due = takers.flatMap((watched) => {
    const sighting = see(watched, heard, isSent);
    const run = { ...sighting, isSent, isDue: isDue(watched, sighting) };
    return run.isDue || isNamed ? [{ watched, run }] : [];
  });
  const [only] = due;
  if (due.length === 1 && only !== undefined) noteRun(only.watched, only.run);
}

/** @returns when the task was seen first: its sending is closer to beat's own time than what its worker reports later */
function see(watched: Watched, { taskId, time }: Sighting, isSent: boolean): Sighting {
  const { sightings } = watched;
  const known = sightings.find((sighting) => sighting.taskId === taskId);
  if (known !== undefined && !isSent) return known;
  const sighting = { taskId, time };
  const others = known === undefined ? sightings : sightings.filter((other) => other !== known);
  watched.sightings = byTime([...others, sighting]).slice(-MOST_SIGHTINGS);
  watched.runs = watched.runs.map((run) => (run.taskId === taskId ? { ...run, time } : run));
  return sighting;
}

/** Events of several senders overtake each other. */
function byTime(sightings: Sighting[]): Sighting[] {
  return sightings.sort((a, b) => a.time - b.time);
}

/** For a task that is a run of another entry. */
export function forget(watched: Watched, taskId: string): void {
  watched.sightings = watched.sightings.filter((other) => other.taskId !== taskId);
  watched.runs = watched.runs.filter((run) => run.taskId !== taskId);
}

function isDue({ entry, sightings }: Watched, { taskId, time }: Sighting): boolean {
  const { rule, timezone } = entry;
  if (rule.crontab !== null) {
    // Crontabs are due at full minutes, which excludes most tasks that a client sends.
    if (time % MINUTE > LATE && time % MINUTE < MINUTE - EARLY) return false;
    const due = runAfter(rule, time - LATE, timezone);
    return due !== null && due <= time + EARLY;
  }
  if (rule.every === null) return false;
  const every = rule.every * 1000;
  const slack = toleranceOf(every);
  const earliest = every - slack - resolutionOf(rule) * 1000;
  return sightings.some(
    (other) => other.taskId !== taskId && time - other.time >= earliest && time - other.time <= every + slack,
  );
}

/** How far two runs may be from their interval. */
function toleranceOf(every: number): number {
  return Math.min(LATE, Math.max(200, every / 4));
}

/** Keeps the latest runs, each once. */
function noteRun(watched: Watched, run: Run): void {
  const others = watched.runs.filter(({ taskId }) => taskId !== run.taskId);
  const before = watched.runs.find(({ taskId }) => taskId === run.taskId);
  const isDue = run.isDue || before?.isDue === true;
  const isSent = run.isSent || before?.isSent === true;
  const runs = [{ ...run, isDue, isSent }, ...others].sort((a, b) => b.time - a.time);
  watched.runs = runs.slice(0, MOST_RUNS);
}

/** The last run that came when it was due. */
export function lastDue(watched: Watched | undefined): Run | undefined {
  return watched?.runs.find((run) => run.isDue);
}

/**
 * When the entry is due after the last task that may have been a run, in milliseconds since 1970; `null`: unknown, or
 * beat does not report its runs.
 */
export function nextDue(watched: Watched | undefined): number | null {
  const run = lastDue(watched);
  if (watched === undefined || run?.isSent !== true) return null;
  const { entry, sightings } = watched;
  return runAfter(entry.rule, Math.max(run.time, sightings.at(-1)?.time ?? run.time), entry.timezone);
}

/** Whether it ran within the last hour and has not missed more than one run since. */
export function isOnTime(watched: Watched, now: number): boolean {
  const { entry } = watched;
  const run = lastDue(watched);
  if (run === undefined || now - run.time > LATELY) return false;
  const next = runAfter(entry.rule, run.time, entry.timezone);
  const second = next === null ? null : runAfter(entry.rule, next, entry.timezone);
  return second !== null && now <= second + LATE;
}
