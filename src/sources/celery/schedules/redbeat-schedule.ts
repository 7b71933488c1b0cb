/** The schedule of redbeat: settings (https://redbeat.readthedocs.io/en/latest/config.html), entries, and their rows. */
import type { Schedule } from '../../../model.ts';
import { filledString, isRecord } from '../../../values.ts';
import { objectMembers, valueEnd } from '../protocol/python-json.ts';
import { pythonText, pythonTupleText } from '../protocol/python-repr.ts';
import type { Configuration } from '../settings.ts';
import { isTimeZone, momentOf } from '../zones.ts';
import { type Run, runAfter, type ScheduleEntry, type StoredEntries, scheduleRow } from './entry.ts';
import { readSchedule } from './schedule-text.ts';

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

/** An entry, and what it reveals about the app's time zone. Times in milliseconds since 1970. */
export interface RedbeatEntry extends ScheduleEntry {
  /** `null`: it has never run. */
  readonly lastRunAt: number | null;
  readonly totalRunCount: number;
  /** The next run as redbeat has stored it; `null`: none. */
  readonly dueAt: number | null;
  /** The start of the interval to the next run: the last run, or when the entry was created. */
  readonly countedFrom: number | null;
  /** The zone in which its last run was written, which is the app's. */
  readonly appTimezone: string | null;
  /** Whether its last run was written with an offset from UTC, which no app in UTC does. */
  readonly isOffUtc: boolean;
}

/** Longest text kept of arguments, in characters. */
const LONGEST = 65_536;

/** An entry as Redis returns it. */
interface StoredEntry {
  readonly key: string;
  /** When it is due, seconds since 1970; -1: it never will be again. */
  readonly score: string;
  readonly definition: string;
  readonly meta: string | null;
}

/**
 * Reads an entry as redbeat stores it (`RedBeatSchedulerEntry.save` in redbeat/schedulers.py, and its decoder.py).
 *
 * @param prefix that of the keys of entries
 * @returns `null` when it cannot be read
 */
export function redbeatEntry(stored: StoredEntry, prefix: string): RedbeatEntry | null {
  try {
    return readEntry(stored, prefix);
  } catch {
    return null;
  }
}

function readEntry({ key, score, definition, meta }: StoredEntry, prefix: string): RedbeatEntry {
  const members = objectMembers(definition);
  function member(name: string): unknown {
    const at = members.get(name);
    return at === undefined ? undefined : JSON.parse(definition.slice(at, valueEnd(definition, at)));
  }
  function shown(name: string, show: typeof pythonText, none: string): string {
    const at = members.get(name);
    return at === undefined || definition.startsWith('null', at) ? none : show(definition, at, LONGEST);
  }
  const rule = readSchedule(member('schedule'));
  const enabled = member('enabled') !== false;
  const options = member('options');
  const { queue, argsrepr, kwargsrepr } = isRecord(options) ? options : {};
  const runs = readMeta(meta);
  const due = Number(score);
  return {
    id: key,
    name: filledString(member('name')) ?? (key.startsWith(prefix) ? key.slice(prefix.length) : key),
    task: filledString(member('task')),
    rule,
    enabled,
    args: shown('args', pythonTupleText, '()'),
    kwargs: shown('kwargs', pythonText, '{}'),
    shownArgs: filledString(argsrepr),
    shownKwargs: filledString(kwargsrepr),
    queue: filledString(queue),
    timezone: rule.timezone,
    lastRunAt: runs.count > 0 ? runs.last : null,
    totalRunCount: runs.count,
    dueAt: enabled && due >= 0 && due < 1e11 ? due * 1000 : null,
    countedFrom: runs.last,
    appTimezone: runs.zone,
    isOffUtc: runs.isOffUtc,
  };
}

/** The meta of an entry that has never run contains the time at which it was saved, and no count. */
function readMeta(text: string | null) {
  const meta: unknown = text === null || text === '' ? {} : JSON.parse(text);
  if (!isRecord(meta)) throw new SyntaxError('The meta is no object.');
  const { total_run_count: count, last_run_at: moment } = meta;
  const last = isRecord(moment) ? readMoment(moment) : null;
  const zone = isRecord(moment) ? moment.timezone : null;
  return {
    last,
    count: Number.isSafeInteger(count) ? Math.max(0, count as number) : 0,
    zone: isTimeZone(zone) ? zone : null,
    isOffUtc: typeof zone === 'number' && zone !== 0,
  };
}

