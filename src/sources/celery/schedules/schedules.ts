/** The periodic schedules of a deployment, from redbeat, from workers and from the host. */
import { MonitorError } from '../../../errors.ts';
import type { TaskChange } from '../../../history/history.ts';
import type { Component, Schedule } from '../../../model.ts';
import { shareCalls } from '../../../single-flight.ts';
import type { ScheduleSource, SourceStatus } from '../../../source.ts';
import { type Problem, problemOf } from '../problem.ts';
import type { CelerySettings } from '../settings.ts';
import { beatComponent } from './beat-component.ts';
import type { RedbeatReader, RedbeatSnapshot } from './redbeat.ts';
import type { RedbeatEntry } from './redbeat-entry.ts';
import {
  foreignScheduler,
  namesRedbeat,
  type RedbeatKeys,
  redbeatKeys,
  redbeatTiming,
} from './redbeat-settings.ts';
import { appTimezone, redbeatSchedule, staticSchedule } from './rows.ts';
import { createRunObserver, type RunObserver } from './run-observer.ts';
import { type AskConf, createStaticSchedule, type StaticSchedule } from './static-schedule.ts';

/** Where redbeat stores its schedule. */
export interface RedbeatOptions {
  /** `null` if there is no such place, or it cannot be read. */
  readonly reader: RedbeatReader | null;
  /** Why it cannot be read, and what to write; `null` if it can. */
  readonly unreadable: string | null;
}

/** What schedules are read from. */
export interface SchedulesOptions {
  /** Name of the source. */
  readonly name: string;
  readonly settings: CelerySettings;
  readonly redbeat: RedbeatOptions;
  /** Asks the workers for their configuration. */
  readonly conf: AskConf;
}

/** Schedules and beat. */
export interface Schedules {
  readonly source: ScheduleSource;
  /** The component `beat`. Never rejects. */
  component(): Promise<Component>;
  /** To be called for each event about a task, which may be a run of an entry. */
  observe(change: TaskChange): void;
  /**
   * Asks workers for their configuration, unless it is known. To be called once connected and when a worker
   * comes online, because only runs of known entries are recognized. Never rejects.
   */
  refresh(): Promise<void>;
  /** Whether any schedule was found; `null` before it is known. */
  enabled(): boolean | null;
  /** Why redbeat's Redis cannot be read; `null` when it can, or has not been. */
  problem(): Problem | null;
  close(): void;
}

/** How long a reading is used at least, in milliseconds; and reading takes at most a tenth of the time. */
const FRESH = 1000;
const SHARE = 10;

interface State {
  readonly options: SchedulesOptions;
  readonly keys: RedbeatKeys;
  readonly fixed: StaticSchedule;
  readonly observer: RunObserver;
  /** Rows that were shown: finding the next run of a crontab takes some time. */
  readonly shown: WeakMap<RedbeatEntry, Schedule>;
  snapshot: RedbeatSnapshot | null;
  /** When the snapshot was read, milliseconds since 1970. */
  readAt: number | null;
  problem: Problem | null;
  /** Monotonic milliseconds. */
  freshUntil: number;
  /** Reads redbeat once for all who want it at the same time. */
  readonly readRedbeat: () => Promise<void>;
  closed: boolean;
}

/** Finds and shows schedules. */
export function createSchedules(options: SchedulesOptions): Schedules {
  const { name, settings, conf } = options;
  const keys = redbeatKeys(settings);
  const state: State = {
    options,
    keys,
    fixed: createStaticSchedule(settings, conf),
    observer: createRunObserver(),
    shown: new WeakMap(),
    snapshot: null,
    readAt: null,
    problem: null,
    freshUntil: Number.NEGATIVE_INFINITY,
    readRedbeat: shareCalls(() => readRedbeat(state)),
    closed: false,
  };
  state.observer.watch(state.fixed.entries());
  return {
    source: { name, status: () => statusOf(state), listSchedules: () => listEnabled(state) },
    component: () => componentOf(state),
    observe: (change) => state.observer.observe(change),
    refresh: () => refreshStatic(state),
    enabled: () => isEnabled(state),
    problem: () => state.problem,
    close() {
      state.closed = true;
    },
  };
}

function statusOf(state: State): SourceStatus {
  const { snapshot, readAt } = state;
  const ok = !isCutOff(state);
  const asOf = snapshot === null || readAt === null ? null : new Date(readAt);
  return { ok, asOf, error: ok ? null : 'source_unavailable', reason: state.problem?.sentence ?? null };
}

async function listEnabled(state: State): Promise<Schedule[] | null> {
  await refreshAll(state);
  if (isCutOff(state) && state.snapshot === null && state.fixed.entries().size === 0) {
    throw new MonitorError('source_unavailable', state.problem?.sentence);
  }
  return isEnabled(state) === true ? listAll(state) : null;
}

