/** Conditions of a list as SQL. A prefix is a range of the column, which an index has and which distinguishes case. */
import { isFigureCondition, type TaskCondition, type TextCondition } from '../../source/task-condition.ts';
import type { SqlDialect, SqlValue } from './sql-database.ts';
import { prefixesInColumn, toColumn } from './text-key.ts';

const COLUMNS: Readonly<Record<string, string>> = {
  ...{ state: 'state', name: 'name', worker: 'worker', queue: 'queue', id: 'id' },
  runtime: 'runtime',
};
/** Every row has them. */
const KNOWN: ReadonlySet<string> = new Set(['state', 'id']);
const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/**
 * @param bind binds a value. @returns how the statement calls it
 * @returns `null`: no column for the condition exists
 */
export function conditionSql(
  condition: TaskCondition,
  dialect: SqlDialect,
  bind: (value: SqlValue) => string,
): string | null {
  const column = COLUMNS[condition.field];
  if (column === undefined) return null;
  if (isFigureCondition(condition)) return `${column} ${SIGNS[condition.comparison]} ${bind(condition.than)}`;
  const some = `(${alternatives(condition, column, dialect, bind).join(' OR ')})`;
  if (!condition.isNegated) return some;
  return KNOWN.has(column) ? `NOT ${some}` : `(${column} IS NULL OR NOT ${some})`;
}

function alternatives(
  { values, prefixes }: TextCondition,
  column: string,
  dialect: SqlDialect,
  bind: (value: SqlValue) => string,
): readonly string[] {
  const wanted = values.map(toColumn);
  const [only] = wanted;
  const exact =
    only === undefined
      ? []
      : wanted.length === 1
        ? [`${column} = ${bind(only)}`]
        : [dialect.isAny(column, Number(bind(wanted).slice(1)))];
  const ranges = prefixes.flatMap(prefixesInColumn).map((prefix) => {
    const from = `${column} >= ${bind(prefix)}`;
    const end = behindAll(prefix);
    return end === null ? from : `(${from} AND ${column} < ${bind(end)})`;
  });
  return [...exact, ...ranges];
}

const LAST = 0x10_ffff;
/** Between these, there are no characters. */
const [BEFORE_HALVES, BEHIND_HALVES] = [0xd7ff, 0xe000];

/** The first text, by code points, after all that begin with a prefix; `null`: there is none. */
function behindAll(prefix: string): string | null {
  const characters = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (characters.at(-1) === LAST) characters.pop();
  const last = characters.pop();
  if (last === undefined) return null;
  return String.fromCodePoint(...characters, last === BEFORE_HALVES ? BEHIND_HALVES : last + 1);
}
