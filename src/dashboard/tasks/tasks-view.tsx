import '../style/tasks.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TaskBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { useHoldReport } from '../live/pace.ts';
import { useResource } from '../live/use-resource.ts';
import { listed } from '../page-state.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { useHold } from '../parts/use-hold.ts';
import { Empty, Loading, Problem, Sources, ViewHead } from '../parts/view.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { linkTo, taskLink } from '../route.ts';
import { SEARCH_PARAMETERS } from '../search/fields.ts';
import { formatSearch } from '../search/parse.ts';
import { useNarrow } from '../store.ts';
import { count, counted } from '../text/format.ts';
import { wordsFor } from '../text/words.ts';
import { curlOf, download, MOST_EXPORTED, readAll, toCsv } from './export.ts';
import { ActiveFilters, FilterSheet, Filters } from './filters.tsx';
import { listQuery, withFilter } from './list-query.ts';
import { TaskHead, TaskRow } from './task-row.tsx';
import { keyOf, type TaskList, useTaskList } from './use-task-list.ts';

/** Minimum height of everything above the list, in pixels. */
const FRAME_HEIGHT = 190;
/** Number of rows that are read in addition to those that fit on the screen. */
const ROWS_AHEAD = 6;

/** The task list with its filters. */
export function TasksView({ query }: { readonly query: URLSearchParams }) {
  const [isScrolled, setScrolled] = useState(false);
  const { isHeld, release, pointer, focus } = useHold();
  const isNarrow = useNarrow();
  const rowHeight = isNarrow ? 58 : 28;
  const list = useTaskList(
    query,
    Math.ceil((innerHeight - FRAME_HEIGHT) / rowHeight) + ROWS_AHEAD,
    isHeld || isScrolled,
  );
  const { rows, total, hasMore, error, isLoading } = list;
  useHoldReport(isHeld || isScrolled ? list.news : null, () => {
    release();
    list.release();
    document.querySelector('.scroller')?.scrollTo(0, 0);
  });
  const words = wordsFor(list.sources ?? []);
  const counts = totalText(rows.length, total, hasMore);
  const isEmpty = rows.length === 0 && !isLoading && error === null && !hasMore;

  return (
    <div class="tall">
      <ViewHead title="Tasks" at={list.at}>
        <span class="dim" role="status">
          {isLoading ? 'Loading …' : counts}
        </span>
        {isNarrow && <FilterSheet query={query} words={words} total={counts} />}
        <ExportMenu query={query} />
      </ViewHead>
      {!isNarrow && (
        <div class="flow filters">
          <Filters query={query} words={words} />
          <ActiveFilters query={query} isWhole={false} />
        </div>
      )}
      {error !== null && <Problem what="tasks" error={error} retry={list.reload} />}
      <Sources sources={list.sources} />
      {isEmpty && <NoTasks query={query} />}
      {isLoading && rows.length === 0 && <Loading />}
      {rows.length > 0 && (
        <Rows
          query={query}
          list={list}
          rowHeight={rowHeight}
          onScrolled={setScrolled}
          holders={{ pointer, focus }}
        />
      )}
      {rows.length === 0 && hasMore && (
        <Empty title="No match among the newest tasks">
          <button type="button" onClick={list.loadMore}>
            Search older tasks
          </button>
        </Empty>
      )}
    </div>
  );
}

function Rows(props: {
  readonly query: URLSearchParams;
  readonly list: TaskList;
  readonly rowHeight: number;
  readonly onScrolled: (isScrolled: boolean) => void;
  readonly holders: Pick<ReturnType<typeof useHold>, 'pointer' | 'focus'>;
}) {
  const { query, list, rowHeight, onScrolled, holders } = props;
  const { rows, total } = list;
  const words = wordsFor(list.sources ?? []);
  const isOneOfSeveral = (list.sources?.length ?? 0) > 1;
  const linkOf = (task: TaskBody): string => taskLink(task.task_id, isOneOfSeveral ? task.source : null);
  useEffect(() => listed.set(rows.map(linkOf)), [rows]);
  const search = query.getAll('q').filter((text) => text.trim() !== '');
  return (
    <div class="held" {...holders.pointer}>
      <VirtualRows
        label="Tasks"
        listKey={query.toString()}
        count={rows.length}
        rowCount={total === null ? -1 : total + 1}
        rowHeight={rowHeight}
        head={<TaskHead query={query} words={words} sorts={list.capabilities?.sorts ?? null} />}
        onEnd={list.loadMore}
        onScrolled={onScrolled}
        focus={holders.focus}
        row={(index, isActive) => {
          const task = rows[index];
          if (task === undefined) return null;
          return (
            <TaskRow
              key={keyOf(task)}
              words={words}
              task={task}
              index={index}
              isActive={isActive}
              search={search}
              link={linkOf(task)}
            />
          );
        }}
      />
    </div>
  );
}

function totalText(shown: number, total: number | null, hasMore: boolean): string {
  if (total !== null) return counted(total, 'task');
  return hasMore ? `more than ${count(shown)} tasks` : counted(shown, 'task');
}

/** Maximum number of terms that are left out one at a time. */
const MOST_TRIED = 5;

/** What to do if no task matches. */
function NoTasks({ query }: { readonly query: URLSearchParams }) {
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

/** Exports the list as a command, as CSV or as JSON. */
function ExportMenu({ query }: { readonly query: URLSearchParams }) {
  const [said, setSaid] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);

  async function save(kind: 'csv' | 'json'): Promise<void> {
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setSaid('Reading …');
    try {
      const rows = await readAll(listQuery(query), (so) => setSaid(`${count(so)} read …`), controller.signal);
      if (controller.signal.aborted) return;
      const name = `tasks-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${kind}`;
      if (kind === 'csv') download(name, 'text/csv', toCsv(rows));
      else download(name, 'application/json', JSON.stringify(rows, null, 1));
      const isAll = rows.length < MOST_EXPORTED;
      setSaid(`${count(rows.length)} saved${isAll ? '' : ', the rest omitted'}`);
    } catch (error) {
      if (!controller.signal.aborted) setSaid(`Failed: ${error instanceof Error ? error.message : ''}`);
    }
    if (running.current === controller) running.current = null;
  }

  return (
    <>
      {said !== null && (
        <span class="dim" role="status">
          {said}
        </span>
      )}
      {running.current !== null && (
        <button
          type="button"
          class="small"
          onClick={() => {
            running.current?.abort();
            running.current = null;
            setSaid('Stopped');
          }}
        >
          Stop
        </button>
      )}
      <CopyButton label="Copy as curl" text={() => curlOf('api/tasks/', listQuery(query))} />
      <button type="button" class="small" onClick={() => void save('csv')}>
        CSV
      </button>
      <button type="button" class="small" onClick={() => void save('json')}>
        JSON
      </button>
    </>
  );
}