async function componentOf(state: State): Promise<Component> {
  await refreshAll(state);
  const { snapshot, fixed, keys, observer, options } = state;
  const now = Date.now();
  const scheduler = schedulerOf(state);
  const isRedbeat = scheduler === 'redbeat';
  return beatComponent({
    scheduler,
    foreign: foreignOf(state),
    redbeat: snapshot,
    timing: redbeatTiming(fixed.configurations()),
    hasLock: keys.locks.length > 0,
    unreadableRedbeat: options.redbeat.unreadable,
    problem: isCutOff(state) ? state.problem : null,
    nextDue: earliest(listAll(state)),
    isAlive: observer.isAlive(now),
    entries: isRedbeat ? (snapshot?.total ?? null) : fixed.entries().size,
    unreadable: isRedbeat ? (snapshot?.unreadable ?? 0) : fixed.unreadable(),
    timezone: zoneOf(state),
    now,
  });
}

async function readRedbeat(state: State): Promise<void> {
  const start = performance.now();
  try {
    state.snapshot = (await state.options.redbeat.reader?.read()) ?? null;
    state.readAt = Date.now();
    state.problem = null;
  } catch (error) {
    state.problem = problemOf(error);
  }
  const end = performance.now();
  state.freshUntil = end + Math.max(FRESH, (end - start) * SHARE);
}

function refreshRedbeat(state: State): Promise<void> {
  const { closed, freshUntil } = state;
  const { reader } = state.options.redbeat;
  if (reader === null || closed || performance.now() < freshUntil) return Promise.resolve();
  return state.readRedbeat();
}

async function refreshStatic({ closed, fixed, observer }: State): Promise<void> {
  if (closed) return;
  await fixed.refresh();
  observer.watch(fixed.entries());
}

async function refreshAll(state: State): Promise<void> {
  await Promise.all([refreshRedbeat(state), refreshStatic(state)]);
}

function isNamed({ fixed }: State): boolean {
  return fixed.configurations().some(namesRedbeat);
}

function usesRedbeat(state: State): boolean {
  const { snapshot } = state;
  return isNamed(state) || (snapshot !== null && (snapshot.total > 0 || snapshot.lockMs !== null));
}

/** A Redis user without permission for redbeat's keys is only a problem if a setting names redbeat. */
function isCutOff(state: State): boolean {
  const { problem, snapshot } = state;
  if (problem === null || (snapshot !== null && !usesRedbeat(state))) return false;
  return problem.code !== 'NOPERM' || isNamed(state);
}

function schedulerOf(state: State): 'redbeat' | 'static' | null {
  if (usesRedbeat(state)) return 'redbeat';
  return state.fixed.entries().size > 0 ? 'static' : null;
}

/** Another scheduler that the configuration names. */
function foreignOf({ fixed }: State): string | null {
  for (const configuration of fixed.configurations()) {
    const named = foreignScheduler(configuration);
    if (named !== null) return named;
  }
  return null;
}

function zoneOf({ snapshot, fixed }: State): string | null {
  return appTimezone(snapshot?.entries ?? [], fixed.timezone());
}

function rowOf({ shown }: State, entry: RedbeatEntry, timezone: string | null): Schedule {
  const known = shown.get(entry);
  if (known !== undefined && known.timezone === (entry.rule.timezone ?? timezone)) return known;
  const row = redbeatSchedule(entry, timezone);
  shown.set(entry, row);
  return row;
}

function listAll(state: State): Schedule[] {
  const { snapshot, fixed, observer } = state;
  const now = Date.now();
  const timezone = zoneOf(state);
  const rows = (snapshot?.entries ?? []).map((entry) => rowOf(state, entry, timezone));
  const names = new Set(rows.map((row) => row.name));
  // Redbeat copies static entries into its own schedule and runs only what is there.
  const runsElsewhere = snapshot !== null && usesRedbeat(state);
  const isWhole = snapshot === null || snapshot.total <= rows.length + snapshot.unreadable;
  for (const [id, entry] of isWhole ? fixed.entries() : []) {
    if (names.has(entry.name)) continue;
    rows.push(staticSchedule(id, entry, runsElsewhere ? null : { last: observer.lastRun(id), now }));
  }
  return rows.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

function isEnabled(state: State): boolean | null {
  if (schedulerOf(state) !== null || foreignOf(state) !== null) return true;
  const isUnread = state.options.redbeat.reader !== null && state.readAt === null && state.problem === null;
  return isCutOff(state) || isUnread ? null : false;
}

function earliest(list: readonly Schedule[]): number | null {
  const times = list.flatMap(({ nextRunAt }) => nextRunAt?.getTime() ?? []);
  return times.length === 0 ? null : Math.min(...times);
}
