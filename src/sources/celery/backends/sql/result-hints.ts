/** Hints about results that are hidden, with the remedy. */
import type { Hint } from '../../hint.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import { RESULT_TABLES, type ResultTables, type ResultWriter } from './result-tables.ts';

/** What is known about the results of a database. */
export interface ResultKnowledge {
  readonly reader: SqlReader;
  /** The configured writer; `null`: none is configured. */
  readonly writer: ResultWriter | null;
  /** `null`: not found, or not searched yet. */
  readonly tables: ResultTables | null;
  /** Whether tables were searched. */
  readonly hasLooked: boolean;
  /** How far the dates of new rows are behind the clock of the database, in milliseconds; 0: hardly. */
  readonly skew: number;
}

const TABLES = {
  django: [RESULT_TABLES.django, 'django_celery_results_groupresult', 'django_celery_results_chordcounter'],
  sqlalchemy: [RESULT_TABLES.sqlalchemy],
} as const;

/** The hint for a user who may not read tables, with the statement that grants it. */
export function deniedHint({ reader, writer, tables }: ResultKnowledge): Hint {
  const { dialect, options } = reader;
  const refused = tables?.refused ?? [];
  const names =
    refused.length > 0
      ? refused
      : TABLES[tables?.writer ?? writer ?? 'django'].map((name) => dialect.table(options.tables[name]));
  const what = refused.length > 0 ? 'groups and chords, which show as single tasks' : 'results';
  const sentence = `The user of the database may not read the tables of ${what}. Run ${grantLine(reader, names)}`;
  return { code: 'missing_right', component: 'backend', sentence };
}

/** Causes that hide results without any failure. */
export function resultHints(known: ResultKnowledge): readonly Hint[] {
  const { tables } = known;
  if (tables === null) return known.hasLooked ? [noTables(known)] : [];
  return [
    ...(tables.refused.length > 0 ? [deniedHint(known)] : []),
    ...(tables.writer === 'sqlalchemy' ? [pickled()] : []),
    ...(known.skew === 0 ? [] : [wrongZone(known)]),
  ];
}

/** MySQL has a statement for each table. */
function grantLine({ dialect }: SqlReader, tables: readonly string[]): string {
  return dialect.name === 'mysql'
    ? tables.map((table) => `GRANT SELECT ON ${table} TO '<user>'@'<host>';`).join(' ')
    : `GRANT SELECT ON ${tables.join(', ')} TO <user>;`;
}

function noTables({ reader }: ResultKnowledge): Hint {
  const { dialect, options } = reader;
  const names = [RESULT_TABLES.django, RESULT_TABLES.sqlalchemy].map((name) =>
    dialect.table(options.tables[name]),
  );
  return {
    code: 'no_results',
    component: 'backend',
    sentence:
      `The database has no results that its user may read: neither ${names.join(' nor ')}. If the app stores results ` +
      "elsewhere, write backend: '<result_backend of the app>'. If the tables are in another schema, write sql: { schema }; if they may not be read, " +
      `run ${grantLine(reader, names.slice(0, 1))}`,
  };
}

function pickled(): Hint {
  return {
    code: 'serializer',
    component: 'backend',
    sentence:
      'Celery pickles what tasks return before it stores it over SQLAlchemy, and only Python can read that: results show ' +
      "as null unless events carried them. To show them, use Redis or django-celery-results: result_backend = 'django-db'.",
  };
}

const HOUR_MS = 3_600_000;

function wrongZone({ skew, reader }: ResultKnowledge): Hint {
  const hours = Math.round((Math.abs(skew) / HOUR_MS) * 10) / 10;
  return {
    code: 'clock_skew',
    component: 'backend',
    sentence:
      `New results are dated ${hours} h ${skew > 0 ? 'too early' : 'too late'}, so they are stored in another time zone ` +
      `than ${reader.options.timezone}. Write sql: { timezone: '<zone>' } with Django's TIME_ZONE, or Celery's timezone.`,
  };
}
