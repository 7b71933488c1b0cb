import '../style/latest.css';
import type { TaskBody } from '../../client.ts';
import { taskLink } from '../route.ts';
import { count, seconds } from '../text/numbers.ts';
import { Ago } from './moment.tsx';
import { Name } from './name.tsx';
import { StateBadge } from './state-badge.tsx';

/** Some tasks in a table, with a link to all of them. Nothing if there are none. */
export function LatestTasks(props: {
  readonly tasks: readonly TaskBody[];
  /** Total number of tasks; `null`: unknown. */
  readonly total: number | null;
  /** The link to all of them. */
  readonly all: string;
  /** Default: Latest tasks. */
  readonly title?: string;
  /** What the tasks have in common, which the rows need not repeat. */
  readonly same: 'failed' | 'name' | 'queue';
}) {
  const { tasks, total, all, title = 'Latest tasks', same } = props;
  if (tasks.length === 0) return null;
  return (
    <section class="panel latest" aria-label={title}>
      <h2>{title}</h2>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              {same !== 'failed' && <th scope="col">State</th>}
              <th scope="col">Task</th>
              <th scope="col" class="latest-error">
                {same === 'failed' ? 'Error' : 'Error or arguments'}
              </th>
              <th scope="col" class="num extra">
                Run
              </th>
              <th scope="col" class="extra">
                Worker
              </th>
              <th scope="col" class="num">
                {same === 'failed' ? 'Failed' : 'Changed'}
              </th>
            </tr>
          </thead>
          <tbody>
            {tasks.map((task) => (
              <Row key={`${task.source} ${task.task_id}`} task={task} same={same} />
            ))}
          </tbody>
        </table>
      </div>
      {(total === null || total > tasks.length) && (
        <p>
          <a href={all}>All {total === null ? '' : count(total)} tasks ›</a>
        </p>
      )}
    </section>
  );
}

function Row(props: { readonly task: TaskBody; readonly same: 'failed' | 'name' | 'queue' }) {
  const { same, task } = props;
  const { task_id, source, name, state, exception, args, kwargs, runtime, worker, finished, timestamp } =
    task;
  return (
    <tr>
      {same !== 'failed' && (
        <td>
          <StateBadge state={state} />
        </td>
      )}
      <th scope="row">
        <a href={taskLink(task_id, source)}>
          <Name text={same === 'name' ? task_id : (name ?? task_id)} />
        </a>
      </th>
      <td class="latest-error mono">{same === 'failed' ? exception : (exception ?? args ?? kwargs)}</td>
      <td class="num extra">{seconds(runtime)}</td>
      <td class="extra">{worker ?? '–'}</td>
      <td class="num">
        <Ago at={(same === 'failed' ? finished : null) ?? timestamp} isShort />
      </td>
    </tr>
  );
}
