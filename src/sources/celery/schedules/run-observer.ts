import type { TaskChange } from '../../../history/history.ts';
import type { Steps } from '../../../scheduler.ts';
import { wasCut } from '../protocol/truncation.ts';
import { comparableRepr } from './comparable-repr.ts';
import { resolutionOf, runAfter } from './rule.ts';
import type { StaticEntry } from './static-entry.ts';

/**
 * Finds out when entries of the static schedule and of django-celery-beat ran, from the tasks that they caused.
 *
 * Beat sends no events of its own, and its messages do not name the entry; its tasks look like those of any
 * client. So a task only counts as a run of an entry if all of this is true:
 * - it has the entry's task, arguments and queue, no parent, and is no retry
 * - its time fits: for a crontab at most a few seconds after a due time, for an interval one interval after
 * another such task
 * - it fits no other entry, and few have this task with these arguments
 *
 * The same task sent by a client at such a time is mistaken for a run. A run that beat made late (after it had
 * been stopped) is not recognized, nor one that a busy worker received late without `task-sent`.
 */
export interface RunObserver {
  /** What to look for; what is known of entries that stay is kept. */
  watch(entries: ReadonlyMap<string, StaticEntry>): Steps<void>;
  /** Takes in an event about a task. */
  observe(change: TaskChange): void;
  /** The last run of an entry, milliseconds since 1970; `null` when none was seen. */
  lastRun(id: string): number | null;
  /** The latest runs of an entry that were seen, newest first; `null` when none was. */
  lastRuns(id: string): readonly Sighting[] | null;
  /**
   * Whether beat has been at work lately: an entry ran within the last hour and has not missed more than
   * one run since.
   */
  isAlive(now: number): Steps<boolean>;
}

