/** The schedule of redbeat: what is read, and its rows. */
import type { Schedule } from '../../../model.ts';
import { type Run, type StoredEntries, scheduleRow } from './entry.ts';
import type { RedbeatEntry } from './redbeat-entry.ts';
import { runAfter } from './rule.ts';

/** Reads redbeat's schedule. */
export interface RedbeatReader {
  /** @throws an error whose `problem` is a `Problem` when Redis is unreachable, late or refuses */
  read(): Promise<RedbeatSnapshot>;
}

/** The content of redbeat's keys. The entries that are due next come first. */
export interface RedbeatSnapshot extends StoredEntries<RedbeatEntry> {
  /** Milliseconds until the lock expires; `null` if it is free. */
  readonly lockMs: number | null;
}

/** Where redbeat stores its schedule. */
export interface RedbeatPlace {
  /** `null` if there is no such place, or it cannot be read. */
  readonly reader: RedbeatReader | null;
  /** Why it cannot be read, and what to write; `null` if it can. */
  readonly unreadable: string | null;
}

/**
 * The zone of the app. Beat writes times in it: a zone that it has written is more reliable than the configured one.
 *
 * @param configured the zone by the configuration, or by default
 */
export function appTimezone(entries: readonly RedbeatEntry[], configured: string | null): string | null {
  const written = new Set(entries.flatMap(({ appTimezone }) => appTimezone ?? []));
  if (written.size === 1) return [...written][0] ?? null;
  return configured === 'UTC' && entries.some(({ isOffUtc }) => isOffUtc) ? null : configured;
}

/**
 * Redbeat stores the next run in whole seconds, and too early by the time between the last run and its storing
 * (`due_at` in redbeat/schedulers.py), which is long after a restart of beat. At the stored time it examines
 * the entry, and runs it when its rule is due.
 *
 * @param appTimezone that of the app
 */
export function redbeatRow(entry: RedbeatEntry, appTimezone: string | null, runs: readonly Run[]): Schedule {
  const { rule, dueAt, countedFrom, lastRunAt: last, totalRunCount: count } = entry;
  const zone = rule.timezone ?? appTimezone;
  const computed = dueAt === null || countedFrom === null ? null : runAfter(rule, countedFrom, zone);
  return scheduleRow(entry, zone, { last, next: computed ?? dueAt, count }, runs);
}
