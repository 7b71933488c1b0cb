import { go, linkTo } from '../route.ts';
import type { Words } from '../text/words.ts';
import { orderOf, type Sort, withFilter } from './list-query.ts';

interface Column {
  readonly kind: string;
  readonly text: string;
  readonly sort?: Sort;
}

function columnsFor({ input }: Words): readonly Column[] {
  return [
    { kind: 'c-state', text: 'State', sort: 'state' },
    { kind: 'c-name', text: 'Task', sort: 'name' },
    { kind: 'c-args', text: `Error or ${input}` },
    { kind: 'c-ran num', text: 'Run', sort: 'runtime' },
    { kind: 'c-wait num', text: 'Wait' },
    { kind: 'c-queue', text: 'Queue' },
    { kind: 'c-worker', text: 'Worker' },
    { kind: 'c-when num', text: 'Changed', sort: 'timestamp' },
  ];
}

/** The column headings of the list. Those of sortable columns are buttons. */
export function TaskHead(props: {
  readonly query: URLSearchParams;
  readonly words: Words;
  /** Possible sort fields; `null`: all. */
  readonly sorts: readonly string[] | null;
}) {
  const { query, words, sorts } = props;
  const { sort, order } = orderOf(query);

  function sortBy(column: Sort): void {
    const isText = column === 'name' || column === 'state';
    const turned = order === 'desc' ? 'asc' : 'desc';
    const next = column === sort ? turned : isText ? 'asc' : 'desc';
    const sorted = withFilter(query, 'sort', column === 'timestamp' ? [] : [column]);
    go(linkTo('tasks', withFilter(sorted, 'order', next === 'desc' ? [] : [next])));
  }

  return (
    <div role="rowgroup" class="list-head">
      <div role="row" class="row" aria-rowindex={1}>
        {columnsFor(words).map(({ kind, text, sort: column }) => {
          const isSorted = column !== undefined && column === sort;
          return (
            <div
              key={kind}
              role="columnheader"
              class={kind}
              aria-sort={isSorted ? (order === 'asc' ? 'ascending' : 'descending') : undefined}
            >
              {column === undefined || sorts?.includes(column) === false ? (
                text
              ) : (
                <button type="button" class="sort" onClick={() => sortBy(column)}>
                  {text}
                  <span aria-hidden="true">{isSorted ? (order === 'asc' ? ' ↑' : ' ↓') : ''}</span>
                </button>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
