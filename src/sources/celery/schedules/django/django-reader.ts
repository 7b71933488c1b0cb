/** Reads the tables of django-celery-beat. */
import { type Steps, scheduler } from '../../../../scheduler.ts';
import type { Problem } from '../../hint.ts';
import { numberOf, type SqlReader, type SqlRow, textOf, timeOf } from '../../sql/sql-reader.ts';
import type { StoredEntries } from '../entry.ts';
import type { Configuration } from '../redbeat-settings.ts';
import {
  type DjangoClock,
  type DjangoEntry,
  djangoClock,
  djangoEntry,
  FIELDS,
  LONGEST_ARGUMENTS,
} from './django-entry.ts';

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
