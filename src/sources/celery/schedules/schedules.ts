/** The periodic schedules of a deployment, from redbeat, django-celery-beat, workers and the host. */
import { MonitorError } from '../../../errors.ts';
import type { TaskChange } from '../../../history/history.ts';
import type { Component, Schedule } from '../../../model.ts';
import { scheduler as work } from '../../../scheduler.ts';
import type { ScheduleSource, SourceStatus } from '../../../source.ts';
import type { Problem } from '../problem.ts';
import type { CelerySettings } from '../settings.ts';
import { beatComponent } from './beat-component.ts';
import type { DjangoReader } from './django/django-reader.ts';
import { type DjangoContext, djangoSchedules, hasRunLately } from './django/django-schedule.ts';
import { unstoredFor } from './django/next-run.ts';
import { createEarlierRuns, type EarlierRuns, type EarlierRunsOptions } from './earlier-runs.ts';
import type { NamedRun } from './named-runs.ts';
import { createReading } from './reading.ts';
import { createRedbeatSchedule, type RedbeatOptions, redbeatRows } from './redbeat-schedule.ts';
import { longestPause, redbeatTiming } from './redbeat-settings.ts';
import { staticSchedule } from './rows.ts';
import { createRunObserver, type RunObserver } from './run-observer.ts';
import {
  countsOf,
  cutOff,
  entriesOf,
  foreignOf,
  isEnabled,
  type Readings,
  schedulerOf,
  zoneOf,
} from './scheduler-in-use.ts';
import { type AskConf, createStaticSchedule } from './static-schedule.ts';

/** Where schedules are read. */
export interface SchedulesOptions {
  /** Name of the source. */
  readonly name: string;
  readonly settings: CelerySettings;
  readonly redbeat: RedbeatOptions;
  /** Reads the tables of django-celery-beat; `null` without a database. */
  readonly django: DjangoReader | null;
  /** Asks the workers for their configuration. */
  readonly conf: AskConf;
  /** Tasks that were received earlier. Default: none are searched. */
  readonly earlier?: EarlierRunsOptions | null;
}

/** Schedules and beat. */
export interface Schedules {
  readonly source: ScheduleSource;
  /** The component `beat`. Never rejects. */
  component(): Promise<Component>;
  /** To be called for each event about a task, which may be a run of an entry. */
  observe(change: TaskChange): void;
  /** To be called for each message that names its entry. */
  named(run: NamedRun): void;
  /** To be called when events may have been missed until now. */
  missed(): void;
  /**
   * Asks workers for their configuration, unless it is known, and reads stored entries. To be called once connected and
   * when a worker comes online, because only runs of known entries are recognized. Never rejects.
   */
  refresh(): Promise<void>;
  /** Whether any schedule was found; `null` before it is known. */
  enabled(): boolean | null;
  /** Why redbeat's Redis cannot be read; `null` when it can, or has not been. */
  problem(): Problem | null;
  close(): void;
}

interface State extends Readings {
  readonly options: SchedulesOptions;
  readonly observer: RunObserver;
  readonly earlier: EarlierRuns | null;
  closed: boolean;
}

/** Finds and shows schedules. */
export function createSchedules(options: SchedulesOptions): Schedules {
  const { name, settings, conf, redbeat, django, earlier = null } = options;
  const observer = createRunObserver(Date.now());
  const state: State = {
    options,
    fixed: createStaticSchedule(settings, conf),
    redbeat: createRedbeatSchedule(redbeat, settings),
    django: createReading(django === null ? null : () => django.read()),
    observer,
    earlier: earlier === null ? null : createEarlierRuns(earlier, observer),
    closed: false,
  };
  void watch(state);
  return {
    source: { name, status: () => statusOf(state), listSchedules: () => listEnabled(state) },
    component: () => componentOf(state),
    observe: observer.observe,
    named: observer.named,
    missed: () => observer.missed(Date.now()),
    refresh: () => refreshKnown(state),
    enabled: () => isEnabled(state),
    problem: () => state.redbeat.reading.problem,
    close() {
      state.closed = true;
      state.earlier?.stop();
    },
  };
}

