/** Where the failures of a query are found: in tasks, and in the kept sums of dropped ones. */
import type { FailureQuery } from '../../history/cause-store.ts';
import { DAY_MS, firstCountedDay, HOUR_MS, LEVEL } from './keep-failures.ts';
import { DAY_HOURS } from './schema.ts';
import type { SourceDatabase } from './source-database.ts';
import type { SqlValue } from './sql-database.ts';
import { toColumn } from './text-key.ts';

/** The hours of a day. */
const HOURS = Array.from({ length: DAY_HOURS }, (_, hour) => hour);

/** Most days that are listed one by one. */
const MOST_DAYS = 100;

/** Parts of statements, whose first value is the number of the source. */
export interface FailureRows {
  /** The other values. */
  readonly values: readonly SqlValue[];
  readonly ofTasks: string;
  readonly ofSums: string;
  /** How many failures a row of sums has in the window. */
  readonly failed: string;
  /** When the last of them was, or the start of its hour if only that is known. */
  readonly last: string;
  /** As `failed`, in each part of the day of so many hours. */
  failedBy(hours: number): readonly string[];
}

/** @param causes `null`: all */
export function failuresOf(
  { database: { dialect }, names: tables }: SourceDatabase,
  { from, to, names, queues, workers }: FailureQuery,
  causes: readonly string[] | null,
): FailureRows {
  const values: SqlValue[] = [from, to];
  const conditions = (wanted: Readonly<Record<string, readonly string[]>>): string[] =>
    Object.entries(wanted).flatMap(([column, texts]) =>
      texts.length === 0 ? [] : [dialect.isAny(column, values.push(texts.map(toColumn)) + 1)],
    );
  const filters = conditions({ name: names, queue: queues, worker: workers });
  const ofCauses = conditions({ cause: causes ?? [] });
  // Sums that are not separated by name may be of any name.
  const ofParts = filters.length === 0 ? [] : [`(cause = '' OR ${filters.join(' AND ')})`];
  const of = (table: string, all: readonly string[]): string =>
    `FROM ${table} WHERE ${['source_id = $1', ...all, ...ofCauses].join(' AND ')}`;
  const kept = ["state = 'FAILURE'", "cause > ''", `day >= ${firstCountedDay(tables)}`];
  const level = filters.length === 0 ? LEVEL.cause : LEVEL.part;
  const cut = createCut(from, to);
  const days = daysOf(from, to);
  // For some causes, the key finds each day and cause separately, without reading all causes.
  const isListed = causes !== null && days.length <= MOST_DAYS;
  const daysOfWindow = [
    `start_at > CAST($2 AS ${dialect.type('real')}) - ${DAY_MS}`,
    'start_at < $3',
    ...(isListed ? [`start_at IN (${days.join(', ')})`] : []),
  ];
  return {
    values,
    ofTasks: of(tables.task, [...kept, 'changed >= $2', 'changed < $3', ...filters]),
    ofSums: of(tables.failures, [`level = ${level}`, ...daysOfWindow, ...ofParts]),
    failed: cut.failed(HOURS),
    last: cut.last,
    failedBy: (hours) =>
      HOURS.filter((hour) => hour % hours === 0).map((first) =>
        cut.failed(HOURS.slice(first, first + hours)),
      ),
  };
}

/** When the days of a window begin; more than {@link MOST_DAYS} are not listed. */
function daysOf(from: number, to: number): number[] {
  const days: number[] = [];
  for (let day = floorDay(from); day < to && days.length <= MOST_DAYS; day += DAY_MS) days.push(day);
  return days;
}

function floorDay(time: number): number {
  return Math.floor(time / DAY_MS) * DAY_MS;
}

/** For the days at both ends of a window, the hours that begin in it. */
function createCut(
  from: number,
  to: number,
): Pick<FailureRows, 'last'> & { failed(hours: readonly number[]): string } {
  const edges = [...new Set([from, to].map(floorDay))].filter((day) => day < from || day + DAY_MS > to);
  const isInside = (day: number, hour: number): boolean => {
    const start = day + hour * HOUR_MS;
    return start >= from && start < to;
  };
  const sum = (hours: readonly number[]): string => {
    if (hours.length === DAY_HOURS) return 'failed';
    return hours.map((hour) => `coalesce(hour_${hour}, 0)`).join(' + ') || '0';
  };
  const choose = (cases: readonly string[], other: string): string =>
    cases.length === 0 ? other : `CASE ${cases.join(' ')} ELSE ${other} END`;
  const hoursOf = (day: number): number[] => HOURS.filter((hour) => isInside(day, hour));
  const cutShort = edges.filter((day) => day < to && day + DAY_MS > to);
  return {
    failed: (hours) =>
      choose(
        edges.map((day) => `WHEN start_at = ${day} THEN ${sum(hours.filter((hour) => isInside(day, hour)))}`),
        sum(hours),
      ),
    last: choose(
      cutShort.flatMap((day) => {
        const inside = hoursOf(day);
        const end = day + ((inside.at(-1) ?? -1) + 1) * HOUR_MS;
        return inside
          .toReversed()
          .map(
            (hour) =>
              `WHEN start_at = ${day} AND last_at >= ${end} AND hour_${hour} > 0 THEN start_at + ${hour * HOUR_MS}`,
          );
      }),
      'last_at',
    ),
  };
}
