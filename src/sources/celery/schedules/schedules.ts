/** The periodic schedules of a deployment, from redbeat, django-celery-beat, workers and the host. */
import { MonitorError } from '../../../errors.ts';
import type { HistoryReader, TaskChange } from '../../../history/history.ts';
import type { Component, Schedule, Task } from '../../../model.ts';
import { MASK } from '../../../redact/key-value.ts';
import { type Steps, scheduler as work } from '../../../scheduler.ts';
import { ALL_TASKS } from '../../../source/task-query.ts';
import type { SourceStatus } from '../../../source.ts';
import { pause } from '../../../waiting.ts';
import type { KeptTasks } from '../results/kept-tasks.ts';
import type { CelerySettings } from '../settings.ts';
import { beatComponent, createReading, cutOff, isEnabled, type Readings, schedulerOf } from './beat.ts';
import type { DjangoReader } from './django/django-reader.ts';
import { type DjangoFacts, djangoRow, hasRunLately, unstoredFor } from './django/django-schedule.ts';
import { runAfter, type ScheduleEntry, scheduleRow } from './entry.ts';
import { appTimezone, longestPause, type RedbeatPlace, redbeatKeys, redbeatRow } from './redbeat-schedule.ts';
import { createRunObserver, type RunObserver } from './runs.ts';
import { type AskConf, createStaticSchedule } from './static-schedule.ts';

/** Schedules and beat. */
export type Schedules = ReturnType<typeof createSchedules>;

interface State extends Readings {
  readonly observer: RunObserver;
  readonly earlier: ReturnType<typeof createEarlierRuns>;
  closed: boolean;
}

/** Finds and shows schedules. */
export function createSchedules(places: {
  /** Name of the source. */
  readonly name: string;
  readonly settings: CelerySettings;
  readonly redbeat: RedbeatPlace;
  /** Reads the tables of django-celery-beat; `null` without a database. */
  readonly django: DjangoReader | null;
  /** Asks the workers for their configuration. */
  readonly conf: AskConf;
  /** Tasks that were received earlier. */
  readonly reader: Pick<HistoryReader, 'listTasks'>;
  /** `null` without a store. */
  readonly kept: KeptTasks | null;
}) {
  const { name, settings, conf, redbeat, django, reader, kept } = places;
  const observer = createRunObserver();
  const state: State = {
    fixed: createStaticSchedule(settings, conf),
    redbeat: createReading(redbeat.reader),
    redbeatKeys: redbeatKeys(settings),
    unreadableRedbeat: redbeat.unreadable,
    django: createReading(django),
    observer,
    earlier: createEarlierRuns(observer, reader, kept),
    closed: false,
  };
  void watch(state);
  return {
    source: { name, status: () => statusOf(state), listSchedules: () => listEnabled(state) },
    /** The component `beat`. Never rejects. */
    component: () => componentOf(state),
    /** To be called for each event about a task, which may be a run of an entry. */
    observe: observer.observe,
    /** To be called for each message that names its entry. */
    named: observer.named,
    /** To be called when events may have been missed until now. */
    missed: observer.missed,
    /**
     * Asks workers for their configuration, unless it is known, and reads stored entries. To be called once connected and
     * when a worker comes online, because only runs of known entries are recognized. Never rejects.
     */
    refresh: () => refresh(state),
    /** Why redbeat's Redis cannot be read; `null` when it can, or has not been. */
    problem: () => state.redbeat.problem,
    close() {
      state.closed = true;
      state.earlier.stop();
    },
  };
}

function statusOf(state: State): SourceStatus {
  const times = [state.redbeat, state.django].flatMap(({ snapshot, readAt }) =>
    snapshot === null || readAt === null ? [] : readAt,
  );
  const problem = cutOff(state);
  return {
    ok: problem === null,
    asOf: times.length === 0 ? null : new Date(Math.min(...times)),
    error: problem === null ? null : 'source_unavailable',
    reason: (problem ?? state.redbeat.problem)?.sentence ?? null,
  };
}

async function listEnabled(state: State): Promise<Schedule[] | null> {
  await refresh(state);
  const { redbeat, django } = state;
  const unread = [redbeat, django].find(({ snapshot, problem }) => snapshot === null && problem !== null);
  const rows = await listAll(state);
  if (cutOff(state) !== null && unread !== undefined && rows.length === 0) {
    throw new MonitorError('source_unavailable', unread.problem?.sentence);
  }
  return isEnabled(state) ? rows : null;
}

async function componentOf(state: State): Promise<Component> {
  await refresh(state);
  const { observer, django } = state;
  const facts = factsOf(state);
  const { snapshot } = django;
  const nextDue = earliest(await listAll(state));
  const isAlive =
    (await work.run('schedules', observer.isAlive(facts.now))) ||
    (snapshot !== null && (await work.run('schedules', hasRunLately(snapshot, facts))));
  return beatComponent(state, { ...facts, nextDue, isAlive });
}