/** `timezone` is the name of a zone, or an offset in seconds. */
function readMoment(moment: Readonly<Record<string, unknown>>): number | null {
  const { year, month, day, hour = 0, minute = 0, second = 0, microsecond = 0, timezone = 'UTC' } = moment;
  const [y, mo, d, h, m, s, us] = [year, month, day, hour, minute, second, microsecond].map(Number);
  const local = Date.UTC(y ?? 0, (mo ?? 0) - 1, d, h, m, s, Math.floor((us ?? 0) / 1000));
  if (Number.isNaN(local)) return null;
  let time = Number.NaN;
  if (typeof timezone === 'number') time = local - timezone * 1000;
  else if (isTimeZone(timezone)) time = momentOf(local, timezone);
  return Number.isNaN(new Date(time).getTime()) ? null : time;
}

/** The keys that redbeat writes. */
export type RedbeatKeys = ReturnType<typeof redbeatKeys>;

/** Celery's `beat_max_loop_interval` (celery/beat.py), which redbeat multiplies by five for its lock. */
const PAUSE = 300;

/** The keys, from the host's settings: workers hide names of keys in their answers. */
export function redbeatKeys(settings: Configuration) {
  const prefix = filledString(settings.redbeat_key_prefix) ?? 'redbeat:';
  return {
    prefix /** Sorted set of the keys of entries by the time that they are due. */,
    schedule: `${prefix}:schedule` /** Possible names of the lock of the running beat; none if locking is off. */,
    locks: locksOf(settings, prefix),
  };
}

function locksOf(settings: Configuration, prefix: string): string[] {
  if (!Object.hasOwn(settings, 'redbeat_lock_key')) return [`${prefix}:lock`];
  const name = filledString(settings.redbeat_lock_key);
  if (name === null) return [];
  // redbeat up to 2.2 uses the name without the prefix.
  return name.startsWith(prefix) ? [name] : [prefix + name, name];
}

/** @param configurations the configurations of the app; earlier ones take precedence */
export function redbeatTiming(configurations: readonly Configuration[]) {
  const teller = configurations.find(namesRedbeat);
  const pause = longestPause(configurations);
  const timeout = positive(first(configurations, 'redbeat_lock_timeout'));
  // A configuration that mentions redbeat omits settings with their default value.
  const usual = teller === undefined && pause === null ? null : (pause ?? PAUSE) * 5;
  return {
    /** Longest pause between two looks at the schedule. Default 300. */
    pause: pause ?? PAUSE /** Time-out of the lock, set at each look; `null` if unknown. */,
    lockTimeout: timeout ?? usual,
  };
}

/** `beat_max_loop_interval` of the app, in seconds; `null` if it is not set. */
export function longestPause(configurations: readonly Configuration[]): number | null {
  return positive(first(configurations, 'beat_max_loop_interval'));
}

/** Whether a configuration uses redbeat. */
export function namesRedbeat(configuration: Configuration): boolean {
  const scheduler = configuration.beat_scheduler;
  if (typeof scheduler === 'string' && scheduler.toLowerCase().includes('redbeat')) return true;
  return Object.keys(configuration).some((name) => name.toLowerCase().startsWith('redbeat_'));
}

/** Whether a configuration uses the scheduler of django-celery-beat. */
export function namesDjangoBeat({ beat_scheduler: scheduler }: Configuration): boolean {
  return typeof scheduler === 'string' && /^django$|^django_celery_beat\b/.test(scheduler);
}

/** The scheduler of a configuration, if its entries are stored in a place that is not read. */
export function foreignScheduler({ beat_scheduler: scheduler }: Configuration): string | null {
  if (typeof scheduler !== 'string' || /redbeat|^celery\.beat\b/i.test(scheduler)) return null;
  return scheduler.slice(0, 200) || null;
}

function first(configurations: readonly Configuration[], name: string): unknown {
  for (const configuration of configurations) {
    const value = configuration[name];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

function positive(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}
