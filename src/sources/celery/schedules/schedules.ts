/** The periodic schedules of a deployment, from redbeat, from workers and from the host. */
import { MonitorError } from '../../../errors.ts';
import type { TaskChange } from '../../../history/history.ts';
import type { Component, Schedule } from '../../../model.ts';
import { describeError, type RedisProblem } from '../../../redis/problems.ts';
import type { RedisReader } from '../../../redis/reader.ts';
import type { ScheduleSource } from '../../../source.ts';
import type { CelerySettings } from '../settings.ts';
import { beatComponent } from './beat-component.ts';
import { createRedbeat, type Redbeat, type RedbeatSnapshot } from './redbeat.ts';
import type { RedbeatEntry } from './redbeat-entry.ts';
import { foreignScheduler, namesRedbeat, redbeatKeys, redbeatTiming } from './redbeat-settings.ts';
import { appTimezone, redbeatSchedule, staticSchedule } from './rows.ts';
import { createRunObserver } from './run-observer.ts';
import { type AskConf, createStaticSchedule } from './static-schedule.ts';

/** What schedules are read from. */
export interface SchedulesOptions {
  /** Name of the source. */
  readonly name: string;
  readonly settings: CelerySettings;
  /** Reads the Redis that redbeat uses; never closed here. `null` when there is none, or it cannot be read. */
  readonly reader: RedisReader | null;
  /** Why the Redis that redbeat uses cannot be read, and what to write. Default `null`: nothing prevents it. */
  readonly unreadable?: string | null;
  /** Asks the workers for their configuration. */
  readonly conf: AskConf;
}

/** Schedules and beat. */
export interface Schedules {
  readonly source: ScheduleSource;
  /** Beat as a part of the deployment. Never rejects. */
  component(): Promise<Component>;
  /** To be called for each event about a task: it may be a run of an entry. */
  observe(change: TaskChange): void;
  /**
   * Asks workers what they have configured, unless that is known. To be called once connected and when a
   * worker comes online: only runs of entries that are known are seen. Never rejects.
   */
  refresh(): Promise<void>;
  /** Whether any schedule was found; `null` before it is known. */
  enabled(): boolean | null;
  /** Why redbeat's Redis cannot be read; `null` when it can, or has not been. */
  problem(): RedisProblem | null;
  close(): void;
}

/** A reading is used for at least so many milliseconds, and takes at most a tenth of the time. */
const FRESH = 1000;
const SHARE = 10;

