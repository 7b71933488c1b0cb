import type { TaskChange } from '../../../history/history.ts';
import { createLruCache } from '../../../lru-cache.ts';
import type { Steps } from '../../../scheduler.ts';
import { wasCut } from '../protocol/messages.ts';
import { type Run, runAfter, type ScheduleEntry } from './entry.ts';

/**
 * Finds out when entries ran, from the tasks that they caused.
 *
 * The messages of django-celery-beat name the entry in `periodic_task_name` (`ModelEntry` in
 * django_celery_beat/schedulers.py), also for what its admin page sends; if one was read, it decides. Beat sends no events
 * of its own, and its other messages name no entry; its tasks look like those of any client. So any other task is a run of
 * an entry if no other entry has this task with these arguments and this queue, and it has no parent and is no retry. The
 * same task sent by a client counts as a run, too.
 */
export interface RunObserver {
  /** Sets the watched entries; the runs of entries that stay are kept. */
  watch(entries: readonly ScheduleEntry[]): Steps<void>;
  /** Processes an event about a task. */
  observe(change: TaskChange): void;
  /** Processes a message that names its entry. Its task is a run once an event reports when it was sent or received. */
  named(taskId: string, entry: string): void;
  /** Tasks of entries that were not watched before, each reported once: their earlier runs were not observed. */
  takeNewTasks(): string[];
  /** The latest runs of an entry that were seen, newest first. */
  runs(id: string): readonly Run[];
  /** The last run that came when it was due, as those that beat sends do, milliseconds since 1970. */
  lastOnTime(id: string): number | null;
  /**
   * When an entry is due after its last run, milliseconds since 1970, also if that is past and it was not sent; `null`:
   * unknown, because beat does not report what it sends, or its report may have been missed.
   */
  nextDue(id: string): number | null;
  /** Reports may have been missed until now. */
  missed(): void;
  /** Whether beat has run lately: an entry ran on time within the last hour and has not missed more than one run since. */
  isAlive(now: number): Steps<boolean>;
}

/** An entry, and its observed runs. */
interface Watched {
  readonly entry: ScheduleEntry;
  /** Comparable; `null` fits all. */
  readonly args: string | null;
  readonly kwargs: string | null;
  /** Newest first. */
  runs: readonly Run[];
}

/** The entries that are watched. */
interface WatchedEntries {
  readonly byId: ReadonlyMap<string, Watched>;
  readonly byTask: ReadonlyMap<string, readonly Watched[]>;
  /** `null`: several entries have this name. */
  readonly byName: ReadonlyMap<string, Watched | null>;
}

/** What events say of a task that may be a run. */
interface Heard {
  readonly task: string;
  readonly run: Run;
  /** The only entry with its task, arguments and queue. */
  readonly only: Watched | null;
}

/** Most runs of an entry that are remembered. */
const MOST_RUNS = 20;
/** Most tasks whose message and event wait for each other. */
const MOST_WAITING = 2_000;
/** All in milliseconds: how late beat may be, how far clocks may differ, and for how long a run shows that beat runs. */
const LATE = 5000;
const EARLY = 1000;
const LATELY = 3_600_000;
const MINUTE = 60_000;

/** Watches the tasks of a deployment. */
export function createRunObserver(): RunObserver {
  let wholeSince = Date.now();
  let watched: WatchedEntries = { byId: new Map(), byTask: new Map(), byName: new Map() };
  let current: readonly ScheduleEntry[] | null = null;
  const newTasks = new Set<string>();
  const names = createLruCache<string>({ entries: MOST_WAITING });
  const heard = createLruCache<Heard>({ entries: MOST_WAITING });

  /** Attributes a task, if both its event and what decides are known. */
  function attribute(taskId: string): void {
    const known = heard.get(taskId);
    if (known === undefined) return;
    const named = watched.byName.get(names.get(taskId) ?? '') ?? null;
    const owner = named?.entry.task === known.task ? named : known.only;
    if (known.only !== null && known.only !== owner) {
      known.only.runs = known.only.runs.filter((run) => run.taskId !== taskId);
    }
    if (owner !== null) noteRun(owner, known.run);
  }

  return {
    *watch(entries) {
      if (entries === current) return;
      current = entries;
      const next = yield* watchEntries(entries, watched.byId);
      // There may be newer entries by now.
      if (entries !== current) return;
      for (const [id, { entry }] of next.byId) {
        if (entry.task !== null && next.byId.get(id) !== watched.byId.get(id)) newTasks.add(entry.task);
      }
      watched = next;
    },
    observe(change) {
      const { type, name, time, stored, parentId, retries, id } = change;
      if (name === undefined || name === null || (type !== 'sent' && type !== 'received')) return;
      const group = watched.byTask.get(name);
      if (group === undefined || time === null || stored === true) return;
      if ((parentId ?? id) !== id || (retries ?? 0) > 0) return;
      const run = { taskId: id, time, isSent: type === 'sent' };
      heard.set(id, { task: name, run: closer(heard.get(id)?.run, run), only: onlyFitting(group, change) });
      attribute(id);
    },
    named(taskId, entry) {
      names.set(taskId, entry);
      attribute(taskId);
    },
    takeNewTasks() {
      const tasks = [...newTasks];
      newTasks.clear();
      return tasks;
    },
    runs: (id) => watched.byId.get(id)?.runs ?? [],
    lastOnTime: (id) => lastOnTime(watched.byId.get(id))?.time ?? null,
    nextDue(id) {
      const entry = watched.byId.get(id);
      const [last] = entry?.runs ?? [];
      if (entry === undefined || last === undefined || lastOnTime(entry)?.isSent !== true) return null;
      const next = runAfter(entry.entry.rule, last.time, entry.entry.timezone);
      return next !== null && next >= wholeSince ? next : null;
    },
    missed() {
      wholeSince = Date.now();
    },
    *isAlive(now) {
      for (const entry of watched.byId.values()) {
        yield;
        if (isAlive(entry, now)) return true;
      }
      return false;
    },
  };
}

