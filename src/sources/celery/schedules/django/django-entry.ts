/** An entry of django-celery-beat, as its tables have it (`PeriodicTask` in django_celery_beat/models.py). */
import { filledString } from '../../../../values.ts';
import { skipSpace } from '../../protocol/python-json.ts';
import { pythonText, pythonTupleText } from '../../protocol/python-repr.ts';
import { flagOf, numberOf, type SqlRow, textOf, timeOf } from '../../sql/sql-reader.ts';
import { type ScheduleEntry, type ScheduleRule, shownRule } from '../entry.ts';
import type { Configuration } from '../redbeat-settings.ts';
import { readSchedule } from '../schedule-text.ts';

/** An entry. Times in milliseconds since 1970. */
export interface DjangoEntry extends ScheduleEntry {
  /** Whether it runs only once, after which beat disables it. */
  readonly isOneOff: boolean;
  /** The time of a clocked schedule; `null` for every other. */
  readonly clockedAt: number | null;
  /** It does not run before. */
  readonly startAt: number | null;
  /** It does not run at or after this time. */
  readonly expiresAt: number | null;
  /** As beat has stored it, which it does about every three minutes; `null`: never, or it is disabled. */
  readonly lastRunAt: number | null;
  readonly totalRunCount: number;
  /** When the row was last written; `null` if unknown. */
  readonly changedAt: number | null;
}

/** How times and crontabs of this app are read. */
export interface DjangoClock {
  /** The zone of times that are stored without one. */
  readonly timezone: string;
  /** The same for times that beat compares. */
  readonly beatTimezone: string;
  /** Whether each crontab is read in a zone of its own. */
  readonly hasOwnZones: boolean;
  /** The zone of all crontabs without their own zone; `null` if unknown. */
  readonly appTimezone: string | null;
}

/** Most characters read of arguments. */
export const LONGEST_ARGUMENTS = 8192;

/**
 * With `DJANGO_CELERY_BEAT_TZ_AWARE = False`, beat reads times without a zone as UTC, and reads crontabs in the app's
 * `timezone`.
 *
 * @param timezone of times that are stored without one
 */
export function djangoClock(settings: Configuration, timezone: string): DjangoClock {
  const hasOwnZones = settings.DJANGO_CELERY_BEAT_TZ_AWARE !== false;
  return {
    timezone,
    beatTimezone: hasOwnZones ? timezone : 'UTC',
    hasOwnZones,
    appTimezone: filledString(settings.timezone),
  };
}

/**
 * @param row with the columns that `django-reader.ts` selects
 * @returns `null` when it cannot be read
 */
export function djangoEntry(row: SqlRow, clock: DjangoClock): DjangoEntry | null {
  const [id, name] = [textOf(row, 'id'), filledString(textOf(row, 'name'))];
  if (id === null || name === null) return null;
  const time = (column: string): number | null => timeOf(row, column, clock.beatTimezone);
  const kind = kindOf(row);
  const limits: Limits = {
    isOneOff: flagOf(row, 'one_off') === true,
    startAt: time('start_time'),
    expiresAt: time('expires'),
  };
  const clockedAt = kind === 'clocked' ? time('clocked_time') : null;
  const rule = clockedAt === null ? ruleOf(row, kind, clock) : shownRule(`at ${secondsText(clockedAt)}`);
  return {
    id: `django_celery_beat:${id}`,
    name,
    task: filledString(textOf(row, 'task')),
    rule: {
      ...rule,
      text: limitedText(rule.text, clockedAt === null ? limits : { ...limits, isOneOff: false }),
    },
    enabled: flagOf(row, 'enabled') !== false,
    args: shown(textOf(row, 'args'), '()', pythonTupleText),
    kwargs: shown(textOf(row, 'kwargs'), '{}', pythonText),
    shownArgs: null,
    shownKwargs: null,
    queue: filledString(textOf(row, 'queue')),
    timezone: rule.timezone,
    ...limits,
    clockedAt,
    lastRunAt: time('last_run_at'),
    totalRunCount: Math.max(0, numberOf(row, 'total_run_count') ?? 0),
    changedAt: timeOf(row, 'date_changed', clock.timezone),
  };
}

type Kind = 'interval' | 'crontab' | 'solar' | 'clocked';
type Limits = Pick<DjangoEntry, 'isOneOff' | 'startAt' | 'expiresAt'>;

const KINDS: readonly Kind[] = ['interval', 'crontab', 'solar', 'clocked'];

/** Of several schedules, beat takes the first. */
function kindOf(row: SqlRow): Kind | null {
  return KINDS.find((kind) => textOf(row, `${kind}_id`) !== null) ?? null;
}

function ruleOf(row: SqlRow, kind: Kind | null, clock: DjangoClock): ScheduleRule {
  if (kind === 'interval') {
    return readSchedule({ every: numberOf(row, 'every'), period: textOf(row, 'period') });
  }
  if (kind === 'solar') {
    const [lat, lon] = [numberOf(row, 'latitude'), numberOf(row, 'longitude')];
    return readSchedule({ event: textOf(row, 'event'), lat, lon });
  }
  if (kind !== 'crontab') return shownRule(null);
  const fields = FIELDS.map((field) => [field, textOf(row, field) ?? '*']);
  const timezone = clock.hasOwnZones ? textOf(row, 'timezone') : clock.appTimezone;
  return readSchedule({ ...Object.fromEntries(fields), timezone });
}

/** The columns of a crontab. */
export const FIELDS = ['minute', 'hour', 'day_of_month', 'month_of_year', 'day_of_week'] as const;

function limitedText(text: string | null, { isOneOff, startAt, expiresAt }: Limits): string | null {
  if (text === null) return null;
  const once = isOneOff ? ', once' : '';
  const start = startAt === null ? '' : `, from ${secondsText(startAt)}`;
  const end = expiresAt === null ? '' : `, until ${secondsText(expiresAt)}`;
  return `${text}${once}${start}${end}`;
}

/** `2026-11-23T01:02:03Z` */
function secondsText(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Arguments as Python shows them; text that is cut or not JSON stays as it is. */
function shown(json: string | null, none: string, show: typeof pythonText): string {
  if (json === null || json.trim() === '') return none;
  if (json.length > LONGEST_ARGUMENTS) return `${json.slice(0, LONGEST_ARGUMENTS)}…`;
  try {
    return show(json, skipSpace(json, 0), LONGEST_ARGUMENTS);
  } catch {
    return json;
  }
}
