import '../style/tasks.css';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TaskBody } from '../../wire.ts';
import { client } from '../live/connection.ts';
import { useHold, useHoldReport } from '../live/pace.ts';
import { useResource } from '../live/use-resource.ts';
import { listed } from '../page-state.ts';
import { CopyButton } from '../parts/inline.tsx';
import { type ListWindow, rowKeys, useKeys, useWindow } from '../parts/long-list.ts';
import { Empty, Loading, Problem, Sources, ViewHead } from '../parts/view.tsx';
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

/** The next page is read when its start is this many rows away. */
const AHEAD = 4;

/** The list, which scrolls below a head that is as high as a row. Only the visible rows are rendered. */
function Rows(props: {
  readonly query: URLSearchParams;
  readonly list: TaskList;
  readonly rowHeight: number;
  /** Called when the reader has scrolled, and when the top of the list is visible again. */
  readonly onScrolled: (isScrolled: boolean) => void;
  readonly holders: Pick<ReturnType<typeof useHold>, 'pointer' | 'focus'>;
}) {
  const { query, list, rowHeight, onScrolled, holders } = props;
  const { rows, total, loadMore } = list;
  const words = wordsFor(list.sources ?? []);
  const isOneOfSeveral = (list.sources?.length ?? 0) > 1;
  const linkOf = (task: TaskBody): string => taskLink(task.task_id, isOneOfSeveral ? task.source : null);
  useEffect(() => listed.set(rows.map(linkOf)), [rows]);
  const search = query.getAll('q').filter((text) => text.trim() !== '');
  const view = useWindow(rowHeight, rowHeight);
  const active = useActiveRow(view, rows.length, query.toString());
  const isScrolled = view.top >= rowHeight;
  useEffect(() => onScrolled(isScrolled), [isScrolled]);
  const visible = Math.ceil((view.top + view.height) / rowHeight);
  useEffect(() => {
    if (visible >= rows.length - AHEAD) loadMore();
  }, [visible, rows.length, loadMore]);

  const indexes = view.indexes(rows.length);
  const top = (indexes[0] ?? 0) * rowHeight;
  return (
    <div class="held" {...holders.pointer}>
      <div
        class="scroller"
        ref={view.scroller}
        onScroll={view.measure}
        tabIndex={0}
        role="region"
        aria-label="Tasks"
      >
        <div role="table" aria-label="Tasks" aria-rowcount={total === null ? -1 : total + 1}>
          <TaskHead query={query} words={words} sorts={list.capabilities?.sorts ?? null} />
          <div
            role="rowgroup"
            class="rows"
            style={{ height: `${rows.length * rowHeight}px` }}
            {...holders.focus}
          >
            <div class="window" style={{ transform: `translateY(${top}px)` }} role="presentation">
              {indexes.map((index) => {
                const task = rows[index] as TaskBody;
                const marks = { isActive: index === active, search, link: linkOf(task) };
                return <TaskRow key={keyOf(task)} words={words} task={task} index={index} {...marks} />;
              })}
            </div>
          </div>
        </div>
      </div>
    </div>
  );
}

/** The row selected by keys. @param listKey identifies the list: a new list starts at its top */
function useActiveRow(list: ListWindow, count: number, listKey: string): number {
  const [active, setActive] = useState(0);
  const [moves, setMoves] = useState(0);
  const link = (): HTMLElement | null | undefined =>
    list.scroller.current?.querySelector<HTMLElement>('[data-active] a');
  // Immediately, so that the next key finds the focus on the right element.
  useLayoutEffect(() => {
    if (moves > 0) link()?.focus({ preventScroll: true });
  }, [moves]);
  useEffect(() => {
    list.scroller.current?.scrollTo(0, 0);
    setActive(0);
  }, [listKey]);

  function move(step: number): void {
    // The first key only shows the selected row.
    const isFirst = Math.abs(step) === 1 && document.activeElement !== link();
    const next = Math.min(count - 1, Math.max(0, active + (isFirst && active === 0 ? 0 : step)));
    if (next < 0) return;
    list.reveal(next);
    setActive(next);
    setMoves((before) => before + 1);
  }
  useKeys(rowKeys(count, list.page, move));
  return Math.min(active, count - 1);
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

/** The query without each of its terms. A single term is not left out, since all tasks would match. */
function triesOf(query: URLSearchParams) {
  const given = SEARCH_PARAMETERS.filter((name) => query.has(name));
  const tried = given.length < 2 ? [] : given.slice(0, MOST_TRIED);
  return tried.map((name) => ({
    term: formatSearch(new URLSearchParams(query.getAll(name).map((value) => [name, value]))),
    without: withFilter(query, name, []),
  }));
}

/** @returns `total`: `null` if there are some, but their number is unknown; 0 if none was found */
async function read({ term, without }: ReturnType<typeof triesOf>[number], signal: AbortSignal) {
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
