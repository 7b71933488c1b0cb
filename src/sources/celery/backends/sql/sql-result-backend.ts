import type { ResultBackend } from '../../result-backend.ts';
import type { SqlReader } from '../../sql/sql-reader.ts';
import { createPublishedResults } from './published-results.ts';
import { deniedHint, type ResultKnowledge, resultHints } from './result-hints.ts';
import type { RowHead } from './result-rows.ts';
import type { ResultWriter } from './result-tables.ts';
import { createStoredResults } from './stored-results.ts';
import { createTableFinder } from './table-finder.ts';

/** Parameters of the backend. */
export interface SqlResultBackendOptions {
  /** Closed by its creator. */
  readonly reader: SqlReader;
  /** Who writes the results; `null`: determined from the existing tables. */
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
  const known = (): ResultKnowledge => ({
    reader,
    writer,
    tables: finder.known()?.tables ?? null,
    hasLooked: finder.hasLooked(),
    skew: published.skew(),
  });
  return {
    published,
    stored: createStoredResults({ reader, finder, found }),
    check: (signal) => reader.check(signal),
    deniedHint: () => deniedHint(known()),
    hints: () => resultHints(known()),
    describe() {
      const { tables } = known();
      return {
        url: null,
        config: {
          transport: reader.dialect.name,
          table: tables?.results.name.name ?? null,
          polled_by: tables === null ? null : tables.isDateIndexed ? 'date_done' : 'id',
        },
      };
    },
    close: async () => published.close(),
  };
}