function earliest(list: readonly Schedule[]): number | null {
  const times = list.flatMap(({ nextRunAt }) => nextRunAt?.getTime() ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

async function refresh(state: State): Promise<void> {
  if (state.closed) return;
  await Promise.all([state.fixed.refresh(), state.django.refresh(), state.redbeat.refresh()]);
  await watch(state);
}

/** Watches the runs of the entries that beat runs. */
async function watch(state: State): Promise<void> {
  await work.run('schedules', state.observer.watch(runEntries(state) ?? state.fixed.entries()));
  void state.earlier.read();
}

/** The entries of the scheduler that stores them; `null`: none does, or they have not been read. */
function runEntries(state: State): readonly ScheduleEntry[] | null {
  const scheduler = schedulerOf(state);
  if (scheduler === 'redbeat') return state.redbeat.snapshot?.entries ?? null;
  return scheduler === 'django' ? (state.django.snapshot?.entries ?? null) : null;
}

async function listAll(state: State): Promise<Schedule[]> {
  const rows: Schedule[] = [];
  await work.run('schedules', addRows(state, rows));
  return rows.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

function* addRows(state: State, rows: Schedule[]): Steps<void> {
  const { redbeat, django, fixed, observer } = state;
  const facts = factsOf(state);
  for (const entry of redbeat.snapshot?.entries ?? []) {
    yield;
    rows.push(redbeatRow(entry, facts.timezone, observer.runs(entry.id)));
  }
  const { snapshot } = django;
  for (const entry of snapshot?.entries ?? []) {
    yield;
    if (snapshot !== null) rows.push(djangoRow(entry, snapshot, facts));
  }
  // These schedulers copy static entries into their own schedule and run only that.
  const scheduler = schedulerOf(state);
  const isCopied = scheduler === 'redbeat' ? redbeat.snapshot !== null : scheduler === 'django';
  // As long as not all of those are read, a static entry may be one of them.
  const stored = [redbeat.snapshot, django.snapshot].filter((snapshot) => snapshot !== null);
  const total = stored.reduce((sum, snapshot) => sum + snapshot.total - snapshot.unreadable, 0);
  if (total > rows.length) return;
  const names = new Set(rows.map((row) => row.name));
  for (const entry of fixed.entries()) {
    yield;
    if (!names.has(entry.name)) rows.push(staticRow(entry, isCopied ? null : observer, facts.now));
  }
}

/** How late beat may be before its state counts as unknown, in milliseconds. */
const LATE = 60_000;

/** @param observer `null` when no beat is known to run the entry */
function staticRow(entry: ScheduleEntry, observer: RunObserver | null, now: number): Schedule {
  const runs = observer?.runs(entry.id) ?? null;
  const last = runs?.[0]?.time ?? null;
  const due = observer?.nextDue(entry.id) ?? null;
  const next = runs === null || !entry.enabled ? null : (due ?? nextRun(entry, last, now));
  // Beat keeps its counts in a separate file.
  return scheduleRow(entry, entry.timezone, { last, next, count: null }, runs);
}

/** If beat does not report its runs, one that was not seen may have happened: an interval's next run is unknown then. */
function nextRun({ rule, timezone }: ScheduleEntry, last: number | null, now: number): number | null {
  const next = last === null ? null : runAfter(rule, last, timezone);
  if (rule.crontab !== null) return next !== null && next > now ? next : runAfter(rule, now, timezone);
  return next !== null && next > now - LATE ? next : null;
}

function factsOf({ observer, fixed, redbeat }: State): DjangoFacts {
  return {
    observer,
    timezone: appTimezone(redbeat.snapshot?.entries ?? [], fixed.timezone()),
    unstored: unstoredFor(longestPause(fixed.configurations())),
    now: Date.now(),
  };
}

/** Most names of tasks of which lists are read, and the length of each. */
const MOST_NAMES = 200;
const MOST_TASKS = 200;
/** Milliseconds between two lists. */
const PAUSE_MS = 10;

/** @param kept `null` without a store */
function createEarlierRuns(
  observer: RunObserver,
  reader: Pick<HistoryReader, 'listTasks'>,
  kept: KeptTasks | null,
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let reading: Promise<void> = Promise.resolve();

  async function readNames(names: readonly string[]): Promise<void> {
    await kept?.loaded(signal);
    for (const name of names) {
      if (signal.aborted) return;
      const query = { ...ALL_TASKS, names: [name], limit: MOST_TASKS, scan: 10 * MOST_TASKS };
      try {
        const { tasks } = await reader.listTasks(query, { signal });
        await work.run('schedules', show(tasks, observer));
      } catch {
        // The store cannot be read. Runs are recognized from now on.
      }
      await pause(PAUSE_MS, signal);
    }
  }

  return {
    /** To be called when entries are watched. Resolves when the observer has seen their earlier tasks; never rejects. */
    read() {
      const names = observer.takeNewTasks().slice(0, MOST_NAMES);
      if (names.length > 0) reading = reading.then(() => readNames(names));
      return reading;
    },
    stop: () => stopping.abort(),
  };
}

function* show(tasks: readonly Task[], observer: RunObserver): Steps<void> {
  for (const task of tasks) {
    yield;
    const change = changeOf(task);
    if (change !== null) observer.observe(change);
  }
}

/** The data of its event. A retried task is left out: the time when its first attempt was sent is lost. */
function changeOf({ id, sent, received, ...task }: Task): TaskChange | null {
  const at = sent ?? received ?? null;
  if (at === null) return null;
  return {
    id,
    type: sent ? 'sent' : 'received',
    time: at.getTime(),
    origin: 'event',
    name: task.name,
    queue: task.queue,
    args: shown(task.args),
    kwargs: shown(task.kwargs),
    parentId: task.parentId,
    retries: task.retries,
  } as TaskChange;
}

/** Redacted arguments may be those of any entry. */
function shown(text: unknown): string | undefined {
  return typeof text === 'string' && !text.includes(MASK) ? text : undefined;
}
