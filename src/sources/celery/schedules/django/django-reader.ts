/** Reads the tables of django-celery-beat. */
import { type Steps, scheduler } from '../../../../scheduler.ts';
import { filledString } from '../../../../values.ts';
import type { Problem } from '../../hint.ts';
import { skipSpace } from '../../protocol/python-json.ts';
import { pythonText, pythonTupleText } from '../../protocol/python-repr.ts';
import type { Configuration } from '../../settings.ts';
import { flagOf, numberOf, type SqlReader, type SqlRow, textOf, timeOf } from '../../sql/sql-reader.ts';
import { type ScheduleEntry, type ScheduleRule, type StoredEntries, shownRule } from '../entry.ts';
import { readSchedule } from '../schedule-text.ts';

/** Reads the schedule of django-celery-beat. */
export interface DjangoReader {
  /**
   * Reads the entries, unless nothing has changed.
   *
   * @throws an error whose `problem` is a `Problem` when the database is unreachable, late or refuses
   */
  read(): Promise<DjangoSnapshot>;
}

/** The content of the tables; nothing where there are none. Of very many entries, some enabled ones are read. */
export interface DjangoSnapshot extends StoredEntries<DjangoEntry> {
  /** When any entry was last changed, other than by beat, milliseconds since 1970; `null` if unknown. */
  readonly updatedAt: number | null;
  /** The last run of any entry that beat has stored; `null`: none. */
  readonly storedUntil: number | null;
}

/** Most entries read, and most of one statement. */
const MOST_ENTRIES = 5000;
const PAGE = 500;
/** How often to read everything although nothing seems to have changed, in milliseconds. */
const FULL_MS = 60_000;
/** How often to look for tables that do not exist, in milliseconds. */
const MISSING_MS = 60_000;

const EMPTY: DjangoSnapshot = {
  entries: [],
  total: 0,
  unreadable: 0,
  updatedAt: null,
  storedUntil: null,
};

interface State {
  readonly reader: SqlReader;
  readonly clock: DjangoClock;
  /** The result of {@link readMark} when everything was last read, and its `last_update`. */
  mark: string | null;
  updated: string | null;
  /** Monotonic milliseconds. */
  readAt: number;
  /** Since when the tables are known not to exist; `null`: they exist, or were not searched. */
  missingSince: number | null;
  snapshot: DjangoSnapshot;
  /** By id: the row as JSON, and the entry read from it. */
  rows: ReadonlyMap<string, KnownRow>;
}

interface KnownRow {
  readonly print: string;
  readonly entry: DjangoEntry | null;
}

/** Each reading asks first whether anything has changed, which is one row. */
export function createDjangoReader(reader: SqlReader, settings: Configuration): DjangoReader {
  const state: State = {
    reader,
    clock: djangoClock(settings, reader.options.timezone),
    mark: null,
    updated: null,
    readAt: Number.NEGATIVE_INFINITY,
    missingSince: null,
    snapshot: EMPTY,
    rows: new Map(),
  };
  return { read: () => read(state) };
}

async function read(state: State): Promise<DjangoSnapshot> {
  const now = performance.now();
  if (state.missingSince !== null && now - state.missingSince < MISSING_MS) return EMPTY;
  try {
    // Counting reads the whole table, which is not done each time with many entries.
    const isMany = state.snapshot.total > MOST_ENTRIES;
    if (isMany && now - state.readAt < FULL_MS && (await readUpdated(state)) === state.updated)
      return state.snapshot;
    const mark = await readMark(state);
    state.missingSince = null;
    if (mark.text !== state.mark || now - state.readAt >= FULL_MS) await readAll(state, mark);
  } catch (error) {
    if ((error as { readonly problem?: Problem }).problem?.code !== 'NOTABLE') throw error;
    state.missingSince = now;
    state.mark = null;
    state.snapshot = EMPTY;
  }
  return state.snapshot;
}

interface Mark {
  readonly text: string;
  readonly updated: string | null;
  readonly total: number;
  readonly updatedAt: number | null;
}

/** `last_update` changes when a user changes an entry, and `date_changed` also when beat stores a run. */
async function readMark({ reader, clock }: State): Promise<Mark> {
  const { dialect, options } = reader;
  const time = (column: string): string => dialect.time(`MAX(${dialect.column(column)})`, WITH_ZONE);
  const tasks = dialect.table(options.tables.django_celery_beat_periodictask);
  const changes = dialect.table(options.tables.django_celery_beat_periodictasks);
  const [row = {}] = await reader.select({
    text:
      `SELECT (SELECT ${time('last_update')} FROM ${changes}) AS updated, ${time('date_changed')} AS changed, ` +
      `COUNT(*) AS total FROM ${tasks}`,
    limit: 1,
  });
  return {
    text: JSON.stringify([textOf(row, 'updated'), textOf(row, 'changed'), textOf(row, 'total')]),
    updated: textOf(row, 'updated'),
    total: numberOf(row, 'total') ?? 0,
    updatedAt: timeOf(row, 'updated', clock.timezone),
  };
}

