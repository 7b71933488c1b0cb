import type { TaskBody } from '../../wire.ts';
import { taskLink } from '../route.ts';
import { count, seconds } from '../text/format.ts';
import { callText } from '../text/words.ts';
import { type Column, DataTable } from './data-table.tsx';
import { StateBadge } from './facts.tsx';
import { Ago, Name } from './inline.tsx';

const STATE: Column<TaskBody> = { title: 'State', cell: ({ state }) => <StateBadge state={state} /> };

/** The columns of tasks. @param same what the tasks have in common, which the rows need not repeat */
function columnsFor(same: 'failed' | 'name' | 'queue'): readonly Column<TaskBody>[] {
  const haveFailed = same === 'failed';
  const columns: readonly Column<TaskBody>[] = [
    {
      title: 'Task',
      isHead: true,
      isWide: true,
      cell: ({ task_id, source, name }) => (
        <a href={taskLink(task_id, source)}>
          {same === 'name' || name === null ? task_id : <Name text={name} />}
        </a>
      ),
    },
    {
      title: haveFailed ? 'Arguments' : 'Error or arguments',
      isWide: true,
      cell: ({ exception, args, kwargs }) => (
        <span class="mono">{(haveFailed ? null : exception) ?? callText(args, kwargs)}</span>
      ),
    },
    { title: 'Run', isNumber: true, phone: 'hidden', cell: ({ runtime }) => seconds(runtime) },
    { title: 'Worker', phone: 'hidden', class: 'one-line', cell: ({ worker }) => worker ?? '–' },
    {
      title: haveFailed ? 'Failed' : 'Changed',
      isNumber: true,
      phone: 'beside',
      cell: ({ finished, timestamp }) => <Ago at={(haveFailed ? finished : null) ?? timestamp} isShort />,
    },
  ];
  return haveFailed ? columns : [STATE, ...columns];
}

/** Some tasks in a table, with a link to all of them. Nothing if there are none. */
export function LatestTasks(props: {
  readonly tasks: readonly TaskBody[];
  /** Total number of tasks; `null`: unknown. */
  readonly total: number | null;
  /** The link to all of them. */
  readonly all: string;
  /** Default: Latest tasks. */
  readonly title?: string;
  readonly same: 'failed' | 'name' | 'queue';
}) {
  const { tasks, total, all, title = 'Latest tasks', same } = props;
  if (tasks.length === 0) return null;
  return (
    <section class="panel latest" aria-label={title}>
      <h2>{title}</h2>
      <DataTable
        columns={columnsFor(same)}
        rows={tasks}
        keyOf={({ source, task_id }) => `${source} ${task_id}`}
        most={tasks.length}
      />
      {(total === null || total > tasks.length) && (
        <p>
          <a href={all}>All {total === null ? '' : count(total)} tasks ›</a>
        </p>
      )}
    </section>
  );
}
