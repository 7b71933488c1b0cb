import type { Hint } from '../../hint.ts';
import type { ResultBackend } from '../../result-backend.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import { createPublishedResults } from './published-results.ts';
import type { RowHead } from './result-rows.ts';
import { RESULT_TABLES, type ResultWriter } from './result-tables.ts';
import { createStoredResults } from './stored-results.ts';
import { createTableFinder, type TableFinder } from './table-finder.ts';

/** What the backend is made of. */
export interface SqlResultBackendOptions {
  /** Closed by whoever made it. */
  readonly reader: SqlReader;
  /** Who writes the results; `null`: found out by the tables that exist. */
  readonly writer: ResultWriter | null;
  /** Between two polls, in milliseconds; for tests. Default 1,000. */
  readonly pollMs?: number;
}

/** Results of django-celery-results, or of Celery's backend on SQLAlchemy. Everything is read with SELECT. */
export function createSqlResultBackend(options: SqlResultBackendOptions): ResultBackend {
  const { reader, writer } = options;
  const finder = createTableFinder(reader, writer);
  const published = createPublishedResults({ ...options, finder });
  const found = (heads: readonly RowHead[]): void => published.watch(heads);
  return {
    published,
    stored: createStoredResults({ reader, finder, found }),
    check: (signal) => reader.check(signal),
    deniedHint: () => deniedHint(reader, writer, finder),
    diagnose: async () => diagnose(reader, writer, finder),
    describe() {
      const tables = finder.known()?.tables ?? null;
      return {
        url: null,
        config: {
          transport: reader.dialect.name,
          table: tables?.results.name.name ?? null,
          polled_by: tables === null ? null : tables.isDateIndexed ? 'date_done' : 'id',
        },
      };
    },
    async close() {
      published.close();
    },
  };
}

/** Tables of one writer, quoted. */
function tablesOf({ dialect, options }: SqlReader, writer: ResultWriter): string[] {
  const names =
    writer === 'django'
      ? ([
          RESULT_TABLES.django,
          'django_celery_results_groupresult',
          'django_celery_results_chordcounter',
        ] as const)
      : ([RESULT_TABLES.sqlalchemy] as const);
  return names.map((name) => dialect.table(options.tables[name]));
}

function deniedHint(reader: SqlReader, writer: ResultWriter | null, finder: TableFinder): Hint {
  const refused = finder.known()?.tables.refused ?? [];
  const tables = refused.length > 0 ? refused : tablesOf(reader, writer ?? 'django');
  const line = grantLine(reader, tables);
  const sentence = `The user of the database may not read the tables of results. Run ${line}`;
  return { code: 'acl_results', component: 'backend', sentence, line };
}

function grantLine({ dialect }: SqlReader, tables: readonly string[]): string {
  if (dialect.name === 'mysql') return tables.map((table) => `GRANT SELECT ON ${table} TO '<user>';`).join(' ');
  return `GRANT SELECT ON ${tables.join(', ')} TO <user>;`;
}

function diagnose(_reader: SqlReader, _writer: ResultWriter | null, _finder: TableFinder): readonly Hint[] {
  return [];
}
