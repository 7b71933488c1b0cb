import type { TaskChange } from '../../../history/history.ts';
import type { Steps } from '../../../scheduler.ts';
import { createNamedRuns, type NamedRun } from './named-runs.ts';
import type { StaticEntry } from './static-entry.ts';
import {
  forget,
  isOnTime,
  isUnchanged,
  lastDue,
  nextDue,
  type Sighting,
  takeIn,
  takersOf,
  type Watched,
  watchedOf,
} from './watched-entry.ts';

/**
 * Finds out when entries of the static schedule and of django-celery-beat ran, from the tasks that they caused.
 *
 * The messages of django-celery-beat name the entry; if one was read, it decides. Beat sends no events of its own, and
 * its other messages name no entry; its tasks look like those of any client. So any other task only counts as a run of
 * an entry if all of this is true:
 * - it has the entry's task, arguments and queue, no parent, and is no retry
 * - its time fits: for a crontab at most a few seconds after a due time, for an interval one interval after
 * another such task
 * - it fits no other entry, and few have this task with these arguments
 *
 * The same task sent by a client at such a time is wrongly counted as a run. A run that beat made late (after it had
 * been stopped) is not recognized, nor one that a busy worker received late without `task-sent`.
 */
export interface RunObserver {
  /** Sets the watched entries; the data about entries that stay is kept. */
  watch(entries: ReadonlyMap<string, StaticEntry>): Steps<void>;
  /** Processes an event about a task. */
  observe(change: TaskChange): void;
  /** Processes a message that names its entry. Its task is a run once an event reports when it was sent or received. */
  named(run: NamedRun): void;
  /** Tasks of entries that were not watched before, each reported once: their earlier runs were not observed. */
  takeNewTasks(): string[];
  /** The last run of an entry that came when it was due, milliseconds since 1970; `null` when none was seen. */
  lastRun(id: string): number | null;
  /**
   * When an entry is due after its last run, milliseconds since 1970, also if that is past and it was not sent; `null`:
   * unknown, because beat does not report what it sends, or its report may have been missed.
   */
  nextDue(id: string): number | null;
  /** Reports may have been missed until now. */
  missed(now: number): void;
  /** The latest runs of an entry that were seen, newest first; `null` when none was. */
  lastRuns(id: string): readonly Sighting[] | null;
  /** Whether beat has run lately: an entry ran within the last hour and has not missed more than one run since. */
  isAlive(now: number): Steps<boolean>;
}

/** The entries that are watched. */
interface WatchedEntries {
  readonly byId: ReadonlyMap<string, Watched>;
  readonly byTask: ReadonlyMap<string, readonly Watched[]>;
  /** `null`: several entries have this name. */
  readonly byName: ReadonlyMap<string, Watched | null>;
  /** Tasks of those that were not watched before. */
  readonly newTasks: readonly string[];
}

/** Watches the tasks of a deployment. @param startedAt milliseconds since 1970 */
export function createRunObserver(startedAt: number): RunObserver {
  let wholeSince = startedAt;
  let watched: WatchedEntries = { byId: new Map(), byTask: new Map(), byName: new Map(), newTasks: [] };
  let current: ReadonlyMap<string, StaticEntry> | null = null;
  const newTasks = new Set<string>();
  const namedRuns = createNamedRuns<Watched>();

  return {
    *watch(entries) {
      if (entries === current) return;
      current = entries;
      const next = yield* watchEntries(entries, watched.byId);
      // There may be newer entries by now.
      if (entries !== current) return;
      watched = next;
      for (const task of next.newTasks) newTasks.add(task);
    },
    observe(change) {
      const { type, name, time, stored, parentId, retries, id } = change;
      if (name === undefined || name === null || (type !== 'sent' && type !== 'received')) return;
      const group = watched.byTask.get(name);
      if (group === undefined || time === null || stored === true) return;
      if ((parentId ?? id) !== id || (retries ?? 0) > 0) return;
      const heard = { taskId: id, time, task: name, isSent: type === 'sent' };
      const entry = namedRuns.entryOf(id);
      const own = entry === null ? null : (watched.byName.get(entry) ?? null);
      const takers = own !== null && own.entry.task === name ? [own] : takersOf(group, change);
      namedRuns.heard(heard, takers);
      takeIn(takers, heard, own !== null);
    },
    named(run) {
      const known = namedRuns.named(run);
      const own = watched.byName.get(run.entry);
      if (known === null || !own || own.entry.task !== known.heard.task) return;
      for (const other of known.takers) if (other !== own) forget(other, run.taskId);
      takeIn([own], known.heard, true);
    },
    takeNewTasks() {
      const tasks = [...newTasks];
      newTasks.clear();
      return tasks;
    },
    lastRun: (id) => lastDue(watched.byId.get(id))?.time ?? null,
    nextDue(id) {
      const next = nextDue(watched.byId.get(id));
      return next !== null && next >= wholeSince ? next : null;
    },
    missed(now) {
      wholeSince = now;
    },
    lastRuns(id) {
      const { runs = [] } = watched.byId.get(id) ?? {};
      return runs.length === 0 ? null : runs.map(({ taskId, time }) => ({ taskId, time }));
    },
    *isAlive(now) {
      for (const entry of watched.byId.values()) {
        yield;
        if (isOnTime(entry, now)) return true;
      }
      return false;
    },
  };
}

/** @param before the data about entries that stay is kept */
function* watchEntries(
  entries: ReadonlyMap<string, StaticEntry>,
  before: ReadonlyMap<string, Watched>,
): Steps<WatchedEntries> {
  const byId = new Map<string, Watched>();
  const byTask = new Map<string, Watched[]>();
  const byName = new Map<string, Watched | null>();
  const newTasks: string[] = [];
  for (const [id, entry] of entries) {
    yield;
    if (entry.task === null) continue;
    const known = before.get(id);
    const isKnown = known !== undefined && isUnchanged(known.entry, entry);
    const watched = isKnown ? known : watchedOf(entry);
    if (!isKnown) newTasks.push(entry.task);
    byId.set(id, watched);
    byName.set(entry.name, byName.has(entry.name) ? null : watched);
    const group = byTask.get(entry.task);
    if (group === undefined) byTask.set(entry.task, [watched]);
    else group.push(watched);
  }
  return { byId, byTask, byName, newTasks };
}