/** A task that may have been a run. */
export interface Sighting {
  readonly taskId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

interface Watched {
  readonly entry: StaticEntry;
  /** Comparable; `null` fits all. */
  readonly args: string | null;
  readonly kwargs: string | null;
  /** Newest last. */
  sightings: Sighting[];
  /** Newest first. */
  runs: readonly Sighting[];
}

/**
 * All in milliseconds: how late beat may be, how far clocks may differ, and for how long a run shows that
 * beat lives.
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

/** Watches the tasks of a deployment. */
export function createRunObserver(): RunObserver {
  let byId = new Map<string, Watched>();
  let byTask = new Map<string, Watched[]>();
  let current: ReadonlyMap<string, StaticEntry> | null = null;

  return {
    *watch(entries) {
      if (entries === current) return;
      current = entries;
      const before = byId;
      const ids = new Map<string, Watched>();
      const tasks = new Map<string, Watched[]>();
      for (const [id, entry] of entries) {
        yield;
        if (entry.task === null || (entry.rule.crontab === null && entry.rule.every === null)) continue;
        const known = before.get(id);
        const watched = known !== undefined && isUnchanged(known.entry, entry) ? known : watchedOf(entry);
        ids.set(id, watched);
        const group = tasks.get(entry.task);
        if (group === undefined) tasks.set(entry.task, [watched]);
        else group.push(watched);
      }
      // Newer entries may have come meanwhile.
      if (entries === current) [byId, byTask] = [ids, tasks];
    },
    observe(change) {
      const { type, name, time, stored, parentId, retries, id } = change;
      if (name === undefined || name === null || (type !== 'sent' && type !== 'received')) return;
      const group = byTask.get(name);
      if (group === undefined || time === null || stored === true) return;
      if ((parentId ?? id) !== id || (retries ?? 0) > 0) return;
      const alike = alikeIn(group, change);
      if (alike.length > MOST_ALIKE) return;
      const sighting = { taskId: id, time };
      const fitting = alike.filter((watched) => takeIn(watched, sighting, type === 'sent'));
      const [only] = fitting;
      if (fitting.length === 1 && only !== undefined) noteRun(only, sighting);
    },
    lastRun: (id) => byId.get(id)?.runs[0]?.time ?? null,
    lastRuns(id) {
      const { runs = [] } = byId.get(id) ?? {};
      return runs.length === 0 ? null : runs;
    },
    *isAlive(now) {
      for (const watched of byId.values()) {
        yield;
        if (isOnTime(watched, now)) return true;
      }
      return false;
    },
  };
}

/** Of a stored entry, other facts change whenever it has run. */
function isUnchanged(before: StaticEntry, entry: StaticEntry): boolean {
  return (
    before === entry ||
    (before.rule.text === entry.rule.text && SAME.every((member) => before[member] === entry[member]))
  );
}

const SAME = ['task', 'args', 'kwargs', 'queue', 'timezone'] as const;

function watchedOf(entry: StaticEntry): Watched {
  const args = wantedOf(entry.shownArgs ?? entry.args);
  const kwargs = wantedOf(entry.shownKwargs ?? entry.kwargs);
  return { entry, args, kwargs, sightings: [], runs: [] };
}

/** What workers write instead of a secret. */
const HIDDEN = "'********'";

function wantedOf(repr: string): string | null {
  return repr.includes(HIDDEN) ? null : comparableRepr(repr);
}

/** The entries with the arguments and the queue of a task. */
function alikeIn(group: readonly Watched[], { queue, ...change }: TaskChange): Watched[] {
  const [args, kwargs] = [sentOf(change.args), sentOf(change.kwargs)];
  return group.filter(
    (watched) =>
      (watched.entry.queue === null || typeof queue !== 'string' || queue === watched.entry.queue) &&
      isSame(watched.args, args) &&
      isSame(watched.kwargs, kwargs),
  );
}

function sentOf(repr: string | null | undefined): string | null {
  return typeof repr !== 'string' || wasCut(repr) ? null : comparableRepr(repr);
}

function isSame(wanted: string | null, sent: string | null): boolean {
  return wanted === null || sent === null || wanted === sent;
}

/** @returns whether it is a run, as far as this entry is concerned */
function takeIn(watched: Watched, sighting: Sighting, sent: boolean): boolean {
  const { sightings } = watched;
  const known = sightings.findIndex(({ taskId }) => taskId === sighting.taskId);
  if (known >= 0) {
    // A task is reported when it is sent and when it is received. The time of sending is closer to beat's own.
    if (!sent) return false;
    sightings.splice(known, 1);
    watched.runs = watched.runs.map((run) => (run.taskId === sighting.taskId ? sighting : run));
  }
  const fits = isDue(watched, sighting.time);
  sightings.push(sighting);
  if (sightings.length > MOST_SIGHTINGS) sightings.shift();
  return fits;
}

function isDue({ entry, sightings }: Watched, time: number): boolean {
  const { rule, timezone } = entry;
  if (rule.crontab !== null) {
    // Crontabs are due at full minutes, which saves looking for most tasks that a client sends.
    if (time % MINUTE > LATE && time % MINUTE < MINUTE - EARLY) return false;
    const due = runAfter(rule, time - LATE, timezone);
    return due !== null && due <= time + EARLY;
  }
  const every = (rule.every ?? 0) * 1000;
  const slack = toleranceOf(every);
  const earliest = every - slack - resolutionOf(rule) * 1000;
  return sightings.some((other) => time - other.time >= earliest && time - other.time <= every + slack);
}

/** How far two runs may be from their interval. */
function toleranceOf(every: number): number {
  return Math.min(LATE, Math.max(200, every / 4));
}

/** Keeps the latest runs, each once. */
function noteRun(watched: Watched, run: Sighting): void {
  const others = watched.runs.filter(({ taskId }) => taskId !== run.taskId);
  const runs = [run, ...others].sort((a, b) => b.time - a.time);
  watched.runs = runs.slice(0, MOST_RUNS);
}

function isOnTime({ entry, runs: [run] }: Watched, now: number): boolean {
  if (run === undefined || now - run.time > LATELY) return false;
  const next = runAfter(entry.rule, run.time, entry.timezone);
  const second = next === null ? null : runAfter(entry.rule, next, entry.timezone);
  return second !== null && now <= second + LATE;
}