function statusOf(state: State): SourceStatus {
  const times = [state.redbeat.reading, state.django].flatMap(({ snapshot, readAt }) =>
    snapshot === null || readAt === null ? [] : readAt,
  );
  const problem = cutOff(state);
  return {
    ok: problem === null,
    asOf: times.length === 0 ? null : new Date(Math.min(...times)),
    error: problem === null ? null : 'source_unavailable',
    reason: (problem ?? state.redbeat.reading.problem)?.sentence ?? null,
  };
}

async function listEnabled(state: State): Promise<Schedule[] | null> {
  await refreshKnown(state);
  const { redbeat, django } = state;
  const unread = [redbeat.reading, django].find(
    ({ snapshot, problem }) => snapshot === null && problem !== null,
  );
  const rows = await listAll(state);
  if (cutOff(state) !== null && unread !== undefined && rows.length === 0) {
    throw new MonitorError('source_unavailable', unread.problem?.sentence);
  }
  return isEnabled(state) === true ? rows : null;
}

async function componentOf(state: State): Promise<Component> {
  await refreshKnown(state);
  const { fixed, redbeat, django, observer } = state;
  const now = Date.now();
  const scheduler = schedulerOf(state);
  return beatComponent({
    scheduler,
    foreign: foreignOf(state),
    redbeat: redbeat.reading.snapshot,
    timing: redbeatTiming(fixed.configurations()),
    hasLock: redbeat.keys.locks.length > 0,
    unreadableRedbeat: redbeat.unreadable,
    django: django.problem,
    problem: cutOff(state),
    nextDue: earliest(await listAll(state)),
    isAlive: (await work.run('schedules', observer.isAlive(now))) || (await isDjangoAlive(state, now)),
    ...countsOf(state, scheduler),
    timezone: zoneOf(state),
    now,
  });
}

async function refreshKnown(state: State): Promise<void> {
  if (state.closed) return;
  await Promise.all([state.fixed.refresh(), state.django.refresh(), state.redbeat.reading.refresh()]);
  await watch(state);
}

/** Watches the runs of the entries that beat runs. */
async function watch(state: State): Promise<void> {
  await work.run('schedules', state.observer.watch(entriesOf(state) ?? state.fixed.entries()));
  void state.earlier?.read();
}

async function isDjangoAlive(state: State, now: number): Promise<boolean> {
  const { snapshot } = state.django;
  return snapshot !== null && work.run('schedules', hasRunLately(snapshot, contextOf(state, now)));
}

function contextOf(state: State, now: number): DjangoContext {
  const unstored = unstoredFor(longestPause(state.fixed.configurations()));
  return { observer: state.observer, timezone: zoneOf(state), unstored, now };
}

async function listAll(state: State): Promise<Schedule[]> {
  const { redbeat, django, fixed, observer } = state;
  const now = Date.now();
  const timezone = zoneOf(state);
  const rows = redbeatRows(redbeat, timezone, observer);
  if (django.snapshot !== null) {
    rows.push(...(await work.run('schedules', djangoSchedules(django.snapshot, contextOf(state, now)))));
  }
  const names = new Set(rows.map((row) => row.name));
  // These schedulers copy static entries into their own schedule and run only that.
  const scheduler = schedulerOf(state);
  const runsElsewhere = scheduler === 'redbeat' ? redbeat.reading.snapshot !== null : scheduler === 'django';
  const stored = [redbeat.reading.snapshot, django.snapshot].filter((snapshot) => snapshot !== null);
  const total = stored.reduce((sum, snapshot) => sum + snapshot.total - snapshot.unreadable, 0);
  for (const [id, entry] of total <= rows.length ? fixed.entries() : []) {
    if (names.has(entry.name)) continue;
    const runs = {
      last: observer.lastRun(id),
      runs: observer.lastRuns(id),
      due: observer.nextDue(id),
      now,
    };
    rows.push(staticSchedule(id, entry, runsElsewhere ? null : runs));
  }
  return rows.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

function earliest(list: readonly Schedule[]): number | null {
  const times = list.flatMap(({ nextRunAt }) => nextRunAt?.getTime() ?? []);
  return times.length === 0 ? null : Math.min(...times);
}
