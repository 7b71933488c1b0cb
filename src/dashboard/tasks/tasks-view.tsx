import '../style/tasks.css';
import { useEffect, useState } from 'preact/hooks';
import type { TaskBody } from '../../client.ts';
import { listed } from '../listed.ts';
import { useHoldReport } from '../live/pace.ts';
import { Sources } from '../parts/age.tsx';
import { Empty, Loading, Problem } from '../parts/problem.tsx';
import { useHold } from '../parts/use-hold.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { taskLink } from '../route.ts';
import { count, counted } from '../text/numbers.ts';
import { wordsFor } from '../text/words.ts';
import { useMedia } from '../use-media.ts';
import { ActiveFilters } from './active-filters.tsx';
import { ExportMenu } from './export-menu.tsx';
import { FilterSheet } from './filter-sheet.tsx';
import { Filters } from './filters.tsx';
import { NoTasks } from './no-tasks.tsx';
import { TaskHead } from './task-head.tsx';
import { keyOf } from './task-list.ts';
import { TaskRow } from './task-row.tsx';
import { type TaskList, useTaskList } from './use-task-list.ts';

/** Minimum height of everything above the list, in pixels. */
const FRAME_HEIGHT = 190;
/** Number of rows that are read in addition to those that fit on the screen. */
const ROWS_AHEAD = 6;

/** The task list with its filters. */
export function TasksView({ query }: { readonly query: URLSearchParams }) {
  const [isScrolled, setScrolled] = useState(false);
  const { isHeld, pointer, focus } = useHold();
  const isNarrow = useMedia('(max-width: 760px)');
  const rowHeight = isNarrow ? 58 : 28;
  const list = useTaskList(
    query,
    Math.ceil((innerHeight - FRAME_HEIGHT) / rowHeight) + ROWS_AHEAD,
    isHeld || isScrolled,
  );
  const { rows, total, hasMore, error, isLoading } = list;
  useHoldReport(isHeld || isScrolled, () => showNews(list), list.news);
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
        <div class="filters">
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
        head={
          <TaskHead
            query={query}
            words={wordsFor(list.sources ?? [])}
            sorts={list.capabilities?.sorts ?? null}
          />
        }
        onEnd={list.loadMore}
        onScrolled={onScrolled}
        focus={holders.focus}
        row={(index, isActive) => {
          const task = rows[index];
          if (task === undefined) return null;
          return (
            <TaskRow
              key={keyOf(task)}
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

function showNews(list: TaskList): void {
  list.release();
  document.querySelector('.scroller')?.scrollTo(0, 0);
}

function totalText(shown: number, total: number | null, hasMore: boolean): string {
  if (total !== null) return counted(total, 'task');
  return hasMore ? `more than ${count(shown)} tasks` : counted(shown, 'task');
}
