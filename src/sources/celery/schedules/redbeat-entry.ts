/**
 * Reads an entry as redbeat stores it (`RedBeatSchedulerEntry.save` in redbeat/schedulers.py, and its
 * decoder.py).
 */
import type { Schedule } from '../../../model.ts';
import { filledString, isRecord } from '../../../values.ts';
import { objectMembers, valueEnd } from '../protocol/json-text.ts';
import { pythonText, pythonTupleText } from '../protocol/python-repr.ts';
import { isTimeZone, momentOf } from '../zones.ts';
import type { ScheduleRule } from './rule.ts';
import { readSchedule } from './schedule-text.ts';

/** An entry, and what it reveals about the app's time zone. */
export interface RedbeatEntry {
  /** With the next run as redbeat has stored it. */
  readonly schedule: Omit<Schedule, 'timezone'>;
  readonly rule: ScheduleRule;
  /** The start of the interval to the next run: the last run, or when the entry was created. */
  readonly countedFrom: Date | null;
  /** The zone in which its last run was written, which is the app's. */
  readonly appTimezone: string | null;
  /** Whether its last run was written with an offset from UTC, which no app in UTC does. */
  readonly isOffUtc: boolean;
  /** Arguments as events show them, if the entry's options contain them. */
  readonly shownArgs: string | null;
  readonly shownKwargs: string | null;
}

/** Longest text kept of arguments, in characters. */
const LONGEST = 65_536;

/**
 * @param score when it is due, seconds since 1970; -1: it never will be again
 * @returns `null` when it cannot be read
 */
export function redbeatEntry(
  key: string,
  prefix: string,
  score: string,
  definition: string,
  meta: string | null,
): RedbeatEntry | null {
  try {
    return readEntry(key, prefix, score, definition, meta);
  } catch {
    return null;
  }
}

function readEntry(
  key: string,
  prefix: string,
  score: string,
  definition: string,
  meta: string | null,
): RedbeatEntry {
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
  const { queue, argsrepr, kwargsrepr } = optionsIn(member('options'));
  const runs = readMeta(meta);
  const due = Number(score);
  return {
    schedule: {
      id: key,
      app: null,
      name: filledString(member('name')) ?? (key.startsWith(prefix) ? key.slice(prefix.length) : key),
      task: filledString(member('task')),
      schedule: rule.text,
      enabled,
      args: shown('args', pythonTupleText, '()'),
      kwargs: shown('kwargs', pythonText, '{}'),
      queue: filledString(queue),
      lastRunAt: runs.count > 0 ? runs.last : null,
      nextRunAt: enabled && due >= 0 && due < 1e11 ? new Date(due * 1000) : null,
      totalRunCount: runs.count,
    },
    rule,
    countedFrom: runs.last,
    appTimezone: runs.zone,
    isOffUtc: runs.isOffUtc,
    shownArgs: filledString(argsrepr),
    shownKwargs: filledString(kwargsrepr),
  };
}

function optionsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

interface Runs {
  readonly last: Date | null;
  readonly count: number;
  readonly zone: string | null;
  readonly isOffUtc: boolean;
}

/** The meta of an entry that has never run contains the time at which it was saved, and no count. */
function readMeta(text: string | null): Runs {
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
function readMoment(moment: Readonly<Record<string, unknown>>): Date | null {
  const { year, month, day, hour = 0, minute = 0, second = 0, microsecond = 0, timezone = 'UTC' } = moment;
  const [y, mo, d, h, m, s, us] = [year, month, day, hour, minute, second, microsecond].map(Number);
  const local = Date.UTC(y ?? 0, (mo ?? 0) - 1, d, h, m, s, Math.floor((us ?? 0) / 1000));
  if (Number.isNaN(local)) return null;
  let time = Number.NaN;
  if (typeof timezone === 'number') time = local - timezone * 1000;
  else if (isTimeZone(timezone)) time = momentOf(local, timezone);
  return Number.isNaN(new Date(time).getTime()) ? null : new Date(time);
}