/** @param before the runs of entries that stay are kept */
function* watchEntries(
  entries: readonly ScheduleEntry[],
  before: ReadonlyMap<string, Watched>,
): Steps<WatchedEntries> {
  const byId = new Map<string, Watched>();
  const byTask = new Map<string, Watched[]>();
  const byName = new Map<string, Watched | null>();
  for (const entry of entries) {
    yield;
    if (entry.task === null || !entry.enabled) continue;
    const known = before.get(entry.id);
    const watched = known !== undefined && isSame(known.entry, entry) ? known : watchedOf(entry);
    byId.set(entry.id, watched);
    byName.set(entry.name, byName.has(entry.name) ? null : watched);
    const group = byTask.get(entry.task);
    if (group === undefined) byTask.set(entry.task, [watched]);
    else group.push(watched);
  }
  return { byId, byTask, byName };
}

const SAME = ['name', 'task', 'args', 'kwargs', 'queue', 'timezone'] as const;

/** Of a stored entry, other facts change whenever it has run. */
function isSame(before: ScheduleEntry, entry: ScheduleEntry): boolean {
  return before.rule.text === entry.rule.text && SAME.every((member) => before[member] === entry[member]);
}

function watchedOf(entry: ScheduleEntry): Watched {
  const args = wantedOf(entry.shownArgs ?? entry.args);
  const kwargs = wantedOf(entry.shownKwargs ?? entry.kwargs);
  return { entry, args, kwargs, runs: [] };
}

/** The text that workers write instead of a secret. */
const HIDDEN = "'********'";

function wantedOf(repr: string): string | null {
  return repr.includes(HIDDEN) ? null : comparableRepr(repr);
}

/** The entry with the arguments and the queue of a task; `null` if none or several have them. */
function onlyFitting(group: readonly Watched[], { queue, ...change }: TaskChange): Watched | null {
  const [args, kwargs] = [sentOf(change.args), sentOf(change.kwargs)];
  const fitting = group.filter(
    (watched) =>
      (watched.entry.queue === null || typeof queue !== 'string' || queue === watched.entry.queue) &&
      (watched.args === null || args === null || watched.args === args) &&
      (watched.kwargs === null || kwargs === null || watched.kwargs === kwargs),
  );
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

function sentOf(repr: string | null | undefined): string | null {
  return typeof repr !== 'string' || wasCut(repr) ? null : comparableRepr(repr);
}

/**
 * Converts a Python repr to a form in which equal values are equal texts, as far as JSON distinguishes them:
 * tuples are lists in JSON, and JavaScript reads `2.0` as `2`.
 */
function comparableRepr(repr: string): string {
  // Strings are unchanged.
  const parts = repr.split(STRINGS);
  return parts.map((part, index) => (index % 2 === 1 ? part : comparable(part))).join('');
}

// A string without an end extends to the end of the text. Otherwise each of its quotes would be tried as a
// beginning.
const STRINGS = /('[^'\\]*(?:\\[\s\S]?[^'\\]*)*(?:'|$)|"[^"\\]*(?:\\[\s\S]?[^"\\]*)*(?:"|$))/;

function comparable(part: string): string {
  return part
    .replace(/\s+/g, '')
    .replaceAll('(', '[')
    .replaceAll(')', ']')
    .replaceAll(',]', ']')
    .replace(/(\d)\.0(?!\d)/g, '$1');
}

/** The sending of a task is closer to beat's own time than what its worker reports. */
function closer(before: Run | undefined, run: Run): Run {
  return before?.isSent === true && !run.isSent ? before : run;
}

/** Keeps the latest runs, each once. Events of several senders overtake each other. */
function noteRun(watched: Watched, run: Run): void {
  const before = watched.runs.find(({ taskId }) => taskId === run.taskId);
  const others = watched.runs.filter((other) => other !== before);
  const runs = [closer(before, run), ...others].sort((a, b) => b.time - a.time);
  watched.runs = runs.slice(0, MOST_RUNS);
}

function lastOnTime(watched: Watched | undefined): Run | undefined {
  return watched?.runs.find((run) => isOnTime(watched, run));
}

/** Whether a run came when its crontab was due, or one interval after another run. */
function isOnTime({ entry, runs }: Watched, run: Run): boolean {
  const { rule, timezone } = entry;
  const { time } = run;
  if (rule.crontab !== null) {
    // Crontabs are due at full minutes, which excludes most tasks that a client sends.
    if (time % MINUTE > LATE && time % MINUTE < MINUTE - EARLY) return false;
    const due = runAfter(rule, time - LATE, timezone);
    return due !== null && due <= time + EARLY;
  }
  const slack = Math.min(LATE, Math.max(200, (rule.every ?? 0) * 250));
  return runs.some((other) => {
    const due = other === run ? null : runAfter(rule, other.time, timezone);
    return due !== null && Math.abs(time - due) <= slack;
  });
}

function isAlive(watched: Watched, now: number): boolean {
  const { rule, timezone } = watched.entry;
  const run = lastOnTime(watched);
  if (run === undefined || now - run.time > LATELY) return false;
  const next = runAfter(rule, run.time, timezone);
  const second = next === null ? null : runAfter(rule, next, timezone);
  return second !== null && now <= second + LATE;
}
