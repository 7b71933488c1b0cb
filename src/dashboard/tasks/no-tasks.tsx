import { client } from '../live/connection.ts';
import { useResource } from '../live/use-resource.ts';
import { Empty } from '../parts/problem.tsx';
import { linkTo } from '../route.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';
import { formatSearch } from '../search/parse.ts';
import { count } from '../text/numbers.ts';
import { listQuery, withFilter } from './list-query.ts';

/** Maximum number of terms that are left out one at a time. */
const MOST_TRIED = 5;

/** What to do if no task matches. */
export function NoTasks({ query }: { readonly query: URLSearchParams }) {
  const isFiltered = [...query.keys()].some((name) => !['sort', 'order', 'compare'].includes(name));
  if (isFiltered) return <NoMatch query={query} />;
  return (
    <Empty title="No tasks yet">
      Tasks appear here as soon as one is sent. If you have sent some, see{' '}
      <a href={linkTo('system')}>System</a> for settings that hide them.
    </Empty>
  );
}

/** Names the terms without which tasks would match. */
function NoMatch({ query }: { readonly query: URLSearchParams }) {
  const { data } = useResource(`without ${query}`, (signal) =>
    Promise.all(triesOf(query).map((one) => read(one, signal))),
  );
  const helpful = (data ?? []).filter(({ total }) => total === null || total > 0);
  return (
    <Empty title="No task matches these filters">
      {helpful.map(({ term, without, total }) => (
        <p key={term}>
          Without <code>{term}</code>,{' '}
          <a href={linkTo('tasks', without)}>{total === null ? 'some' : count(total)}</a> would match.
        </p>
      ))}
      <a href="#/tasks">Show all tasks</a>
    </Empty>
  );
}

interface Try {
  readonly term: string;
  readonly without: URLSearchParams;
}

/** The query without each of its terms. A single term is not left out, since all tasks would match. */
function triesOf(query: URLSearchParams): readonly Try[] {
  const given = SEARCH_PARAMETERS.filter((name) => query.has(name));
  if (given.length < 2) return [];
  return given.slice(0, MOST_TRIED).map((name) => ({
    term: formatSearch(new URLSearchParams(query.getAll(name).map((value) => [name, value]))),
    without: withFilter(query, name, []),
  }));
}

/** @returns `total`: `null` if there are some, but their number is unknown; 0 if none was found */
async function read({ term, without }: Try, signal: AbortSignal) {
  const { tasks, total } = await client.tasks({ ...listQuery(without), limit: 1 }, { signal });
  return { term, without, total: tasks.length === 0 ? 0 : total };
}
