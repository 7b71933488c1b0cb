/** The schedule of redbeat: the data that was read, and what follows from it. */
import type { Schedule } from '../../../model.ts';
import { filledString } from '../../../values.ts';
import type { CelerySettings } from '../settings.ts';
import { createReading, type Reading } from './reading.ts';
import type { RedbeatReader, RedbeatSnapshot } from './redbeat.ts';
import type { RedbeatEntry } from './redbeat-entry.ts';
import { type Configuration, namesRedbeat, type RedbeatKeys, redbeatKeys } from './redbeat-settings.ts';
import { redbeatSchedule, scheduleRuns } from './rows.ts';
import type { RunObserver } from './run-observer.ts';
import type { StaticEntry } from './static-entry.ts';

/** Where redbeat stores its schedule. */
export interface RedbeatOptions {
  /** `null` if there is no such place, or it cannot be read. */
  readonly reader: RedbeatReader | null;
  /** Why it cannot be read, and what to write; `null` if it can. */
  readonly unreadable: string | null;
}

/** The state of redbeat that was read. */
export interface RedbeatSchedule {
  readonly reading: Reading<RedbeatSnapshot>;
  readonly keys: RedbeatKeys;
  readonly unreadable: string | null;
  /** Rows that were shown: finding the next run of a crontab takes some time. */
  readonly shown: WeakMap<RedbeatEntry, Schedule>;
  /** The entries that it runs, by the last snapshot. */
  enabled: EnabledEntries | null;
}

interface EnabledEntries {
  readonly snapshot: RedbeatSnapshot;
  readonly timezone: string | null;
  readonly entries: ReadonlyMap<string, StaticEntry>;
}

/** Nothing is read before `reading.refresh`. */
export function createRedbeatSchedule(
  { reader, unreadable }: RedbeatOptions,
  settings: CelerySettings,
): RedbeatSchedule {
  return {
    reading: createReading(reader === null ? null : () => reader.read()),
    keys: redbeatKeys(settings),
    unreadable,
    shown: new WeakMap(),
    enabled: null,
  };
}

/** @param configurations those of the app */
export function usesRedbeat(
  { reading: { snapshot } }: RedbeatSchedule,
  configurations: readonly Configuration[],
): boolean {
  return (
    configurations.some(namesRedbeat) ||
    (snapshot !== null && (snapshot.total > 0 || snapshot.lockMs !== null))
  );
}

/** A Redis user without permission for redbeat's keys is only a problem if a setting names redbeat. */
export function isRedbeatCutOff(redbeat: RedbeatSchedule, configurations: readonly Configuration[]): boolean {
  const { problem, snapshot } = redbeat.reading;
  if (problem === null || (snapshot !== null && !usesRedbeat(redbeat, configurations))) return false;
  return problem.code !== 'NOPERM' || configurations.some(namesRedbeat);
}

/** @param timezone that of the app */
export function redbeatRows(
  { reading, shown }: RedbeatSchedule,
  timezone: string | null,
  observer: RunObserver,
): Schedule[] {
  return (reading.snapshot?.entries ?? []).map((entry) => {
    const known = shown.get(entry);
    const isShown = known !== undefined && known.timezone === (entry.rule.timezone ?? timezone);
    const row = isShown ? known : redbeatSchedule(entry, timezone);
    shown.set(entry, row);
    return { ...row, lastRuns: scheduleRuns(observer.lastRuns(row.id)) };
  });
}

/**
 * The entries that redbeat runs, by the key under which it stores them: the same object while they are the same.
 * `null`: they have not been read.
 *
 * @param timezone that of the app
 */
export function redbeatEntries(
  redbeat: RedbeatSchedule,
  timezone: string | null,
): ReadonlyMap<string, StaticEntry> | null {
  const { snapshot } = redbeat.reading;
  if (snapshot === null) return null;
  const known = redbeat.enabled;
  if (known?.snapshot === snapshot && known.timezone === timezone) return known.entries;
  const enabled = snapshot.entries.filter(({ schedule }) => schedule.enabled === true);
  const entries = new Map(
    enabled.map((entry) => [entry.schedule.id, watchedEntry(entry, timezone)] as const),
  );
  redbeat.enabled = { snapshot, timezone, entries };
  return entries;
}

function watchedEntry(entry: RedbeatEntry, timezone: string | null): StaticEntry {
  const { schedule, rule, shownArgs, shownKwargs } = entry;
  const { name, task = null, args, kwargs, queue = null } = schedule;
  return {
    name,
    task,
    rule,
    enabled: true,
    queue,
    shownArgs,
    shownKwargs,
    args: filledString(args) ?? '()',
    kwargs: filledString(kwargs) ?? '{}',
    timezone: rule.timezone ?? timezone,
  };
}
