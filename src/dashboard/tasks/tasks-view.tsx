import { useState } from 'preact/hooks';
import { Sources } from '../parts/age.tsx';
import { Empty, Loading, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { linkTo } from '../route.ts';
import { count, counted } from '../text/numbers.ts';
import { useMedia } from '../use-media.ts';
import { ExportMenu } from './export-menu.tsx';
import { ActiveFilters, Filters } from './filters.tsx';
import { TaskHead } from './task-head.tsx';
import { TaskRow } from './task-row.tsx';
import { useTaskList } from './use-task-list.ts';

/** The task list with its filters. */
export function TasksView({ query }: { readonly query: URLSearchParams }) {
  const [isAtTop, setAtTop] = useState(true);
  const isNarrow = useMedia('(max-width: 760px)');
  const list = useTaskList(query, isAtTop);
  const { rows, total, hasMore, error, isLoading, isBehind } = list;
  const isEmpty = rows.length === 0 && !isLoading && error === null && !hasMore;

  return (
    <div class="tall">
      <ViewHead title="Tasks" at={list.at}>
        <span class="dim" role="status">
          {isLoading ? 'Loading …' : totalText(rows.length, total, hasMore)}
        </span>
        <ExportMenu query={query} />
      </ViewHead>
      <Filters query={query} />
      <ActiveFilters query={query} />
      {error !== null && <Problem error={error} retry={list.reload} />}
      <Sources sources={list.sources} />
      {isBehind && (
        <button
          type="button"
          class="news"
          onClick={() => document.querySelector('.scroller')?.scrollTo(0, 0)}
        >
          There is news: back to the top
        </button>
      )}
      {isEmpty && <NoTasks query={query} />}
      {isLoading && rows.length === 0 && <Loading />}
      {rows.length > 0 && (
        <VirtualRows
          label="Tasks"
          listKey={query.toString()}
          count={rows.length}
          rowCount={total === null ? -1 : total + 1}
          rowHeight={isNarrow ? 68 : 34}
          head={<TaskHead query={query} />}
          onEnd={list.loadMore}
          onTop={setAtTop}
          row={(index, isActive) => {
            const task = rows[index];
            return task && <TaskRow key={task.task_id} task={task} index={index} isActive={isActive} />;
          }}
        />
      )}
      {rows.length === 0 && hasMore && (
        <Empty title="None among the newest tasks">
          <button type="button" onClick={list.loadMore}>
            Look further back
          </button>
        </Empty>
      )}
    </div>
  );
}

function totalText(shown: number, total: number | null, hasMore: boolean): string {
  if (total !== null) return counted(total, 'task');
  return hasMore ? `more than ${count(shown)} tasks` : counted(shown, 'task');
}

function NoTasks({ query }: { readonly query: URLSearchParams }) {
  const isFiltered = [...query.keys()].some((name) => name !== 'sort' && name !== 'order');
  if (isFiltered) {
    return (
      <Empty title="No task matches these filters">
        <a href={linkTo('tasks')}>Show all tasks</a>
      </Empty>
    );
  }
  return (
    <Empty title="No tasks yet">
      Tasks appear here as soon as one is sent. If some were, look at{' '}
      <a href={linkTo('components')}>Components</a> for settings that hide them.
    </Empty>
  );
}
