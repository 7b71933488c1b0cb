import type { TaskChange } from '../../../history/history.ts';
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
 * - it fits no other entry
 *
 * The same task sent by a client at such a time is mistaken for a run. A run that beat made late (after it had
 * been stopped) is not recognized, nor one that a busy worker received late without `task-sent`.
 */
export interface RunObserver {
  /** What to look for; what is known of entries that stay is kept. */
  watch(entries: ReadonlyMap<string, StaticEntry>): void;
  /** Takes in an event about a task. */
  observe(change: TaskChange): void;
  /** The last run of an entry, milliseconds since 1970; `null` when none was seen. */
  lastRun(id: string): number | null;
  /**
   * Whether beat has been at work lately: an entry ran within the last hour and has not missed more than
   * one run since.
   */
  isAlive(now: number): boolean;
}

/** A task that may have been a run. */
interface Sighting {
  readonly taskId: string;
  readonly time: number;
}

interface Watched {
  readonly entry: StaticEntry;
  readonly args: string;
  readonly kwargs: string;
  /** Newest last. */
  sightings: Sighting[];
  run: Sighting | null;
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

/** Watches the tasks of a deployment. */
export function createRunObserver(): RunObserver {
  let byId = new Map<string, Watched>();
  let byTask = new Map<string, Watched[]>();
  let current: ReadonlyMap<string, StaticEntry> | null = null;

  return {
    watch(entries) {
      if (entries === current) return;
      current = entries;
      const before = byId;
      byId = new Map();
      byTask = new Map();
      for (const [id, entry] of entries) {
        if (entry.task === null || (entry.rule.crontab === null && entry.rule.every === null)) continue;
        const known = before.get(id);
        const watched = known !== undefined && isUnchanged(known.entry, entry) ? known : watchedOf(entry);
        byId.set(id, watched);
        const group = byTask.get(entry.task);
        if (group === undefined) byTask.set(entry.task, [watched]);
        else group.push(watched);
      }
    },
    observe(change) {
      const { type, name, time, stored, parentId, retries, id } = change;
      if (name === undefined || name === null || (type !== 'sent' && type !== 'received')) return;
      const group = byTask.get(name);
      if (group === undefined || time === null || stored === true) return;
      if ((parentId ?? id) !== id || (retries ?? 0) > 0) return;
      const alike = group.filter((watched) => isAlike(watched, change));
      const sighting = { taskId: id, time };
      const fitting = alike.filter((watched) => takeIn(watched, sighting, type === 'sent'));
      const [only] = fitting;
      if (fitting.length === 1 && only !== undefined && time > (only.run?.time ?? 0)) only.run = sighting;
    },
    lastRun: (id) => byId.get(id)?.run?.time ?? null,
    isAlive: (now) => [...byId.values()].some((watched) => isOnTime(watched, now)),
  };
}

/** Of a stored entry, other facts change whenever it has run. */
function isUnchanged(before: StaticEntry, entry: StaticEntry): boolean {
  return before === entry || printOf(before) === printOf(entry);
}

function printOf({ task, rule, args, kwargs, queue, timezone }: StaticEntry): string {
  return JSON.stringify([task, rule.text, args, kwargs, queue, timezone]);
}

function watchedOf(entry: StaticEntry): Watched {
  const args = comparableRepr(entry.shownArgs ?? entry.args);
  const kwargs = comparableRepr(entry.shownKwargs ?? entry.kwargs);
  return { entry, args, kwargs, sightings: [], run: null };
}

function isAlike({ entry, args, kwargs }: Watched, change: TaskChange): boolean {
  const { queue } = change;
  if (entry.queue !== null && typeof queue === 'string' && queue !== entry.queue) return false;
  return isSame(args, change.args) && isSame(kwargs, change.kwargs);
}

/** What workers write instead of a secret. */
const HIDDEN = "'********'";

function isSame(wanted: string, repr: string | null | undefined): boolean {
  if (typeof repr !== 'string' || wasCut(repr) || wanted.includes(HIDDEN)) return true;
  return comparableRepr(repr) === wanted;
}

/** @returns whether it is a run, as far as this entry is concerned */
function takeIn(watched: Watched, sighting: Sighting, sent: boolean): boolean {
  const { sightings, run } = watched;
  const known = sightings.findIndex(({ taskId }) => taskId === sighting.taskId);
  if (known >= 0) {
    // A task is reported when it is sent and when it is received. The time of sending is closer to beat's own.
    if (!sent) return false;
    sightings.splice(known, 1);
    if (run?.taskId === sighting.taskId) watched.run = sighting;
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

function isOnTime({ entry, run }: Watched, now: number): boolean {
  if (run === null || now - run.time > LATELY) return false;
  const next = runAfter(entry.rule, run.time, entry.timezone);
  const second = next === null ? null : runAfter(entry.rule, next, entry.timezone);
  return second !== null && now <= second + LATE;
}