/** Finds and shows schedules. */
export function createSchedules({
  name,
  settings,
  reader,
  unreadable = null,
  conf,
}: SchedulesOptions): Schedules {
  const keys = redbeatKeys(settings);
  const redbeat = reader === null ? null : createRedbeat(reader, keys);
  const fixed = createStaticSchedule(settings, conf);
  const observer = createRunObserver();
  // Finding the next run of a crontab takes some time.
  const shown = new WeakMap<RedbeatEntry, Schedule>();
  let snapshot: RedbeatSnapshot | null = null;
  let readAt: number | null = null;
  let problem: RedisProblem | null = null;
  let freshUntil = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | null = null;
  let closed = false;
  observer.watch(fixed.entries());

  async function read(from: Redbeat): Promise<void> {
    const start = performance.now();
    try {
      snapshot = await from.read();
      readAt = Date.now();
      problem = null;
    } catch (error) {
      problem = describeError(error);
    }
    const end = performance.now();
    freshUntil = end + Math.max(FRESH, (end - start) * SHARE);
  }

  function refreshRedbeat(): Promise<void> {
    if (redbeat === null || closed || performance.now() < freshUntil) return Promise.resolve();
    reading ??= read(redbeat).finally(() => {
      reading = null;
    });
    return reading;
  }

  async function refresh(): Promise<void> {
    if (closed) return;
    await fixed.refresh();
    observer.watch(fixed.entries());
  }

  async function refreshAll(): Promise<void> {
    await Promise.all([refreshRedbeat(), refresh()]);
  }

  function isNamed(): boolean {
    return fixed.configurations().some(namesRedbeat);
  }

  function usesRedbeat(): boolean {
    return isNamed() || (snapshot !== null && (snapshot.total > 0 || snapshot.lockMs !== null));
  }

  /** A Redis user that may not read redbeat's keys is no fault where nobody speaks of redbeat. */
  function isCutOff(): boolean {
    if (problem === null || (snapshot !== null && !usesRedbeat())) return false;
    return problem.code !== 'NOPERM' || isNamed();
  }

  function scheduler(): 'redbeat' | 'static' | null {
    if (usesRedbeat()) return 'redbeat';
    return fixed.entries().size > 0 ? 'static' : null;
  }

  function foreign(): string | null {
    for (const configuration of fixed.configurations()) {
      const named = foreignScheduler(configuration);
      if (named !== null) return named;
    }
    return null;
  }

  function zone(): string | null {
    return appTimezone(snapshot?.entries ?? [], fixed.timezone());
  }

  function rowOf(entry: RedbeatEntry, timezone: string | null): Schedule {
    const known = shown.get(entry);
    if (known !== undefined && known.timezone === (entry.rule.timezone ?? timezone)) return known;
    const row = redbeatSchedule(entry, timezone);
    shown.set(entry, row);
    return row;
  }

  function list(): Schedule[] {
    const now = Date.now();
    const timezone = zone();
    const rows = (snapshot?.entries ?? []).map((entry) => rowOf(entry, timezone));
    const names = new Set(rows.map((row) => row.name));
    // Redbeat takes the static entries into its own store; what it does not hold, it does not run.
    const isElsewhere = snapshot !== null && usesRedbeat();
    const isWhole = snapshot === null || snapshot.total <= rows.length + snapshot.unreadable;
    for (const [id, entry] of isWhole ? fixed.entries() : []) {
      if (names.has(entry.name)) continue;
      rows.push(staticSchedule(id, entry, isElsewhere ? null : { last: observer.lastRun(id), now }));
    }
    return rows.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  function enabled(): boolean | null {
    if (scheduler() !== null || foreign() !== null) return true;
    return isCutOff() || (reader !== null && readAt === null && problem === null) ? null : false;
  }

  return {
    source: {
      name,
      status: () => {
        const ok = !isCutOff();
        const asOf = snapshot === null || readAt === null ? null : new Date(readAt);
        return { ok, asOf, error: ok ? null : 'source_unavailable' };
      },
      async listSchedules() {
        await refreshAll();
        if (isCutOff() && snapshot === null && fixed.entries().size === 0) {
          throw new MonitorError('source_unavailable', problem?.sentence);
        }
        return enabled() === true ? list() : null;
      },
    },
    async component() {
      await refreshAll();
      const now = Date.now();
      const kind = scheduler();
      const ofRedbeat = kind === 'redbeat';
      return beatComponent({
        scheduler: kind,
        foreign: foreign(),
        redbeat: snapshot,
        timing: redbeatTiming(fixed.configurations()),
        hasLock: keys.locks.length > 0,
        unreadableRedbeat: unreadable,
        problem: isCutOff() ? problem : null,
        nextDue: earliest(list()),
        isAlive: observer.isAlive(now),
        entries: ofRedbeat ? (snapshot?.total ?? null) : fixed.entries().size,
        unreadable: ofRedbeat ? (snapshot?.unreadable ?? 0) : fixed.unreadable(),
        timezone: zone(),
        now,
      });
    },
    observe: (change) => observer.observe(change),
    refresh,
    enabled,
    problem: () => problem,
    close() {
      closed = true;
    },
  };
}

function earliest(list: readonly Schedule[]): number | null {
  let first: number | null = null;
  for (const { nextRunAt } of list) {
    const time = nextRunAt?.getTime() ?? Number.POSITIVE_INFINITY;
    if (time < (first ?? Number.POSITIVE_INFINITY)) first = time;
  }
  return first;
}