/** When a user last changed an entry: the only row of its table. */
async function readUpdated({ reader }: State): Promise<string | null> {
  const { dialect, options } = reader;
  const changes = dialect.table(options.tables.django_celery_beat_periodictasks);
  const time = dialect.time(`MAX(${dialect.column('last_update')})`, WITH_ZONE);
  const [row = {}] = await reader.select({ text: `SELECT ${time} AS updated FROM ${changes}`, limit: 1 });
  return textOf(row, 'updated');
}

/** The type of every date of Django in PostgreSQL. */
const WITH_ZONE = 'timestamp with time zone';

async function readAll(state: State, mark: Mark): Promise<void> {
  const rows = new Map<string, KnownRow>();
  let from = '0';
  for (let count = 0; count < MOST_ENTRIES; count += PAGE) {
    const page = await readPage(state, from, mark.total > MOST_ENTRIES);
    await scheduler.run('schedules', takePage(state, page, rows));
    if (page.length < PAGE) break;
    from = [...rows.keys()].at(-1) ?? from;
  }
  const entries = [...rows.values()].flatMap(({ entry }) => entry ?? []);
  state.rows = rows;
  state.snapshot = {
    entries,
    total: mark.total,
    unreadable: rows.size - entries.length,
    updatedAt: mark.updatedAt,
    storedUntil: entries.reduce<number | null>((last, { lastRunAt }) => later(last, lastRunAt), null),
  };
  state.mark = mark.text;
  state.updated = mark.updated;
  state.readAt = performance.now();
}

function* takePage(
  { rows: before, clock }: State,
  page: readonly SqlRow[],
  rows: Map<string, KnownRow>,
): Steps<void> {
  for (const row of page) {
    yield;
    const id = textOf(row, 'id') ?? '';
    const print = JSON.stringify(row, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    const known = before.get(id);
    rows.set(id, known?.print === print ? known : { print, entry: djangoEntry(row, clock) });
  }
}

function later(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

const PLAIN = ['id', 'name', 'task', 'queue', 'enabled', 'one_off', 'total_run_count'];
const REFERENCES = ['interval_id', 'crontab_id', 'solar_id', 'clocked_id'];
const TIMES = ['last_run_at', 'start_time', 'expires', 'date_changed'];

function readPage({ reader }: State, from: string, onlyEnabled: boolean): Promise<readonly SqlRow[]> {
  const { dialect, options } = reader;
  const column = (table: string, name: string): string => `${table}.${dialect.column(name)}`;
  const plain = (table: string, names: readonly string[]): string[] =>
    names.map((name) => `${column(table, name)} AS ${dialect.column(name)}`);
  const times = (table: string, names: readonly string[]): string[] =>
    names.map((name) => `${dialect.time(column(table, name), WITH_ZONE)} AS ${dialect.column(name)}`);
  const head = (name: string): string =>
    `${dialect.head(column('p', name), LONGEST_ARGUMENTS + 1)} AS ${dialect.column(name)}`;
  const join = (table: keyof typeof options.tables, alias: string, reference: string): string =>
    `LEFT JOIN ${dialect.table(options.tables[table])} ${alias} ON ${column(alias, 'id')} = ${column('p', reference)}`;
  const columns = [
    ...plain('p', [...PLAIN, ...REFERENCES]),
    ...times('p', TIMES),
    ...['args', 'kwargs'].map(head),
    ...plain('i', ['every', 'period']),
    ...plain('c', [...FIELDS, 'timezone']),
    ...plain('s', ['event', 'latitude', 'longitude']),
    ...times('k', ['clocked_time']),
  ];
  const text = [
    `SELECT ${columns.join(', ')} FROM ${dialect.table(options.tables.django_celery_beat_periodictask)} p`,
    join('django_celery_beat_intervalschedule', 'i', 'interval_id'),
    join('django_celery_beat_crontabschedule', 'c', 'crontab_id'),
    join('django_celery_beat_solarschedule', 's', 'solar_id'),
    join('django_celery_beat_clockedschedule', 'k', 'clocked_id'),
    `WHERE ${column('p', 'id')} > ${dialect.integerValue}`,
    ...(onlyEnabled ? [`AND ${column('p', 'enabled')}`] : []),
    `ORDER BY ${column('p', 'id')}`,
  ].join(' ');
  return reader.select({ text, values: [from], limit: PAGE });
}

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
interface DjangoClock {
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
const LONGEST_ARGUMENTS = 8192;

/**
 * With `DJANGO_CELERY_BEAT_TZ_AWARE = False`, beat reads times without a zone as UTC, and reads crontabs in the app's
 * `timezone`.
 *
 * @param timezone of times that are stored without one
 */
function djangoClock(settings: Configuration, timezone: string): DjangoClock {
  const hasOwnZones = settings.DJANGO_CELERY_BEAT_TZ_AWARE !== false;
  return {
    timezone,
    beatTimezone: hasOwnZones ? timezone : 'UTC',
    hasOwnZones,
    appTimezone: filledString(settings.timezone),
  };
}

/**
 * An entry as its tables have it (`PeriodicTask` in django_celery_beat/models.py).
 *
 * @param row with the columns that {@link readPage} selects
 * @returns `null` when it cannot be read
 */
function djangoEntry(row: SqlRow, clock: DjangoClock): DjangoEntry | null {
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
const FIELDS = ['minute', 'hour', 'day_of_month', 'month_of_year', 'day_of_week'] as const;

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
